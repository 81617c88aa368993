"""Citations by chunk id: ``[id_3]``, ``[id_3, id_5]``."""

from __future__ import annotations

import re

from rag.stages.cite.addresses import source_urls
from rag.stages.cite.marks import CLOSE, OPEN, Cited, Left, Mark, grouped, mask_code, rewrite_marks
from rag.stages.pack.by_id import heading
from rag.values.answer import Citation, Hit

# gpt-oss adds the lines that it read: "\u3010id_3\u2020L1-L3\u3011".
_ID = r"id_\d{1,9}(?:\u2020L[\dL-]{1,20})?"
_IDS = rf"{OPEN}\s*{_ID}(?:\s*[,;]\s*{_ID})*\s*{CLOSE}"
_MARK = re.compile(_IDS, re.IGNORECASE)
_GROUP = grouped(_IDS)
_NUMBER = re.compile(r"id_(\d+)", re.IGNORECASE)


def cite_ids(answer: str, hits: tuple[Hit, ...]) -> Cited:
    """One Citation per id of ``hits`` that ``answer`` cites, in the order of the answer; marks of other ids go.

    Only brackets of nothing but ids are marks, outside of code. What is left of a mark is ``[id_N]`` for each id.
    """
    by_number = {hit.chunk.number: hit for hit in hits}

    def left(mark: re.Match[str]) -> Left | None:
        numbers = _numbers(mark)
        kept = [number for number in dict.fromkeys(numbers) if number in by_number]
        removed = sum(number not in by_number for number in numbers)
        return Left(" ".join(f"[id_{number}]" for number in kept), removed) if removed else None

    text, removed = rewrite_marks(answer, _GROUP, left)
    marks = list(_MARK.finditer(mask_code(text)))
    cited = [(number, mark) for mark in marks for number in _numbers(mark)]
    found: dict[int, Citation] = {}
    for number, mark in cited:
        found.setdefault(number, _citation(mark, by_number[number]))
    means = (Mark(*mark.span(), tuple(by_number[number] for number in _numbers(mark))) for mark in marks)
    return Cited(text, tuple(found.values()), len(cited), removed, tuple(means))


def _numbers(mark: re.Match[str]) -> list[int]:
    return [int(number) for number in _NUMBER.findall(mark[0])]


def _citation(mark: re.Match[str], hit: Hit) -> Citation:
    return Citation(
        raw=mark[0],
        title=heading(hit.chunk),
        section=hit.chunk.section,
        position=mark.start(),
        hit=hit,
        source_urls=source_urls(hit.chunk),
        chunk_id=hit.chunk.id,
    )
