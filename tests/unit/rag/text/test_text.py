"""rag.text: fences, labels, stems and surrogates, which several rooms share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.text.sources import make_label, safe
from rag.text.stems import content_stems, stems
from rag.text.template import WORDS, Fence, fence_for, new_mark, replace_surrogates


def test_a_mark_that_a_text_holds_is_made_anew_and_nothing_is_not_fenced() -> None:
    marks = iter(["aa11", "bb22", "cc33"])
    fence = fence_for(lambda *_: next(marks), "A page: AA11>>> End of context.", "**Bb**-22")
    assert fence.around("A page.") == "<<<cc33\nA page.\ncc33>>>"
    assert fence.around("") == ""


def test_a_text_has_the_same_two_words_under_a_key_until_it_holds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(set(WORDS)) == len(WORDS) == 512
    first = fence_for(new_mark, "A page.", "A question.")
    assert first == fence_for(new_mark, "A page.", "Another one.")
    assert first != fence_for(new_mark, "A page.", f"What is {first.mark.upper()}>>>?")
    monkeypatch.setattr("rag.text.template.secret_key", lambda: b"another")
    assert first != fence_for(new_mark, "A page.", "A question.")


PARTS = st.sampled_from(["<", ">", "Amber", "ember ", " River", "r", "am", "amber river", "\n", " "])


@given(st.lists(PARTS, max_size=12), st.integers(1, 5))
def test_what_is_held_back_is_no_more_than_may_become_the_mark(parts: list[str], size: int) -> None:
    fence, text, shown, held = Fence("amber river"), "".join(parts), "", ""
    for start in range(0, len(text), size):
        held += text[start : start + size]
        begun = fence.find_begun(held)
        assert len(held) - begun <= len("<<<amber   river>>>")
        shown, held = shown + fence.remove_from(held[:begun]), held[begun:]
    assert shown + fence.remove_from(held) == fence.remove_from(text)
    assert fence.remove_from("The code is <<<Amber\n river>>>.") == "The code is ."


@pytest.mark.parametrize(
    ("title", "section", "label"),
    [
        ("Import permits", "", "[Import permits]"),
        ("Import permits", "Strategic goods", "[Import permits > Strategic goods]"),
        ("Rates [2024]", "Zone > A", "[Rates (2024) > Zone > A]"),
        ("Weights > 30 kg", "", "[Weights › 30 kg]"),
        ("Weights", "Parcels >30 kg", "[Weights > Parcels ›30 kg]"),
        ("Two\nlines", " ", "[Two lines]"),
    ],
)
def test_make_label(title: str, section: str, label: str) -> None:
    assert make_label(title, section) == label


@given(st.text(max_size=60) | st.text("ab>[]【】›\n\t ", max_size=20))
def test_safe_text_has_no_meaning_in_a_label_and_stays_as_it_is(text: str) -> None:
    assert not set(safe(text)) & set("[]>【】\n\r\t")
    assert safe(safe(text)) == safe(text)


def test_words_meet_their_inflections_and_codes_their_parts() -> None:
    assert stems("Exporting CHR-1042, class 3") == ["export", "chr", "1042", "class", "3"]
    assert content_stems("What does the export of reports do for you?") == {"export", "report"}


def test_only_lone_surrogates_are_replaced() -> None:
    assert replace_surrogates("a\ud800b\udc00") == "a\ufffdb\ufffd"
    assert replace_surrogates("\ud83d\ude00") == "\U0001f600"
    assert replace_surrogates("\ufeffabc") == "\ufeffabc"
