"""Filters on metadata, of a request and of filter rules, as a Chroma ``where``.

A rule table is JSON, a deployment's own file:

    [{"keywords": ["logo", "brand"], "where": {"category": "brand_guidelines"}, "priority": 20},
     {"keywords": [], "where": {"sourceEnvironment": "production"}, "priority": 0}]

``where`` maps a metadata field to a scalar, a list of scalars or one comparison, like a request's ``filters``; fields
are and-ed. A question is searched for in the parts of all rules with a keyword in it: "the GaCounts policy" may be in
either. A rule without keywords is the default, for questions that match no other rule; of several defaults the one
with the highest priority applies. Otherwise priority is the order in which rules are named.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import eq, ge, gt, le, lt, ne
from typing import Annotated, Any, TypeGuard

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from knowledge.engines.metadata import FIELD_TYPES
from knowledge.model.values import View, Where
from rag.errors import ConfigurationError, InvalidParameter
from rag.text.template import replace_surrogates
from rag.values.question import Question, SearchQuery

_SIGNS = {"$gte": ">=", "$lte": "<=", "$gt": ">", "$lt": "<", "$ne": "!="}
_COMPARE = {"$eq": eq, "$ne": ne, "$gte": ge, "$gt": gt, "$lte": le, "$lt": lt}
_WIDE = {"float", "mixed"}
"""Fields that may hold whole numbers and fractions."""
_INT64 = 2**63
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_.\- ]{0,63}")
_ACCEPTED = "a scalar, a non-empty list of scalars of one type, or one of " + ", ".join(_SIGNS) + " with a scalar"


def build_where(conditions: Mapping[str, object], fields: Mapping[str, str]) -> Where | None:
    """Return the and-ed ``conditions`` (field to a scalar, a list of scalars, or a comparison), or None.

    ``fields`` are the index's metadata fields and their types ("str", "int", "float", "bool", "mixed"), empty if the
    index does not know them.

    Raises:
        InvalidParameter: an unknown field, or a condition that the field's type cannot meet.
    """
    return and_where(*(_clause(name, wanted, fields) for name, wanted in conditions.items()))


def and_where(*conditions: Where | None) -> Where | None:
    """Return the ``conditions`` that are not None in one ``$and``, None if all are."""
    clauses: list[Where] = []
    for where in filter(None, conditions):
        parts = where.get("$and")
        clauses += parts if isinstance(parts, list) and len(where) == 1 else [where]
    if len(clauses) > 1:
        return {"$and": clauses}
    return clauses[0] if clauses else None


def _clause(name: str, wanted: object, known: Mapping[str, str]) -> Where:
    if not _FIELD.fullmatch(name):
        raise InvalidParameter(
            "filters: a field name starts with a letter and holds letters, digits, '_', '-', '.' or spaces"
        )
    if known and name not in known:
        raise InvalidParameter(f"filters: unknown field {name!r}; this index knows: {', '.join(sorted(known))}")
    kind = known.get(name, "")
    if isinstance(wanted, Mapping):
        return _operator_clause(name, wanted, kind)
    if isinstance(wanted, list):
        values = [_scalar(name, value, kind) for value in wanted]
        if not values or len({type(value) for value in values}) != 1:
            raise InvalidParameter(f"filters.{name} must be {_ACCEPTED}")
        clause = {name: {"$in": values}}
        # Chroma confuses these whole numbers with one of the fractions.
        cut = {math.trunc(value) for value in values if _is_fraction(value)} - set(values)
        return {"$and": [clause, {name: {"$nin": sorted(cut)}}]} if cut and kind in _WIDE else clause
    return _comparison_clause(name, "$eq", _scalar(name, wanted, kind), kind)


def _operator_clause(name: str, wanted: Mapping[str, Any], kind: str) -> Where:
    if len(wanted) != 1 or not wanted.keys() <= _SIGNS.keys():
        raise InvalidParameter(f"filters.{name} must be {_ACCEPTED}")
    ((sign, value),) = wanted.items()
    is_ordered = sign != "$ne"
    if is_ordered and (not _is_number(value) or kind in {"str", "bool"}):
        raise InvalidParameter(f"filters.{name}: {sign} compares numbers" + _describe_type(kind))
    if is_ordered and kind == "int" and _is_fraction(value):
        # Chroma cuts the fraction off before it compares with whole numbers: 7 would be $gte 7.5.
        value = math.ceil(value) if sign in {"$gte", "$lt"} else math.floor(value)
    return _comparison_clause(name, sign, _scalar(name, value, kind), kind)


def _comparison_clause(name: str, sign: str, value: str | float, kind: str) -> Where:
    """Return the comparison with ``value`` as in arithmetic, for a field of whole numbers and fractions.

    Chroma 1.5.9 truncates a fraction before it compares it with a whole number: 5.2 becomes 5, -5.2 becomes -5. Half of
    the operators then judge that one whole number wrongly, so the clause names it.
    """
    clause = {name: {sign: value}}
    if kind not in _WIDE or not _is_fraction(value):
        return clause
    cut = math.trunc(value)
    compare = _COMPARE[sign]
    if compare(cut, value) == compare(cut, cut):
        return clause
    if compare(cut, value):
        return {"$or": [clause, {name: {"$eq": cut}}]}
    return {"$and": [clause, {name: {"$ne": cut}}]}


def _scalar(name: str, value: object, kind: str) -> str | int | float | bool:
    if not isinstance(value, str | int | float):
        raise InvalidParameter(f"filters.{name} must be {_ACCEPTED}")
    fits = {
        "str": isinstance(value, str),
        "bool": isinstance(value, bool),
        "int": _is_number(value) and not _is_fraction(value),
        "float": _is_number(value),
    }.get(kind, True)
    if not fits:
        raise InvalidParameter(f"filters.{name} has a value of the wrong type" + _describe_type(kind))
    if isinstance(value, str):
        return replace_surrogates(value)
    # JSON's 1e999 is infinite; Chroma takes neither that nor a whole number of more than 64 bits.
    finite = not isinstance(value, float) or math.isfinite(value)
    if finite and kind == "int":
        value = int(value)
    if not finite or (isinstance(value, int) and not -_INT64 <= value < _INT64):
        raise InvalidParameter(f"filters.{name}: numbers must fit into 64 bits")
    return float(value) if kind == "float" else value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_fraction(value: object) -> TypeGuard[float]:
    """Return whether ``value`` lies between two whole numbers."""
    return isinstance(value, float) and math.isfinite(value) and not value.is_integer()


def _describe_type(kind: str) -> str:
    words = {"str": "text", "bool": "true or false", "int": "whole numbers", "float": "numbers"}
    return f"; the field holds {words[kind]}" if kind in words else ""


@dataclass(frozen=True, slots=True)
class RequestFilter:
    """Adds the request's filters to the query.

    ``fields`` returns the index's metadata fields and their types (see ``build_where``). The fourteen fields of a chunk
    are always known: without a value such a filter finds nothing.
    """

    fields: Callable[[], Mapping[str, str]]

    def __call__(self, query: SearchQuery, question: Question) -> SearchQuery:
        """Return ``query`` with the request's filters.

        Raises:
            InvalidParameter: an unknown field, or a condition that the field's type cannot meet.
            IndexUnavailable: there is no usable index.
        """
        if not question.filters:
            return query
        fields = self.fields()
        known = {**FIELD_TYPES, **fields} if fields else {}
        where = and_where(build_where(question.filters, known), query.where)
        trail = f"filtered by the request's own filters: {', '.join(question.filters)}"
        return replace(query, where=where, trail=(*query.trail, trail))


_WORD = re.compile(r"[^\W_]+")


def split_words(text: str) -> tuple[str, ...]:
    """Return the words of ``text`` in lower case, without punctuation."""
    return tuple(match[0] for match in _WORD.finditer(text.casefold()))


def _require_words(keyword: str) -> str:
    if not split_words(keyword):
        raise ValueError("a keyword is a word or a phrase")
    return keyword


def _require_where(conditions: dict[str, object]) -> dict[str, object]:
    try:
        build_where(conditions, {})
    except InvalidParameter as exc:
        raise ValueError(str(exc).replace("filters", "where", 1)) from exc
    return conditions


class Rule(BaseModel):
    """A row of the table: ``keywords`` are words or phrases; the conditions of ``where`` are and-ed."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    keywords: tuple[Annotated[str, AfterValidator(_require_words)], ...] = ()
    where: Annotated[dict[str, object], Field(min_length=1), AfterValidator(_require_where)]
    priority: float = 0

    def build(self, fields: Mapping[str, str]) -> Where | None:
        """Return the Chroma ``where`` for an index with ``fields`` (name to type), None if the index cannot meet it."""
        try:
            return build_where(self.where, fields) if self.where.keys() <= fields.keys() else None
        except InvalidParameter:
            return None

    def find_keyword(self, words: tuple[str, ...]) -> str | None:
        """Return the first keyword among ``words``, whole and in a row; its last word may be plural."""
        return next((keyword for keyword in self.keywords if _has_phrase(words, split_words(keyword))), None)

    def __str__(self) -> str:
        return " and ".join(_describe(field, wanted) for field, wanted in self.where.items())


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """A rule that applies to a question, its Chroma ``where`` and its keyword, None for the default rule."""

    rule: Rule
    where: Where
    keyword: str | None


