"""Filter rules: words in a question that narrow the search to a part of the knowledge base.

A rule table is JSON, a deployment's own file:

    [{"keywords": ["logo", "brand"], "where": {"category": "brand_guidelines"}, "priority": 20},
     {"keywords": [], "where": {"sourceEnvironment": "production"}, "priority": 0}]

``where`` maps a metadata field to a scalar, a list of scalars or one comparison, as a request's ``filters`` do; fields
are and-ed. A question is searched for in the parts of all the rules whose keywords it holds: "the GaCounts policy" may
be in either. A rule without keywords is the default, for questions that no other rule applies to; of several the one
with the highest priority counts. Otherwise priority is the order in which rules are named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from knowledge.model.values import View, Where
from rag.ask.query.where import both, build_where
from rag.errors import ConfigurationError, InvalidParameter
from rag.values.question import Question, SearchQuery

_WORD = re.compile(r"[^\W_]+")
_SIGNS = {"$ne": "!=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


def read_words(text: str) -> tuple[str, ...]:
    """The words of ``text`` in lower case, without punctuation."""
    return tuple(match[0] for match in _WORD.finditer(text.casefold()))


def _with_words(keyword: str) -> str:
    if not read_words(keyword):
        raise ValueError("a keyword is a word or a phrase")
    return keyword


def _possible(conditions: dict[str, object]) -> dict[str, object]:
    try:
        build_where(conditions, {})
    except InvalidParameter as exc:
        raise ValueError(str(exc).replace("filters", "where", 1)) from exc
    return conditions


class Rule(BaseModel):
    """One row of the table. ``keywords`` are single words or phrases; the conditions of ``where`` are and-ed."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    keywords: tuple[Annotated[str, AfterValidator(_with_words)], ...] = ()
    where: Annotated[dict[str, object], Field(min_length=1), AfterValidator(_possible)]
    priority: float = 0

    def on(self, fields: Mapping[str, str]) -> Where | None:
        """The rule as a Chroma ``where`` on an index with ``fields`` (name to type); None where that cannot meet it."""
        try:
            return build_where(self.where, fields) if self.where.keys() <= fields.keys() else None
        except InvalidParameter:
            return None

    def keyword_in(self, words: tuple[str, ...]) -> str | None:
        """The first keyword that ``words`` hold, whole and in a row; its last word may be in the plural."""
        return next((keyword for keyword in self.keywords if _holds(words, read_words(keyword))), None)

    def __str__(self) -> str:
        return " and ".join(_in_words(field, wanted) for field, wanted in self.where.items())


@dataclass(frozen=True, slots=True)
class Match:
    """A rule that applies to a question: its Chroma ``where``, and the keyword found, None for the default rule."""

    rule: Rule
    where: Where
    keyword: str | None


@dataclass(frozen=True, slots=True)
class RuleTable:
    """A deployment's rules, highest priority first."""

    rules: tuple[Rule, ...] = ()

    def match(self, question: str, fields: Mapping[str, str]) -> tuple[Match, ...]:
        """What applies to ``question`` on an index with ``fields``, best first; the default rule comes alone.

        A rule that the index cannot meet is passed over: it would silently find nothing.
        """
        words = read_words(question)
        able = [(rule, where) for rule in self.rules if (where := rule.on(fields))]
        found = tuple(Match(rule, where, keyword) for rule, where in able if (keyword := rule.keyword_in(words)))
        return found or tuple(Match(rule, where, None) for rule, where in able if not rule.keywords)[:1]


def unite(matches: Sequence[Match]) -> Where:
    """The parts of all ``matches`` (at least one) as one Chroma ``where``."""
    return matches[0].where if len(matches) == 1 else {"$or": [match.where for match in matches]}


def parse_rules(text: str) -> RuleTable:
    """The table of a JSON list of rules.

    Raises:
        ConfigurationError: it is something else; the message names the rule.
    """
    try:
        rules = TypeAdapter(list[Rule]).validate_json(text)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        place = f"rule {int(first['loc'][0]) + 1}, {first['loc'][-1]}" if first["loc"] else "a JSON list of rules"
        raise ConfigurationError(f"The filter rules file, {place}: {first['msg']}") from exc
    return RuleTable(tuple(sorted(rules, key=lambda rule: -rule.priority)))


def _in_words(field: str, wanted: object) -> str:
    if isinstance(wanted, dict):
        ((sign, value),) = wanted.items()
        return f"{field} {_SIGNS[sign]} {value}"
    return f"{field} in {', '.join(map(str, wanted))}" if isinstance(wanted, list) else f"{field} = {wanted}"


def _holds(words: tuple[str, ...], phrase: tuple[str, ...]) -> bool:
    *firsts, last = phrase
    lasts = {last, f"{last}s", f"{last}es", *([f"{last[:-1]}ies"] if last.endswith("y") else [])}
    length = len(phrase)
    return any(
        words[i + length - 1] in lasts and words[i : i + length - 1] == tuple(firsts)
        for i in range(len(words) - length + 1)
    )


FILTER_WEIGHT = 0.1
"""Of a view within a detected filter, beside the question's own 1."""


@dataclass(frozen=True, slots=True)
class RuleFilter:
    """Adds the filter of the matching rules as a view: what is in it counts more, what is not is found all the same.

    As a ``wall`` it joins the query's ``where`` instead, and nothing outside it is found (GaCounts' seed). ``fields``
    gives the index's metadata fields and their types; an index that does not know them gets no rule. ``table`` gives
    the current rules.
    """

    table: Callable[[], RuleTable]
    fields: Callable[[], Mapping[str, str]]
    weight: float = FILTER_WEIGHT
    wall: bool = False

    def __call__(self, query: SearchQuery, question: Question) -> SearchQuery:
        """``query`` with the detected filter, if a rule applies to its (rewritten) text.

        Raises:
            IndexUnavailable: there is no usable index.
        """
        table = self.table()
        matched = table.match(query.text, self.fields()) if table.rules else ()
        if not matched:
            return query
        named = [f"{f'the word {match.keyword!r}' if match.keyword else 'default'}: {match.rule}" for match in matched]
        trail = (*query.trail, f"{'filtered' if self.wall else 'prefers,'} by {', or by '.join(named)}")
        where = unite(matched)
        if self.wall:
            return replace(query, where=both(query.where, where), trail=trail)
        return replace(query, views=(*query.views, View(query.text, self.weight, where)), trail=trail)
