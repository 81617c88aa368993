"""``[id_N]`` citations: validated against what the model saw, and turned into Citations."""

from __future__ import annotations

import re

from rag.stages.cite import source_urls
from rag.stages.pack_ids import heading
from rag.types import Citation, Context, Hit, Polished

# [id_42], [id 42], [ID_42], several in one bracket, full-width brackets; models write all of these.
_MARK = re.compile(r"[\[\u3010]\s*(id[_ ]?\d+(?:\s*(?:,|;|and|&)\s*(?:id[_ ]?)?\d+)*)\s*[\]\u3011]", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_BEFORE_MARK = re.compile(r"[ \t]+([.,;:!?])")
_DOUBLE_BLANK = re.compile(r"(?<=\S)[ \t]{2,}(?=\S)")
_EMPTY_BRACKETS = re.compile(r"[ \t]*\(\s*\)")


def drop_unknown_ids(answer: str, context: Context) -> Polished:
    """Remove citations of ids that were not in ``context``; each citation that stays is ``[id_N]`` by itself."""
    known = {passage.hit.chunk.number for passage in context.used}
    dropped = 0

    def keep_known(match: re.Match[str]) -> str:
        nonlocal dropped
        numbers = [int(number) for number in _NUMBER.findall(match[1])]
        kept = [number for number in dict.fromkeys(numbers) if number in known]
        dropped += sum(number not in known for number in numbers)
        return " ".join(f"[id_{number}]" for number in kept)

    text = _MARK.sub(keep_known, answer)
    if not dropped:
        return Polished(text)
    text = _EMPTY_BRACKETS.sub("", text)
    text = _DOUBLE_BLANK.sub(" ", _BEFORE_MARK.sub(r"\1", text))
    text = "\n".join(line.rstrip() for line in text.splitlines()).strip()
    noun = "citation" if dropped == 1 else "citations"
    return Polished(text, (f"removed {dropped} {noun} of ids that were not in the context",))


def cite_ids(answer: str, hits: tuple[Hit, ...]) -> tuple[Citation, ...]:
    """One Citation per id that ``answer`` cites, in the order of the answer."""
    by_number = {hit.chunk.number: hit for hit in hits}
    found: dict[int, Citation] = {}
    for match in _MARK.finditer(answer):
        for number in map(int, _NUMBER.findall(match[1])):
            hit = by_number.get(number)
            if hit is not None and number not in found:
                found[number] = Citation(
                    raw=match[0],
                    title=heading(hit.chunk),
                    section=hit.chunk.section,
                    position=match.start(),
                    hit=hit,
                    source_urls=source_urls(hit.chunk),
                    chunk_id=hit.chunk.id,
                )
    return tuple(found.values())