@dataclass(frozen=True, slots=True)
class RuleTable:
    """A deployment's rules, highest priority first."""

    rules: tuple[Rule, ...] = ()

    def match(self, question: str, fields: Mapping[str, str]) -> tuple[RuleMatch, ...]:
        """Return the rules for ``question`` on an index with ``fields``, best first, or the default rule alone.

        A rule that the index cannot meet is left out: it would silently find nothing.
        """
        words = split_words(question)
        able = [(rule, where) for rule in self.rules if (where := rule.build(fields))]
        found = tuple(RuleMatch(rule, where, keyword) for rule, where in able if (keyword := rule.find_keyword(words)))
        return found or tuple(RuleMatch(rule, where, None) for rule, where in able if not rule.keywords)[:1]


def or_where(matches: Sequence[RuleMatch]) -> Where:
    """Return the or-ed ``matches`` (at least one) as one Chroma ``where``."""
    return matches[0].where if len(matches) == 1 else {"$or": [match.where for match in matches]}


def parse_rules(text: str) -> RuleTable:
    """Parse a JSON list of rules.

    Raises:
        ConfigurationError: the text has another form; the message names the rule.
    """
    try:
        rules = TypeAdapter(list[Rule]).validate_json(text)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        place = f"rule {int(first['loc'][0]) + 1}, {first['loc'][-1]}" if first["loc"] else "a JSON list of rules"
        raise ConfigurationError(f"The filter rules file, {place}: {first['msg']}") from exc
    return RuleTable(tuple(sorted(rules, key=lambda rule: -rule.priority)))


