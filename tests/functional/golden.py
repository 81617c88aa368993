"""Whole responses of tests/golden, which ``UPDATE_GOLDEN=1`` rewrites; int8 arithmetic drifts between processors."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "golden"
UPDATE_VARIABLE = "UPDATE_GOLDEN"

SCORE_TOLERANCE = 0.05
TOLD_TOLERANCE = 0.15
"""Of numbers in a sentence, such as the bar, which is a quantile."""
PERCENT_TOLERANCE = 3
_NUMBER = re.compile(r"-?\d+\.\d+|\d+(?=%)")
_VOLATILE = frozenset({"responseId", "latencyMs", "builtAt", "version"})


def check_golden(name: str, body: object) -> None:
    """Compare ``body`` with the golden response ``name``, or write it when asked to."""
    path = FOLDER / f"{name}.json"
    steady = normalise(body)
    if os.environ.get(UPDATE_VARIABLE):
        path.write_text(json.dumps(steady, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    expected = json.loads(path.read_text(encoding="utf-8"))
    found = list(differences(steady, expected))
    assert not found, f"{name}: " + "; ".join(found) + f" ({UPDATE_VARIABLE}=1 rewrites the golden responses)"


def normalise(value: object, key: str = "") -> object:
    """``value`` with what differs from run to run replaced by a word; the kind of it stays checked."""
    if key in {"timings", "timing"} and isinstance(value, dict):
        return {name: f"<{type(number).__name__}>" for name, number in sorted(value.items())}
    if key in _VOLATILE:
        return f"<{type(value).__name__}>"
    if isinstance(value, dict):
        return {name: normalise(item, name) for name, item in value.items()}
    if isinstance(value, list):
        items = [normalise(item) for item in value]
        return items[:1] if key == "relatedDocs" else items  # the scores of the others lie close together
    return value


def differences(actual: object, expected: object, where: str = "$") -> Iterator[str]:
    """What differs, and where, in words."""
    match actual, expected:
        case dict(), dict():
            for name in sorted({*actual, *expected}):
                if name not in actual or name not in expected:
                    yield f"{where}.{name} is {'missing' if name in expected else 'new'}"
                else:
                    yield from differences(actual[name], expected[name], f"{where}.{name}")
        case list(), list() if len(actual) == len(expected):
            for number, (left, right) in enumerate(zip(actual, expected, strict=True)):
                yield from differences(left, right, f"{where}[{number}]")
        case _:
            if not _same(actual, expected, to_the_letter=where.endswith(".answer")):
                yield f"{where} is {actual!r}, was {expected!r}"


_CLOSEST = re.compile(r"(?<=closest was )'.*?'(?= \()|(?<=The closest: ).*?(?= Confidence )")
"""Which chunk is closest to a question about nothing: at a cosine of .08 the processor decides."""


def _same(actual: object, expected: object, *, to_the_letter: bool) -> bool:
    """Whether two values count as one; what was measured may drift, in a text too that need not be exact."""
    if isinstance(actual, str) and isinstance(expected, str):
        actual, expected = (_CLOSEST.sub("#", text) for text in (actual, expected))
    match actual, expected:
        case (bool() | None, _) | (_, bool() | None):
            return actual is expected
        case (int() | float(), int() | float()):
            exact = isinstance(actual, int) and isinstance(expected, int)
            return actual == expected if exact else _near(actual, expected)
        case str(), str() if not to_the_letter and _NUMBER.sub("#", actual) == _NUMBER.sub("#", expected):
            pairs = zip(_NUMBER.findall(actual), _NUMBER.findall(expected), strict=True)
            return all(
                abs(float(left) - float(right)) <= (TOLD_TOLERANCE if "." in right else PERCENT_TOLERANCE)
                for left, right in pairs
            )
    return actual == expected


def _near(actual: float, expected: float) -> bool:
    tolerance = PERCENT_TOLERANCE if abs(expected) > 1 else SCORE_TOLERANCE
    return abs(actual - expected) <= tolerance
