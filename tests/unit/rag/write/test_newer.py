"""rag.write.newer: what a newer document says anew is not quoted of the older one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fakes import make_hit

from rag.values.answer import Passage
from rag.write.newer import outdated_passages

QUESTION = "What is the reporting deadline?"


def guide(year: int, *, cosine: float = 1.0, doc_id: str = "") -> Passage:
    """A guide of a year (0: undated); ``cosine`` is what its vector has with that of the others."""
    hit = make_hit("The deadline is the 10th.", title=f"Reporting guide {year}", doc_id=doc_id or f"guide-{year}")
    vector = np.array([cosine, np.sqrt(1 - cosine**2)], dtype=np.float32)
    hit = replace(hit, vector=vector, chunk=replace(hit.chunk, dated=year * 10_000))
    return Passage(hit=hit, citation="[x]", text=hit.chunk.text)


def test_the_older_edition_gives_way_wherever_it_ranks() -> None:
    assert outdated_passages([guide(2025), guide(2023)], QUESTION) == {1}
    assert outdated_passages([guide(2023), guide(2025)], QUESTION) == {0}


@pytest.mark.parametrize(
    "other",
    [
        guide(2023, cosine=0.8),  # about something else
        guide(0),
        guide(2025, doc_id="another"),
        guide(2023, doc_id="guide-2025"),
    ],
)
def test_other_things_undated_ones_and_one_document_stand_beside_it(other: Passage) -> None:
    assert outdated_passages([guide(2025), other], QUESTION) == frozenset()


def test_what_the_question_names_is_quoted_although_there_is_a_newer_one() -> None:
    assert outdated_passages([guide(2025), guide(2023)], "What was the deadline in 2023?") == frozenset()


def test_without_vectors_nothing_is_known() -> None:
    bare = guide(2023)
    assert outdated_passages([guide(2025), replace(bare, hit=replace(bare.hit, vector=None))], QUESTION) == frozenset()
