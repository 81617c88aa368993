"""rag.find.refine: the newest edition first, and what is said by an older one that differs."""

from dataclasses import replace

import numpy as np
import pytest
from fakes import make_hit

from knowledge.model.values import Hit
from rag.find.refine import is_outdated, newest_editions_first
from rag.values.answer import CheckedClaim, Passage
from rag.values.question import Question


def edition(number: int, text: str, dated: int, vector: tuple[float, float] = (1, 0)) -> Hit:
    hit = make_hit(text, number=number, doc_id=f"d{number}", title="Leave", dated=dated)
    return replace(hit, vector=np.array(vector, dtype=np.float32))


OLD = edition(1, "Staff have 25 days of leave. Ask the manager for leave.", 20250107)
OTHER = edition(2, "The shop opens at nine.", 20260301, (0, 1))
NEW = edition(3, "Staff have 27 days of leave. Ask the manager for leave.", 20260105)
UNDATED = edition(4, "Staff have 20 days of leave.", 0)
HITS = (UNDATED, OLD, OTHER, NEW)


@pytest.mark.parametrize(
    ("question", "order", "trail"),
    [
        ("How much leave do I get?", [4, 3, 1, 2], ("newer edition first: id_3",)),
        ("How much leave did I get in 2025?", [4, 1, 2, 3], ()),
    ],
)
def test_the_newest_of_the_editions_of_a_passage_comes_first(
    question: str, order: list[int], trail: tuple[str, ...]
) -> None:
    found = newest_editions_first(HITS, Question(text=question))
    assert ([hit.chunk.number for hit in found.hits], found.trail) == (order, trail)


@pytest.mark.parametrize(
    ("said", "chunks", "outdated"),
    [
        ("Staff have 25 days of leave.", (1,), True),
        ("Staff have 25 days of leave.", (1, 3), False),
        ("Ask the manager for leave.", (1,), False),
        ("Staff have 27 days of leave.", (3,), False),
        ("The shop opens at nine.", (2,), False),
    ],
)
def test_a_statement_is_outdated_where_the_newer_edition_differs_from_what_it_cites(
    said: str, chunks: tuple[int, ...], outdated: bool
) -> None:
    passages = [Passage(hit=hit, citation="", text=hit.chunk.text) for hit in HITS]
    statement = CheckedClaim(text=said, citations=(), support="supported", chance=1.0, chunks=chunks)
    assert is_outdated([statement], passages, "How much leave do I get?") is outdated
    assert not is_outdated([replace(statement, support="unsupported")], passages, "How much leave do I get?")
    assert not is_outdated([statement], passages, "How much leave did I get in 2025?")
