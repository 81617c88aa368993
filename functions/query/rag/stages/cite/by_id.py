"""``[id_N]`` citations: validated against what the model saw, and turned into Citations."""

from __future__ import annotations

from rag.stages.cite.by_title import source_urls
from rag.stages.cite.holes import CODE_HOLE, HOLE, close_holes
from rag.stages.cite.id_marks import Mark, find_marks
from rag.stages.pack.by_id import heading
from rag.values.answer import Citation, Context, Hit, Polished


def drop_unknown_ids(answer: str, context: Context) -> Polished:
    """Remove citations of ids that were not in ``context``; each citation that stays is ``[id_N]`` by itself.

    A text without citations is returned as it is; so is one that this has been through.
    """
    known = frozenset(passage.hit.chunk.number for passage in context.used)
    text, dropped = answer, 0
    while (marks := tuple(find_marks(text))) and (rewritten := _rewritten(text, marks, known)) != text:
        dropped += sum(number not in known and number not in mark.implied for mark in marks for number in mark.numbers)
        text = rewritten
    if not dropped:
        return Polished(text)
    noun = "citation" if dropped == 1 else "citations"
    return Polished(text, (f"removed {dropped} {noun} of ids that were not in the context",))


def cite_ids(answer: str, hits: tuple[Hit, ...]) -> tuple[Citation, ...]:
    """One Citation per id that ``answer`` cites, in the order of the answer."""
    by_number = {hit.chunk.number: hit for hit in hits}
    found: dict[int, Citation] = {}
    for mark in find_marks(answer):
        for number in mark.numbers:
            hit = by_number.get(number)
            if hit is not None and number not in found:
                found[number] = Citation(
                    raw=answer[mark.start : mark.end],
                    title=heading(hit.chunk),
                    section=hit.chunk.section,
                    position=mark.start,
                    hit=hit,
                    source_urls=source_urls(hit.chunk),
                    chunk_id=hit.chunk.id,
                )
    return tuple(found.values())


def _rewritten(text: str, marks: tuple[Mark, ...], known: frozenset[int]) -> str:
    parts, end = [], 0
    for mark in marks:
        kept = [f"[id_{number}]" for number in dict.fromkeys(mark.numbers) if number in known]
        hole = CODE_HOLE if mark.in_code else HOLE
        parts += [text[end : mark.start], " ".join(kept) or hole]
        end = mark.end
    return close_holes("".join((*parts, text[end:])))
