"""What is quoted of passages without token matches: whole paragraphs, those with the most words of the question."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import chain

from rag.find.pack.tokens import cut_to
from rag.text.stems import content_stems, stems
from rag.values.answer import Passage
from rag.values.chat import Quote

MAX_BYTES = 600
"""Of a paragraph; a longer one is cut at the end of a sentence."""

_BREAK = re.compile(r"\n[^\S\n]*\n\s*")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_HEADING = re.compile(r"#{1,6}\s[^\n]*")
_MARKUP = re.compile(r"<[^<>]*>|!\[[^\[\]]*\]\([^()]*\)|\{[%{].*?[%}]\}", re.DOTALL)


def paragraphs(passages: Sequence[Passage], question: str, without: Container[int] = ()) -> tuple[Quote, ...]:
    """The paragraph that shares most with ``question``, and the one that adds most; none when there is nothing to read.

    Of equals the better ranked one; nothing of the passages at the places ``without``.
    """
    read = [_split(passage.text, place) for place, passage in enumerate(passages) if place not in without]
    found = [*chain.from_iterable(read)]
    words = [set(stems(excerpt.text)) for excerpt in found]
    frequency = Counter(chain.from_iterable(words))
    left = {stem: math.log(1 + len(found) / frequency[stem]) for stem in content_stems(question) if frequency[stem]}
    chosen: list[int] = []
    for _ in range(2):
        gains = [_gain(held, left) for held in words]
        best = max(range(len(found)), key=lambda i: (gains[i], -i), default=None)
        if best is None or (chosen and not gains[best]):
            break
        chosen.append(best)
        left = {stem: weight for stem, weight in left.items() if stem not in words[best]}
    return tuple(found[i] for i in chosen)


def _gain(held: Container[str], left: Mapping[str, float]) -> float:
    return sum(weight for stem, weight in left.items() if stem in held)


def _split(text: str, place: int) -> Iterator[Quote]:
    """The paragraphs of ``text`` that say something, code blocks whole, headings left out."""
    held = ""
    for part in _BREAK.split(text):
        held = f"{held}\n\n{part}" if held else part
        if len(_FENCE.findall(held)) % 2:
            continue
        block = _FENCE.search(held) is not None or held.rstrip().endswith("|")
        said = held.strip() if block else cut_to(held.strip(), MAX_BYTES, anywhere=True)
        held = ""
        if not _HEADING.fullmatch(said) and any(map(str.isalnum, _MARKUP.sub("", said))):
            yield Quote(place, said, block)
