"""Alterations that make a true statement false in one detail, to measure whether the claim check notices.

Each alteration returns the altered statement, or None if it does not apply to the statement. ``generator`` makes every
choice, so that runs repeat. The claim check does not know the word lists of this module.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from knowledge.cut.quotable import quotable_units
from knowledge.cut.units import UnitKind
from knowledge.model.values import Chunk
from knowledge.open.index import EmbeddedIndex

_DIGITS = re.compile(r"(?<![\w.,])\d+(?:[.,]\d+)*(?!\w)")
_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "twenty")
_NUMBER = re.compile(rf"{_DIGITS.pattern}|\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
_COUNTED_NOUN = re.compile(rf"(?:{_NUMBER.pattern})[ -]+([a-z]+)", re.IGNORECASE)
_NAME = re.compile(r"(?<=[\w,;] )(?:[A-Z][a-z]+|[A-Z]{2,})(?: (?:[A-Z][a-z]+|[A-Z]{2,}))*")

_UNITS: Sequence[Sequence[str]] = (
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
    rf"(?<=\d )(?:{'|'.join(unit for group in _UNITS for unit in group if unit.isalpha())})\b|[$€£](?=\d)"
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
_OPPOSITES = (
    "until/from, before/after, more/less, most/least, above/below, over/under, minimum/maximum, first/last, up/down, "
    "increase/decrease, increased/decreased, higher/lower, highest/lowest, always/never, include/exclude, "
    "import/export, buy/sell, buyer/seller, sender/receiver, open/close, opened/closed, begin/end, start/stop, "
    "starts/stops, started/stopped, early/late, earlier/later, north/south, northern/southern, east/west, "
    "eastern/western, win/lose, won/lost, large/small, larger/smaller, long/short, longer/shorter, high/low, new/old, "
    "enable/disable, enabled/disabled, allowed/forbidden, required/optional, inside/outside, public/private, "
    "male/female, add/remove, added/removed, internal/external, same/different, many/few, better/worse"
)
_PAIRS = [pair.split("/") for pair in _OPPOSITES.split(", ")]
_OPPOSITE = {word: opposite for pair in _PAIRS for word, opposite in (pair, pair[::-1])}
_HAS_OPPOSITE = re.compile(rf"\b(?:{'|'.join(_OPPOSITE)})\b")
_QUANTIFIERS = {
    "only": "", "always": "sometimes", "usually": "always", "may": "must", "can": "must", "must": "may",
    "some": "all", "all": "some", "every": "any other", "each": "only the first", "should": "must",
}  # fmt: skip
_QUANTIFIER = re.compile(rf"\b(?:{'|'.join(_QUANTIFIERS)})\b")
_CONDITION = re.compile(
    r",? (?:if|unless|when|except|provided|until|within|before|after|only|while|where) [^,;.]{8,}(?=[.;,]|$)"
)

MIN_LENGTH, MAX_LENGTH = 40, 300
"""Characters of a sentence that is drawn at random."""
FOREIGN_STEP = 20
"""One chunk of this many gives sentences about other subjects."""


@dataclass(frozen=True, slots=True)
class AlterationMaterial:
    """Material for the alterations of one statement, from its passage and from its whole corpus.

    ``passage`` supports the statement. ``sentences`` are of that passage, ``foreign_sentences`` of other passages;
    ``names`` and ``counted_nouns`` come from the whole corpus.
    """

    passage: str
    names: Sequence[str]
    counted_nouns: Sequence[str]
    sentences: Sequence[str] = ()
    foreign_sentences: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class StatementAlterer:
    """All alterations of a statement, with names, nouns and sentences of an index."""

    names: Sequence[str]
    counted_nouns: Sequence[str]
    sentences: Sequence[str]
    generator: random.Random

    @classmethod
    def from_index(cls, index: EmbeddedIndex) -> Self:
        """Collect the material from the chunks of ``index``."""
        texts = [chunk.text for chunk in index.iter_chunks()]
        nouns = {noun for text in texts for noun in _COUNTED_NOUN.findall(text) if len(noun) > 2}
        sentences = (sentence for text in texts[::FOREIGN_STEP] for sentence in split_sentences(text))
        return cls(
            sorted({name for text in texts for name in _NAME.findall(text)}),
            sorted(nouns),
            [sentence for sentence in sentences if MIN_LENGTH <= len(sentence) <= MAX_LENGTH],
            random.Random(0),  # noqa: S311 - no secret
        )

    def alter(self, statement: str, chunks: Sequence[Chunk]) -> Iterator[tuple[str, str]]:
        """Yield each applicable kind and the altered ``statement``; ``chunks`` support the original."""
        passage = " ".join(chunk.text for chunk in chunks)
        sentences = [sentence for chunk in chunks for sentence in split_sentences(chunk.text)]
        foreign = self.generator.sample(self.sentences, min(3, len(self.sentences)))
        foreign = [sentence for sentence in foreign if sentence not in passage]
        material = AlterationMaterial(passage, self.names, self.counted_nouns, sentences, foreign)
        for kind, alteration in ALTERATIONS.items():
            if (text := alteration(statement, material, self.generator)) is not None:
                yield kind, text


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a chunk's text; list items, table rows and code are left out."""
    return [text[unit.start : unit.end] for unit in quotable_units(text) if unit.kind == UnitKind.SENTENCE]


