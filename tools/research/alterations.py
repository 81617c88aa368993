"""True statements made wrong in one detail, to measure whether a check tells: a number, an opposite, a condition.

Each function returns the altered statement, or None where the statement has nothing of that kind. ``generator`` makes
every choice, so that a run can be repeated. The word lists make the wrong statements; the check itself knows none.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

_DIGITS = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?!\w)")
_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "twenty")
_NUMBER = re.compile(rf"{_DIGITS.pattern}|\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
_COUNTED = re.compile(rf"(?:{_NUMBER.pattern})[ -]+([a-z]+)", re.IGNORECASE)
_NAME = re.compile(r"(?<=[\w,;] )(?:[A-Z][a-z]+|[A-Z]{2,})(?: (?:[A-Z][a-z]+|[A-Z]{2,}))*")

UNITS: Sequence[Sequence[str]] = (
    ("second", "minute", "hour", "day", "week", "month", "year", "decade"),
    ("seconds", "minutes", "hours", "days", "weeks", "months", "years", "decades"),
    ("mile", "kilometre", "metre", "yard", "foot", "inch"),
    ("miles", "kilometres", "metres", "yards", "feet", "inches"),
    ("mi", "km", "m", "yd", "ft", "cm", "mm"),
    ("kg", "lb", "g", "oz"),
    ("kilograms", "pounds", "grams", "ounces", "tonnes"),
    ("USD", "EUR", "GBP"),
    ("$", "€", "£"),
    ("dollars", "euros", "pounds"),
    ("million", "billion", "thousand"),
)
_UNIT = re.compile(
    rf"(?<=\d )(?:{'|'.join(unit for group in UNITS for unit in group if unit.isalpha())})\b|[$€£](?=\d)"
)

_VERB = re.compile(r"\b(?:is|are|was|were|has|have|had|can|could|will|would|may|must|should|does|do|did)\b")
_NEGATIVE = re.compile(r"\b(?:no|not|never|none|neither|nor|cannot|without)\b|n['’]t\b", re.IGNORECASE)
_NEGATIONS = (
    (re.compile(r"\b(is|are|was|were|has|have|had|could|would|should|does|do|did) ?n['’]t\b"), r"\1"),
    (re.compile(r"\bcan(?: ?not| ?['’]t)\b"), "can"),
    (re.compile(r" (?:not|never)\b"), ""),
    (re.compile(r"\bwithout\b"), "with"),
    (re.compile(r"\bno\b"), "some"),
)


OPPOSITES = (
    "until/from, before/after, more/less, most/least, above/below, over/under, minimum/maximum, first/last, up/down, "
    "increase/decrease, increased/decreased, higher/lower, highest/lowest, always/never, include/exclude, "
    "import/export, buy/sell, buyer/seller, sender/receiver, open/close, opened/closed, begin/end, start/stop, "
    "starts/stops, started/stopped, early/late, earlier/later, north/south, northern/southern, east/west, "
    "eastern/western, win/lose, won/lost, large/small, larger/smaller, long/short, longer/shorter, high/low, new/old, "
    "enable/disable, enabled/disabled, allowed/forbidden, required/optional, inside/outside, public/private, "
    "male/female, add/remove, added/removed, internal/external, same/different, many/few, better/worse"
)
_PAIRS = [pair.split("/") for pair in OPPOSITES.split(", ")]
_OPPOSITE = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
_OPPOSED = re.compile(rf"\b(?:{'|'.join(_OPPOSITE)})\b")
_QUANTIFIERS = {
    "only": "", "always": "sometimes", "usually": "always", "may": "must", "can": "must", "must": "may",
    "some": "all", "all": "some", "every": "any other", "each": "only the first", "should": "must",
}  # fmt: skip
_QUANTIFIED = re.compile(rf"\b(?:{'|'.join(_QUANTIFIERS)})\b")
_CONDITION = re.compile(
    r",? (?:if|unless|when|except|provided|until|within|before|after|only|while|where) [^,;.]{8,}(?=[.;,]|$)"
)


@dataclass(frozen=True, slots=True)
class Source:
    """Where what is put in comes from: the ``passage`` that bears the statement out, and its whole corpus.

    ``others`` are sentences of the same passage, ``foreign`` some of others.
    """

    passage: str
    names: Sequence[str]
    counted: Sequence[str]
    others: Sequence[str] = ()
    foreign: Sequence[str] = ()


def names(text: str) -> list[str]:
    """Runs of words with capitals, but those that begin a sentence."""
    return _NAME.findall(text)


def counted(text: str) -> list[str]:
    """The words behind numbers."""
    return [word for word in _COUNTED.findall(text) if len(word) > 2]


def number(statement: str, source: Source, generator: random.Random) -> str | None:
    """Another number, one that the passage does not have."""
    held = {word.lower() for word in _NUMBER.findall(source.passage)}

    def other(old: str) -> str | None:
        if not old[0].isdigit():
            return _pick([word for word in _WORDS if word not in held], generator)
        kept = 2 if re.fullmatch(r"1\d{3}|20\d\d", old) else 0  # a year stays in its century
        for _ in range(20):
            new = old[:kept] + re.sub(r"\d", lambda _: str(generator.randint(1, 9)), old[kept:])
            if new not in held:
                return new
        return None

    return _changed(statement, _NUMBER, other, generator)


def number_there(statement: str, source: Source, generator: random.Random) -> str | None:
    """Another number of the passage, in digits."""
    held = sorted({found for found in _DIGITS.findall(source.passage) if found not in statement})
    return _changed(statement, _DIGITS, lambda _: _pick(held, generator), generator)


def unit(statement: str, _: Source, generator: random.Random) -> str | None:
    """Another unit of the same dimension."""

    def other(old: str) -> str | None:
        return _pick([one for group in UNITS if old in group for one in group if one != old], generator)

    return _changed(statement, _UNIT, other, generator)


def thing(statement: str, source: Source, generator: random.Random) -> str | None:
    """Something else counted: the word behind a number replaced by another one that the corpus counts."""
    found = [match for match in _COUNTED.finditer(statement) if len(match[1]) > 2]
    other = _pick([word for word in source.counted if word.lower() not in statement.lower()], generator)
    if not found or other is None:
        return None
    match = generator.choice(found)
    return statement[: match.start(1)] + other + statement[match.end(1) :]


def negated(statement: str, _: Source, generator: random.Random) -> str | None:
    """A negation put in behind a verb, where there is none yet."""
    if _NEGATIVE.search(statement):
        return None
    return _changed(statement, _VERB, lambda verb: f"{verb} {generator.choice(('not', 'not', 'never'))}", generator)


def affirmed(statement: str, _: Source, generator: random.Random) -> str | None:
    """A negation taken out."""
    found = [(match, plain) for pattern, plain in _NEGATIONS for match in pattern.finditer(statement)]
    if not found:
        return None
    match, plain = generator.choice(found)
    return statement[: match.start()] + match.expand(plain) + statement[match.end() :]


def name(statement: str, source: Source, generator: random.Random) -> str | None:
    """Another name of the corpus, none that the passage has."""
    return _changed(
        statement,
        _NAME,
        lambda old: _pick([one for one in source.names if one not in source.passage and one != old], generator),
        generator,
    )


def name_there(statement: str, source: Source, generator: random.Random) -> str | None:
    """Another name of the same passage, which the statement does not speak of."""
    held = sorted({one for one in names(source.passage) if one not in statement})
    return _changed(
        statement, _NAME, lambda old: _pick([one for one in held if one not in old and old not in one], generator),
        generator,
    )  # fmt: skip


def opposite(statement: str, _: Source, generator: random.Random) -> str | None:
    """A word replaced by its opposite."""
    return _changed(statement, _OPPOSED, _OPPOSITE.get, generator)


def quantifier(statement: str, _: Source, generator: random.Random) -> str | None:
    """An "only" or a "must" put in, taken out or exchanged."""
    changed = _changed(statement, _QUANTIFIED, _QUANTIFIERS.get, generator)
    if changed is not None:
        return changed.replace("  ", " ")
    return _changed(statement, _VERB, lambda verb: f"{verb} {generator.choice(('only', 'always'))}", generator)


def roles(statement: str, _: Source, generator: random.Random) -> str | None:
    """Two names of the statement exchanged."""
    text = f" {statement}"
    pairs = [(one, other) for one, other in pairwise(_NAME.finditer(text)) if one[0] != other[0]]
    if not pairs:
        return None
    one, other = generator.choice(pairs)
    return (text[: one.start()] + other[0] + text[one.end() : other.start()] + one[0] + text[other.end() :])[1:]


def merged(statement: str, source: Source, generator: random.Random) -> str | None:
    """What the passage says of something else, said of the subject of the statement."""
    verb = _VERB.search(statement)
    ends = [match for text in source.others if text not in statement and (match := _VERB.search(text))]
    if not verb or verb.start() < 4 or not ends:
        return None
    end = generator.choice(ends)
    return statement[: verb.start()] + end.string[end.start() :]


def added(statement: str, source: Source, generator: random.Random) -> str | None:
    """A fact put behind it that is true of something else in the corpus."""
    ends = [match for text in source.foreign if (match := _VERB.search(text))]
    if not ends or not statement.rstrip().endswith("."):
        return None
    end = generator.choice(ends)
    return f"{statement.rstrip()[:-1]} and {end.string[end.start() :]}"


def condition(statement: str, _: Source, generator: random.Random) -> str | None:
    """A condition left out."""
    return _changed(statement, _CONDITION, lambda _: "", generator)


ALTERATIONS: Mapping[str, Callable[[str, Source, random.Random], str | None]] = {
    "a number changed": number,
    "to another number of the passage": number_there,
    "a unit changed": unit,
    "another thing counted": thing,
    "a negation put in": negated,
    "a negation taken out": affirmed,
    "a name swapped": name,
    "with another name of the passage": name_there,
    "an opposite": opposite,
    "only, always, must": quantifier,
    "two names exchanged": roles,
    "two sentences merged": merged,
    "a fact added": added,
    "a condition left out": condition,
}


def _changed(
    statement: str, pattern: re.Pattern[str], other: Callable[[str], str | None], generator: random.Random
) -> str | None:
    """``statement`` with ``other`` of one match of ``pattern`` in its place."""
    found = list(pattern.finditer(statement))
    if not found:
        return None
    match = generator.choice(found)
    new = other(match[0])
    return None if new is None else statement[: match.start()] + new + statement[match.end() :]


def _pick(of: Sequence[str], generator: random.Random) -> str | None:
    return generator.choice(of) if of else None
