"""Newer first among hits that score alike; a chunk's date is from its front matter, else from its file's name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from rag.stages.refine.feedback import adjusted_score
from rag.values.answer import Chunk, Hit, Question, Refined

FRONT_MATTER_FIELDS = ("date", "updated", "modified", "last_modified", "published", "effective_date")
"""Asked in this order where a document has no ``last_updated``."""

# A year, and where a month (and day) follow it those too: 2024, 2024-3-7, 2024_03_17, 20240317, 2024-03-17T10:00. In
# front matter of real sites dates are of these forms, as YAML and TOML give them: 24 of 24 in docs_jekyll and
# docs_nuxt_content.
_DATE = re.compile(r"(?<!\d)((?:19[7-9]|20\d)\d)(?:([-_./]?)(\d\d?)(?:\2(\d\d?))?)?(?!\d)")


def chunk_date(chunk: Chunk) -> int | None:
    """The chunk's date as the number yyyymmdd, None when nothing tells it.

    An unknown month or day counts as 00: a document of "2024" is older than one of January 2024.
    """
    stated = (chunk.last_updated, *(str(chunk.extra.get(name, "")) for name in FRONT_MATTER_FIELDS))
    names = (path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] for path in (chunk.path, chunk.url))
    return next((found for text in (*stated, *names) if (found := newest_date(text))), None)


def newest_date(text: str) -> int | None:
    """The newest date in ``text`` as yyyymmdd. What is no day of the calendar (``2024-25``) is read as a year."""
    return max((_number(match[1], match[3], match[4]) for match in _DATE.finditer(text)), default=None)


def _number(year: str, month: str | None, day: str | None) -> int:
    y, m, d = int(year), int(month or 0), int(day or 0)
    try:
        date(y, m or 1, d or 1)
    except ValueError:
        m = d = 0
    return y * 10_000 + m * 100 + (d if m else 0)


@dataclass(frozen=True, slots=True)
class NewerFirst:
    """Orders hits whose scores (``adjusted_score``) differ by less than ``width`` by date; scores stay as they are.

    "Within .02" is no equivalence (.80 and .79 are alike, .79 and .775 are, .80 and .775 are not), so that a sort
    that compares pairs, as the seed's does, depends on the order that it begins with. Here groups are cut from the
    top: the best hit left opens a group, which takes every hit less than ``width`` below it. Within a group newer
    comes first, the undated last, and of the same date the better score, then the order of retrieval. The result
    depends on the set of hits alone, and no hit passes one that scores better by ``width`` or more.
    """

    width: float

    def __call__(self, hits: tuple[Hit, ...], question: Question) -> Refined:
        """The same hits in their new order; the trail names those that their date moved up."""
        left = by_score = sorted(hits, key=lambda hit: (-adjusted_score(hit), -hit.parts["dense"], hit.chunk.number))
        ordered: list[Hit] = []
        while left:
            top = adjusted_score(left[0])
            size = next((i for i, hit in enumerate(left) if top - adjusted_score(hit) >= self.width), len(left)) or 1
            ordered += sorted(left[:size], key=_age)
            left = left[size:]
        places = {hit.chunk.number: place for place, hit in enumerate(by_score)}
        moved_up = [hit.chunk.id for place, hit in enumerate(ordered) if place < places[hit.chunk.number]]
        return Refined(tuple(ordered), (f"newer first: {', '.join(moved_up)}",) if moved_up else ())


def _age(hit: Hit) -> tuple[bool, int]:
    """Sorts newest first and undated last; sorting is stable, so that better scores stay ahead."""
    found = chunk_date(hit.chunk)
    return found is None, -(found or 0)