def change_number(statement: str, material: AlterationMaterial, generator: random.Random) -> str | None:
    """Replace a number by one that the passage does not contain."""
    passage_numbers = {word.lower() for word in _NUMBER.findall(material.passage)}

    def draw(old: str) -> str | None:
        if not old[0].isdigit():
            return _choose([word for word in _WORDS if word not in passage_numbers], generator)
        fixed = 2 if re.fullmatch(r"1\d{3}|20\d\d", old) else 0  # a year stays in its century
        for _ in range(20):
            new = old[:fixed] + re.sub(r"\d", lambda _: str(generator.randint(1, 9)), old[fixed:])
            if new not in passage_numbers:
                return new
        return None

    return _replace_one(statement, _NUMBER, draw, generator)


def use_other_number_of_passage(statement: str, material: AlterationMaterial, generator: random.Random) -> str | None:
    """Replace a number by another one of the passage, in digits."""
    others = sorted({number for number in _DIGITS.findall(material.passage) if number not in statement})
    return _replace_one(statement, _DIGITS, lambda _: _choose(others, generator), generator)


def change_unit(statement: str, _: AlterationMaterial, generator: random.Random) -> str | None:
    """Replace a unit by another one of the same dimension."""

    def draw(old: str) -> str | None:
        return _choose([unit for group in _UNITS if old in group for unit in group if unit != old], generator)

    return _replace_one(statement, _UNIT, draw, generator)


def change_counted_noun(statement: str, material: AlterationMaterial, generator: random.Random) -> str | None:
    """Replace the word after a number by another word that the corpus counts."""
    matches = [match for match in _COUNTED_NOUN.finditer(statement) if len(match[1]) > 2]
    noun = _choose([noun for noun in material.counted_nouns if noun.lower() not in statement.lower()], generator)
    if not matches or noun is None:
        return None
    match = generator.choice(matches)
    return statement[: match.start(1)] + noun + statement[match.end(1) :]


def insert_negation(statement: str, _: AlterationMaterial, generator: random.Random) -> str | None:
    """Insert a negation after a verb of a statement that has none."""
    if _NEGATIVE.search(statement):
        return None
    return _replace_one(statement, _VERB, lambda verb: f"{verb} {generator.choice(('not', 'not', 'never'))}", generator)


def remove_negation(statement: str, _: AlterationMaterial, generator: random.Random) -> str | None:
    """Remove a negation."""
    matches = [(match, positive) for pattern, positive in _NEGATIONS for match in pattern.finditer(statement)]
    if not matches:
        return None
    match, positive = generator.choice(matches)
    return statement[: match.start()] + match.expand(positive) + statement[match.end() :]


def change_name(statement: str, material: AlterationMaterial, generator: random.Random) -> str | None:
    """Replace a name by one of the corpus that the passage does not contain."""

    def draw(old: str) -> str | None:
        return _choose([name for name in material.names if name not in material.passage and name != old], generator)

    return _replace_one(statement, _NAME, draw, generator)


