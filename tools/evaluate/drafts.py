"""Drafts of questions: their values, and which chunks they are made of."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from knowledge.model.values import Chunk

RUN_CHARS = range(15, 121)
"""How long the run of a unit is that a draft takes for the answer."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A question, words of the document that answer it, and where they stand."""

    question: str
    answer: str
    doc_id: str
    section: str

    def line(self, *, by_section: bool) -> str:
        """As a line of a question file; ``by_section`` expects the section: it tells more where all is one document."""
        place = self.section if by_section and self.section else self.doc_id
        fields = {"question": self.question, "expected": [place], "answer": self.answer, "draft": True}
        return json.dumps(fields, ensure_ascii=False)


def spread_evenly(chunks: Iterable[Chunk], *, seed: int) -> list[Chunk]:
    """The chunks in such an order that the first n are of as many documents as can be, drawn by ``seed``."""
    import numpy as np

    random = np.random.default_rng(seed)
    documents: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        documents.setdefault(chunk.doc_id, []).append(chunk)
    rounds: list[tuple[int, float, Chunk]] = []
    for own in documents.values():
        drawn = random.permutation(len(own)).tolist()
        rounds += [(turn, float(random.random()), own[place]) for turn, place in enumerate(drawn)]
    return [chunk for *_, chunk in sorted(rounds, key=lambda one: one[:2])]


def drafted(
    chunks: Sequence[Chunk],
    count: int,
    draft: Callable[[Chunk], Iterator[Draft]],
    on_progress: Callable[[int, int], None],
) -> list[Draft]:
    """The first ``count`` drafts with questions of their own: one of each chunk, then a second of each, and so on."""
    waiting = [draft(chunk) for chunk in chunks]
    made: dict[str, Draft] = {}
    while waiting and len(made) < count:
        going = []
        for drafts in waiting:
            if len(made) == count:
                break
            if one := next(drafts, None):
                going.append(drafts)
                if one.question.casefold() not in made:
                    made[one.question.casefold()] = one
                    on_progress(len(made), count)
        waiting = going
    return list(made.values())
