"""rag.stages.ids: only ids of the context stay, and the answer still reads well."""

from __future__ import annotations

import pytest
from fakes import make_hit

from rag.stages.ids import cite_ids, drop_unknown_ids
from rag.types import Context, Passage, Polished

HITS = tuple(make_hit(number=number) for number in (1, 42, 87))
CONTEXT = Context("", tuple(Passage(hit=hit, citation=f"[{hit.chunk.id}]", text="") for hit in HITS))


@pytest.mark.parametrize(
    ("answer", "text", "dropped"),
    [
        ("All known [id_42].", "All known [id_42].", 0),
        ("It is so [id_5].", "It is so.", 1),
        ("It is so [id_5] and so [id_42].", "It is so and so [id_42].", 1),
        ("Both [id_42, id_6].", "Both [id_42].", 1),
        ("Two [id_42; 87 and 9].", "Two [id_42] [id_87].", 1),
        ("Odd ([id_5]) marks [ID 6], here.", "Odd marks, here.", 2),
        ("- one [id_5]\n- two [id_42]", "- one\n- two [id_42]", 1),
        ("\u3010id_5\u3011 Full width \u3010id_1\u3011", "Full width [id_1]", 1),
        ("An [aside] and [id] stay.", "An [aside] and [id] stay.", 0),
    ],
)
def test_unknown_ids(answer: str, text: str, dropped: int) -> None:
    noun = "citation" if dropped == 1 else "citations"
    trail = (f"removed {dropped} {noun} of ids that were not in the context",) if dropped else ()
    assert drop_unknown_ids(answer, CONTEXT) == Polished(text, trail)


def test_citations_are_the_chunks_in_the_order_of_the_answer() -> None:
    found = cite_ids("First [id_87], then [id_42, id_87] and \u3010id_1\u3011; never [id_5].", HITS)
    assert [(c.chunk_id, c.raw, c.position) for c in found] == [
        ("id_87", "[id_87]", 6),
        ("id_42", "[id_42, id_87]", 20),
        ("id_1", "\u3010id_1\u3011", 39),
    ]