def _describe(field: str, wanted: object) -> str:
    if isinstance(wanted, dict):
        ((sign, value),) = wanted.items()
        return f"{field} {_SIGNS[sign]} {value}"
    return f"{field} in {', '.join(map(str, wanted))}" if isinstance(wanted, list) else f"{field} = {wanted}"


def _has_phrase(words: tuple[str, ...], phrase: tuple[str, ...]) -> bool:
    *firsts, last = phrase
    lasts = {last, f"{last}s", f"{last}es", *([f"{last[:-1]}ies"] if last.endswith("y") else [])}
    length = len(phrase)
    return any(
        words[i + length - 1] in lasts and words[i : i + length - 1] == tuple(firsts)
        for i in range(len(words) - length + 1)
    )


FILTER_WEIGHT = 0.1
"""Weight of the view within a detected filter; the question has 1."""


@dataclass(frozen=True, slots=True)
class RuleFilter:
    """Adds the filter of the matching rules as a view: chunks within it count more, others are still found.

    As a ``wall`` it joins the query's ``where`` instead, and nothing outside it is found (GaCounts' seed). ``fields``
    returns the index's metadata fields and their types; an index that does not know them gets no rule. ``table``
    returns the current rules.
    """

    table: Callable[[], RuleTable]
    fields: Callable[[], Mapping[str, str]]
    wall: bool = False

    def __call__(self, query: SearchQuery, question: Question) -> SearchQuery:
        """Return ``query`` with the detected filter, if a rule applies to its (rewritten) text.

        Raises:
            IndexUnavailable: there is no usable index.
        """
        table = self.table()
        matched = table.match(query.text, self.fields()) if table.rules else ()
        if not matched:
            return query
        named = [f"{f'the word {match.keyword!r}' if match.keyword else 'default'}: {match.rule}" for match in matched]
        trail = (*query.trail, f"{'filtered' if self.wall else 'prefers,'} by {', or by '.join(named)}")
        where = or_where(matched)
        if self.wall:
            return replace(query, where=and_where(query.where, where), trail=trail)
        return replace(query, views=(*query.views, View(query.text, FILTER_WEIGHT, where)), trail=trail)
