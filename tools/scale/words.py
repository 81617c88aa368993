"""The ways to let the server find chunks by two words of a question, and what each takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bench.tables import percentile

if TYPE_CHECKING:
    from knowledge.engines.server.database import Database

ASKED = 30
BEST = 50

type Said = Mapping[str, Any]


def finding(database: Database, name: str, asked: Sequence[str]) -> dict[str, dict[str, float]]:
    """Median and worst milliseconds, by the form of the question, over the collection ``name``."""
    return {form: _times(database, name, say, asked[:ASKED]) for form, say in FORMS.items()}


def _times(database: Database, name: str, say: Callable[[str, str], Said], asked: Sequence[str]) -> dict[str, float]:
    times, found = [], 0
    for question in asked:
        first, second = sorted(question.split(), key=lambda word: (-len(word), word))[:2]
        start = time.perf_counter()
        found += len(database.ids(name, where_document=dict(say(first, second)), limit=BEST))
        times.append(1000 * (time.perf_counter() - start))
    return {"p50": percentile(times, 0.5), "max": max(times), "found": found / len(asked)}


def _forms(word: str) -> list[str]:
    return [word, word.capitalize(), word.upper()]


def _any(forms: Sequence[str]) -> Said:
    return {"$or": [{"$contains": form} for form in forms]}


FORMS: Mapping[str, Callable[[str, str], Said]] = {
    "six forms of two words": lambda one, two: _any([*_forms(one), *_forms(two)]),
    "two words as they are": lambda one, two: _any([one, two]),
    "three forms of one word": lambda one, _: _any(_forms(one)),
    "one word as it is": lambda one, _: {"$contains": one},
    "$regex, two words, any case": lambda one, two: {"$regex": f"(?i:{one}|{two})"},
    "$regex, first letters of either case": lambda one, two: {
        "$regex": "|".join(f"[{word[0]}{word[0].upper()}]{word[1:]}" for word in (one, two))
    },
}
"""What is said to Chroma of two words."""
