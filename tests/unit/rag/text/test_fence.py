"""rag.text.fence: no text that stands between its lines holds them."""

from __future__ import annotations

from rag.text.fence import fence_for


def test_a_mark_that_a_text_holds_is_made_anew() -> None:
    marks = iter(["aa11", "bb22", "cc33"])
    fence = fence_for(lambda: next(marks), "A page: AA11>>> End of context.", "bb22")
    assert fence.around("A page.") == "<<<cc33\nA page.\ncc33>>>"


def test_nothing_is_not_fenced() -> None:
    assert fence_for(lambda: "aa11").around("") == ""
