"""The mutants of a source: copies with one operator swapped, one entry dropped or one statement removed."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PAIRS: tuple[tuple[Any, Any], ...] = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot)),
    *((ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.BitOr, ast.BitAnd), (ast.Or, ast.And)),
)
OTHER = {**dict(PAIRS), **{second: first for first, second in PAIRS}}
# By kind of expression the fields that hold its entries. A test of "this counts too" is there for one entry.
LISTED = dict.fromkeys((ast.Tuple, ast.List, ast.Set), ("elts",))
ENTRIES: dict[type, tuple[str, ...]] = {ast.Dict: ("keys", "values"), ast.Call: ("keywords",), **LISTED}


@dataclass(frozen=True)
class Mutant:
    """A change of the lines ``first`` to ``last``; ``source`` is the whole changed module."""

    first: int
    last: int
    change: str
    source: str


def swap(node: ast.AST) -> str | None:
    """Return the source of ``node`` with its operator, branches or value changed."""
    new: Any = copy.deepcopy(node)
    match node:
        case ast.Compare(ops=[one]) if type(one) in OTHER:
            new.ops = [OTHER[type(one)]()]
        case ast.BoolOp() | ast.BinOp() if type(node.op) in OTHER:
            new.op = OTHER[type(node.op)]()
        case ast.UnaryOp(op=ast.Not()):
            new = node.operand
        case ast.IfExp():
            new.body, new.orelse = node.orelse, node.body
        case ast.Constant(value=bool() | int() | float() as value):
            return str(not value if isinstance(value, bool) else value + 1)
        case ast.Constant(value=str(value)) if re.search(r"\d", value) and len(value) < 60:
            return repr(re.sub(r"\d+", lambda number: str(int(number[0]) + 1), value, count=1))
        case _:
            return None
    return f"({ast.unparse(new)})"


def drop_each(node: ast.AST) -> Iterator[str]:
    """Yield the source of ``node`` without one of its entries, for each entry."""
    fields = () if isinstance(getattr(node, "ctx", None), ast.Store) else ENTRIES.get(type(node), ())
    count = len(getattr(node, fields[0])) if fields else 0
    for place in range(count if count > 1 else 0):
        new = copy.deepcopy(node)
        for name in fields:
            getattr(new, name).pop(place)
        yield f"({ast.unparse(new)})"


def find_fixed(tree: ast.AST) -> set[int]:
    """Return the ids of the nodes that stay: annotations and docstrings, but not the bounds of a ``Field(ge=1)``."""
    fixed: set[int] = set()
    for node in ast.walk(tree):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            fixed |= {id(one) for one in ast.walk(part)} if part else set()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            fixed.add(id(node.value))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return fixed - {id(one) for call in calls for keyword in call.keywords for one in ast.walk(keyword.value)}


def find_mutants(source: str) -> Iterator[Mutant]:
    """Yield each mutant of ``source``."""
    tree, lines = ast.parse(source), source.encode().splitlines(keepends=True)
    fixed = find_fixed(tree)
    for node in ast.walk(tree):
        place: Any = node
        news = [] if id(node) in fixed else [swap(node), *drop_each(node)]
        match node:
            case ast.If():
                place, news = node.test, [f"not ({ast.unparse(node.test)})"]
            case ast.Return(value=ast.AST() as value) if ast.unparse(value) != "None":
                place, news = value, ["None"]
            case ast.Expr(value=ast.Call()):
                news = [*news, "pass"]
        for new in filter(None, news):
            before = (*lines[: place.lineno - 1], lines[place.lineno - 1][: place.col_offset])
            after = (lines[place.end_lineno - 1][place.end_col_offset :], *lines[place.end_lineno :])
            changed = b"".join((*before, new.encode(), *after)).decode()
            yield Mutant(place.lineno, place.end_lineno, f"{type(node).__name__} -> {new[:60]}", changed)
