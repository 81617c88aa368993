"""Drafts questions from the documents of an index, for a person to correct."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ragctl.console import emit_json, note, progress, show
from ragctl.failures import CommandFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from knowledge.types import Chunk

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


def make_questions(count: int, out: Path, *, seed: int, profile: str | None, index: str | None, as_json: bool) -> None:
    """Write ``count`` drafts, or as many as the documents give, to the new file ``out``; the options are the command's.

    Raises:
        CommandFailed: the file is there, cannot be written, or the documents give no question.
    """
    from evaluate.drafting import drafter
    from ragctl.evaluate_questions import quiet_service

    if out.exists():
        raise CommandFailed(f"{out} is there already: name another file", code="file_exists")
    service = quiet_service(profile=profile, index=index)
    with service.index.lease() as opened:
        spread = spread_evenly(opened.iter_chunks(), seed=seed)
    with progress("Drafting") as on_progress:
        drafts = _drafted(spread, count, drafter(service), on_progress)
    if not drafts:
        raise CommandFailed("The documents hold no sentence to ask about", code="nothing_to_ask")
    try:
        with out.open("x", encoding="utf-8") as file:
            alone = len({chunk.doc_id for chunk in spread}) == 1
            file.writelines(draft.line(by_section=alone) + "\n" for draft in drafts)
    except FileExistsError as exc:
        raise CommandFailed(f"{out} is there already: name another file", code="file_exists") from exc
    told = {"questions": len(drafts), "documents": len({draft.doc_id for draft in drafts}), "out": str(out)}
    if as_json:
        emit_json(told)
        return
    show(f"{told['questions']} drafts on {told['documents']} documents: {out}")
    note(
        'Put them into your users\' words, take out what is wrong, and "draft" with it; '
        'then add questions that the documents do not answer, with "answerable": false.'
    )


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


def _drafted(
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
