"""Conditions on metadata, as requests and filter rules write them, as a Chroma ``where``."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeGuard

from knowledge.engines.metadata import FIELD_TYPES
from knowledge.model.values import Where
from rag.errors import InvalidParameter
from rag.text.surrogates import replace_surrogates
from rag.values.question import Question, SearchQuery

OPERATORS = ("$gte", "$lte", "$gt", "$lt", "$ne")
_ORDERED = {"$gte", "$lte", "$gt", "$lt"}
_WIDE = {"float", "mixed"}
"""Fields that may hold whole numbers and fractions."""

_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gte": operator.ge,
    "$gt": operator.gt,
    "$lte": operator.le,
    "$lt": operator.lt,
}
_INT64 = 2**63
_FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_.\- ]{0,63}")
_ACCEPTED = "a scalar, a non-empty list of scalars of one type, or one of " + ", ".join(OPERATORS) + " with a scalar"


def build_where(conditions: Mapping[str, object], fields: Mapping[str, str]) -> Where | None:
    """``conditions`` and-ed: field to a scalar, a list of scalars, or one comparison; None where there are none.

    ``fields`` are the index's metadata fields and their types ("str", "int", "float", "bool", "mixed"), empty when the
    index does not know them.

    Raises:
        InvalidParameter: an unknown field, or a condition that the field's type cannot meet.
    """
    clauses: list[Where | None] = [_clause(name, wanted, fields) for name, wanted in conditions.items()]
    return reduce(both, clauses, None)


def both(where: Where | None, other: Where | None) -> Where | None:
    """``where`` and ``other``, and-ed as Chroma takes it; None when there is neither."""
    clauses = [clause for given in (where, other) if given for clause in _clauses(given)]
    if len(clauses) > 1:
        return {"$and": clauses}
    return clauses[0] if clauses else None


def _clauses(where: Where) -> list[Where]:
    parts = where.get("$and")
    return list(parts) if isinstance(parts, list) and len(where) == 1 else [where]


def _clause(name: str, wanted: object, known: Mapping[str, str]) -> Where:
    if not _FIELD.fullmatch(name):
        raise InvalidParameter(
            "filters: a field name starts with a letter and holds letters, digits, '_', '-', '.' or spaces"
        )
    if known and name not in known:
        raise InvalidParameter(f"filters: unknown field {name!r}; this index knows: {', '.join(sorted(known))}")
    kind = known.get(name, "")
    if isinstance(wanted, Mapping):
        return _by_operator(name, wanted, kind)
    if isinstance(wanted, list):
        values = [_scalar(name, value, kind) for value in wanted]
        if not values or len({type(value) for value in values}) != 1:
            raise InvalidParameter(f"filters.{name} must be {_ACCEPTED}")
        return _among(name, values, kind)
    return _compared(name, "$eq", _scalar(name, wanted, kind), kind)


def _by_operator(name: str, wanted: Mapping[str, Any], kind: str) -> Where:
    if len(wanted) != 1 or next(iter(wanted)) not in OPERATORS:
        raise InvalidParameter(f"filters.{name} must be {_ACCEPTED}")
    sign, value = next(iter(wanted.items()))
    if sign in _ORDERED and (not _is_number(value) or kind in {"str", "bool"}):
        raise InvalidParameter(f"filters.{name}: {sign} compares numbers" + _holds(kind))
    if sign in _ORDERED and kind == "int" and _is_fraction(value):
        # Chroma cuts the fraction off before it compares with whole numbers: 7 would be $gte 7.5.
        value = math.ceil(value) if sign in {"$gte", "$lt"} else math.floor(value)
    return _compared(name, sign, _scalar(name, value, kind), kind)


def _compared(name: str, sign: str, value: str | float, kind: str) -> Where:
    """``sign`` (with ``$eq``) and ``value`` as in arithmetic, for a field that may hold whole numbers and fractions.

    Chroma 1.5.9 cuts a fraction off before it compares with a whole number, so that it takes 5 for 5.2 and -5 for
    -5.2. That one number is then judged wrongly by half of the operators: it is named, as the whole number it is.
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


def _among(name: str, values: Sequence[str | float], kind: str) -> Where:
    """Any of ``values``, but not the whole numbers that Chroma takes for one of them (see ``_compared``)."""
    clause = {name: {"$in": list(values)}}
    cut = {math.trunc(value) for value in values if _is_fraction(value)} - set(values)
    return {"$and": [clause, {name: {"$nin": sorted(cut)}}]} if cut and kind in _WIDE else clause


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
        raise InvalidParameter(f"filters.{name} has a value of the wrong type" + _holds(kind))
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
    """Whether ``value`` lies between two whole numbers."""
    return isinstance(value, float) and math.isfinite(value) and not value.is_integer()


def _holds(kind: str) -> str:
    words = {"str": "text", "bool": "true or false", "int": "whole numbers", "float": "numbers"}
    return f"; the field holds {words[kind]}" if kind in words else ""


@dataclass(frozen=True, slots=True)
class RequestFilter:
    """And-s the request's filters into the query.

    ``fields`` gives the index's metadata fields and their types ("str", "int", "float", "bool", "mixed"),
    empty when the index does not know them. The fourteen fields of a chunk are known even where no document has a
    value: such a filter finds nothing.
    """

    fields: Callable[[], Mapping[str, str]]

    def __call__(self, query: SearchQuery, question: Question) -> SearchQuery:
        """``query`` with the request's filters.

        Raises:
            InvalidParameter: an unknown field, or a condition that the field's type cannot meet.
            IndexUnavailable: there is no usable index.
        """
        if not question.filters:
            return query
        fields = self.fields()
        known = {**FIELD_TYPES, **fields} if fields else {}
        where = both(build_where(question.filters, known), query.where)
        trail = f"filtered by the request's own filters: {', '.join(question.filters)}"
        return replace(query, where=where, trail=(*query.trail, trail))