def use_other_name_of_passage(statement: str, material: AlterationMaterial, generator: random.Random) -> str | None:
    """Replace a name by another one of the passage that the statement does not contain."""
    others = sorted({name for name in _NAME.findall(material.passage) if name not in statement})

    def draw(old: str) -> str | None:
        return _choose([name for name in others if name not in old and old not in name], generator)

    return _replace_one(statement, _NAME, draw, generator)


def use_opposite(statement: str, _: AlterationMaterial, generator: random.Random) -> str | None:
    """Replace a word by its opposite."""
    return _replace_one(statement, _HAS_OPPOSITE, _OPPOSITE.get, generator)


def change_quantifier(statement: str, _: AlterationMaterial, generator: random.Random) -> str | None:
    """Insert, remove or replace a quantifier such as "only" or "must"."""
    altered = _replace_one(statement, _QUANTIFIER, _QUANTIFIERS.get, generator)
    if altered is not None:
        return altered.replace("  ", " ")
    return _replace_one(statement, _VERB, lambda verb: f"{verb} {generator.choice(('only', 'always'))}", generator)


def exchange_names(statement: str, _: AlterationMaterial, generator: random.Random) -> str | None:
    """Exchange two neighbouring names of the statement."""
    text = f" {statement}"
    pairs = [(left, right) for left, right in pairwise(_NAME.finditer(text)) if left[0] != right[0]]
    if not pairs:
        return None
    left, right = generator.choice(pairs)
    return (text[: left.start()] + right[0] + text[left.end() : right.start()] + left[0] + text[right.end() :])[1:]


def merge_sentences(statement: str, material: AlterationMaterial, generator: random.Random) -> str | None:
    """Join the statement's subject to the predicate of another sentence of the passage."""
    verb = _VERB.search(statement)
    verbs = [match for text in material.sentences if text not in statement and (match := _VERB.search(text))]
    if not verb or verb.start() < 4 or not verbs:
        return None
    other = generator.choice(verbs)
    return statement[: verb.start()] + other.string[other.start() :]


def append_foreign_fact(statement: str, material: AlterationMaterial, generator: random.Random) -> str | None:
    """Append a fact about another subject of the corpus."""
    verbs = [match for text in material.foreign_sentences if (match := _VERB.search(text))]
    if not verbs or not statement.rstrip().endswith("."):
        return None
    verb = generator.choice(verbs)
    return f"{statement.rstrip()[:-1]} and {verb.string[verb.start() :]}"


def drop_condition(statement: str, _: AlterationMaterial, generator: random.Random) -> str | None:
    """Remove a condition."""
    return _replace_one(statement, _CONDITION, lambda _: "", generator)


ALTERATIONS: Mapping[str, Callable[[str, AlterationMaterial, random.Random], str | None]] = {
    "a number changed": change_number,
    "to another number of the passage": use_other_number_of_passage,
    "a unit changed": change_unit,
    "another thing counted": change_counted_noun,
    "a negation put in": insert_negation,
    "a negation taken out": remove_negation,
    "a name swapped": change_name,
    "with another name of the passage": use_other_name_of_passage,
    "an opposite": use_opposite,
    "only, always, must": change_quantifier,
    "two names exchanged": exchange_names,
    "two sentences merged": merge_sentences,
    "a fact added": append_foreign_fact,
    "a condition left out": drop_condition,
}
"""Alterations by the kind under which evaluations report them."""


def _replace_one(
    statement: str, pattern: re.Pattern[str], draw: Callable[[str], str | None], generator: random.Random
) -> str | None:
    """Replace one random match of ``pattern`` by ``draw(match)``; None without a match or a replacement."""
    matches = list(pattern.finditer(statement))
    if not matches:
        return None
    match = generator.choice(matches)
    new = draw(match[0])
    return None if new is None else statement[: match.start()] + new + statement[match.end() :]


def _choose(options: Sequence[str], generator: random.Random) -> str | None:
    return generator.choice(options) if options else None
