"""Filter rules: words in a question that narrow the search to a part of the knowledge base.

A rule table is JSON, a deployment's own file:

    [{"keywords": ["logo", "brand"], "where": {"category": "brand_guidelines"}, "priority": 20},
     {"keywords": [], "where": {"sourceEnvironment": "production"}, "priority": 0}]

``where`` maps a metadata field to a scalar, a list of scalars or one comparison; fields are and-ed. A question is
searched for in the parts of all the rules whose keywords it holds: "the GaCounts policy" may be in either. A rule
without keywords is the default, for questions that no other rule applies to; of several the one with the highest
priority counts. Otherwise priority is the order in which rules are named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.errors import ConfigurationError
from rag.values.answer import Scalar, Where

COMPARISONS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")
_ORDERED = frozenset(("$gt", "$gte", "$lt", "$lte"))
_WORD = re.compile(r"[^\W_]+")
_KEYS = {"keywords", "where", "priority"}


@dataclass(frozen=True, slots=True)
class Condition:
    """``field operator value``; the value of ``$in`` is a tuple of scalars of one type."""

    field: str
    operator: str
    value: Scalar | tuple[Scalar, ...]

    @property
    def where(self) -> dict[str, object]:
        """The condition as Chroma takes it."""
        value = list(self.value) if isinstance(self.value, tuple) else self.value
        return {self.field: {self.operator: value}}

    @property
    def values(self) -> tuple[Scalar, ...]:
        """What the field is compared with."""
        return self.value if isinstance(self.value, tuple) else (self.value,)

    @property
    def lists_values(self) -> bool:
        """Whether it names values that the field may have."""
        return self.operator in ("$eq", "$in")

    def fits(self, fields: Mapping[str, str]) -> bool:
        """Whether an index with ``fields`` (name -> type) has the field, in a type that the value can meet.

        Text never meets a number: a rule for ``priority >= 7`` over texts would silently find nothing.
        """
        kind = fields.get(self.field)
        if kind is None:
            return False
        if kind == "mixed":
            return True
        return all(_kind(value) == _NUMBER.get(kind, kind) for value in self.values)

    def __str__(self) -> str:
        sign = {"$eq": "=", "$ne": "!=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<=", "$in": "in"}[self.operator]
        value = ", ".join(map(str, self.value)) if isinstance(self.value, tuple) else str(self.value)
        return f"{self.field} {sign} {value}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table. ``keywords`` are single words or phrases; ``conditions`` are and-ed and not empty."""

    keywords: tuple[str, ...]
    conditions: tuple[Condition, ...]
    priority: float = 0

    @property
    def where(self) -> Where:
        """The rule as a Chroma ``where``, which takes one key only: several conditions are wrapped in ``$and``."""
        clauses = [condition.where for condition in self.conditions]
        return clauses[0] if len(clauses) == 1 else {"$and": clauses}

    def fits(self, fields: Mapping[str, str]) -> bool:
        """Whether an index with ``fields`` can meet every condition."""
        return all(condition.fits(fields) for condition in self.conditions)

    def keyword_in(self, words: tuple[str, ...]) -> str | None:
        """The first keyword that ``words`` hold, whole and in a row; its last word may be in the plural."""
        return next((keyword for keyword in self.keywords if _holds(words, read_words(keyword))), None)

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions))


@dataclass(frozen=True, slots=True)
class RuleTable:
    """A deployment's rules, highest priority first."""

    rules: tuple[Rule, ...] = ()

    def match(self, question: str, fields: Mapping[str, str]) -> tuple[tuple[Rule, str | None], ...]:
        """The rules for ``question`` on an index with ``fields``, best first, each with the keyword found.

        The default rule comes alone, with None. A rule that the index cannot meet is passed over.
        """
        words = read_words(question)
        able = [rule for rule in self.rules if rule.fits(fields)]
        found = tuple((rule, keyword) for rule in able if (keyword := rule.keyword_in(words)))
        return found or tuple((rule, None) for rule in able if not rule.keywords)[:1]


