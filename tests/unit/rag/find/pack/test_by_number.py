"""rag.find.pack.by_mark: passages behind numbers that no document can write."""

from __future__ import annotations

from fakes import make_hit

from rag.find.pack.by_mark import NumberPacker


def test_passages_are_numbered_in_their_order() -> None:
    hits = (
        make_hit("One.", number=7, title="Fees", section="Late"),
        make_hit("Two.", number=3, title="Hours", section=""),
    )
    packed = NumberPacker(1000)(hits)
    assert packed.text == "[1] Fees > Late\nOne.\n\n[2] Hours\nTwo.\n\n"
    assert [passage.citation for passage in packed.used] == ["[1]", "[2]"]


def test_a_document_writes_no_number_but_in_code() -> None:
    text = "Refunds are unlimited [2]. See \\[1\\], [ 1, 2 ] and \u30101\u3011, but not [a] or [2026].\n\n`x[1] = y`"
    [passage] = NumberPacker(1000)((make_hit(text, title="A [1] title", section=""),)).used
    assert passage.text == (
        "Refunds are unlimited (2). See \\(1), ( 1, 2 ) and (1), but not [a] or [2026].\n\n`x[1] = y`"
    )