def unite(rules: Sequence[Rule]) -> Where:
    """The parts of all ``rules`` (at least one) as one Chroma ``where``.

    One field that each of them names alone is one ``$in``; other rules are or-ed whole.
    """
    lists = [rule.conditions[0] for rule in rules if len(rule.conditions) == 1 and rule.conditions[0].lists_values]
    values = [value for condition in lists for value in condition.values]
    one_field = len({condition.field for condition in lists}) == len({_kind(value) for value in values}) == 1
    if len(rules) == len(lists) > 1 and one_field:
        return {lists[0].field: {"$in": list(dict.fromkeys(values))}}
    return rules[0].where if len(rules) == 1 else {"$or": [rule.where for rule in rules]}


def parse_rules(text: str) -> RuleTable:
    """The table of a JSON list of rules.

    Raises:
        ConfigurationError: it is something else; the message names the rule.
    """
    try:
        rows = json.loads(text)
    except ValueError as exc:
        raise ConfigurationError("The filter rules file is not valid JSON") from exc
    if not isinstance(rows, list):
        raise ConfigurationError("The filter rules file must hold a JSON list of rules")
    rules = [_rule(number, row) for number, row in enumerate(rows, start=1)]
    return RuleTable(tuple(sorted(rules, key=lambda rule: -rule.priority)))


def read_words(text: str) -> tuple[str, ...]:
    """The words of ``text`` in lower case, without punctuation."""
    return tuple(match[0] for match in _WORD.finditer(text.casefold()))


def _rule(number: int, row: object) -> Rule:
    if not isinstance(row, dict) or not row.keys() <= _KEYS or "where" not in row:
        raise ConfigurationError(f'Filter rule {number} must be {{"keywords": [...], "where": {{...}}, "priority": n}}')
    keywords, where, priority = row.get("keywords", []), row["where"], row.get("priority", 0)
    if not isinstance(keywords, list) or not all(isinstance(word, str) and read_words(word) for word in keywords):
        raise ConfigurationError(f"Filter rule {number}: keywords must be a list of words or phrases")
    if isinstance(priority, bool) or not isinstance(priority, int | float):
        raise ConfigurationError(f"Filter rule {number}: priority must be a number, not {priority!r}")
    if not isinstance(where, dict) or not where:
        raise ConfigurationError(f"Filter rule {number}: where must map at least one field to a condition")
    return Rule(tuple(keywords), tuple(_condition(number, name, value) for name, value in where.items()), priority)


def _condition(number: int, name: str, wanted: object) -> Condition:
    operator, value = "$eq", wanted
    if isinstance(wanted, list):
        operator = "$in"
    elif isinstance(wanted, dict) and len(wanted) == 1:
        operator, value = next(iter(wanted.items()))
    values = value if operator == "$in" and isinstance(value, list) else [value]
    scalars = [item for item in values if isinstance(item, str | int | float)]
    kinds = {_kind(item) for item in scalars}
    known = operator in {*COMPARISONS, "$in"} and (operator == "$in") == isinstance(value, list)
    if name.startswith("$") or not known or len(scalars) != len(values) or len(kinds) != 1:
        raise ConfigurationError(
            f"Filter rule {number}: {name!r} must be a field with a scalar, a non-empty list of scalars of one type, "
            f"or one of $in, {', '.join(COMPARISONS)} with its value"
        )
    if operator in _ORDERED and kinds != {"number"}:
        raise ConfigurationError(f"Filter rule {number}: {operator} of {name!r} compares numbers")
    return Condition(name, operator, tuple(scalars) if operator == "$in" else scalars[0])


_NUMBER = {"int": "number", "float": "number"}


def _kind(value: Scalar) -> str:
    return "bool" if isinstance(value, bool) else "str" if isinstance(value, str) else "number"


def _holds(words: tuple[str, ...], phrase: tuple[str, ...]) -> bool:
    *firsts, last = phrase
    lasts = {last, f"{last}s", f"{last}es", *([f"{last[:-1]}ies"] if last.endswith("y") else [])}
    length = len(phrase)
    return any(
        words[i + length - 1] in lasts and words[i : i + length - 1] == tuple(firsts)
        for i in range(len(words) - length + 1)
    )
