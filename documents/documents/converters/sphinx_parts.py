"""Which lines of a file ``include`` and ``literalinclude`` show."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping


def part(text: str, options: Mapping[str, str]) -> str:
    """The lines of ``text`` that the ``options`` of the directive ask for; all where they make no sense."""
    lines = text.split("\n")
    if name := options.get("pyobject"):
        lines = _of_object(text, name)
    if numbers := options.get("lines"):
        lines = [lines[number] for number in _numbers(numbers, len(lines))]
    lines = lines[slice(*(_number(options.get(name)) for name in ("start-line", "end-line")))]
    first = _found(lines, options.get("start-after"), 1) or _found(lines, options.get("start-at"), 0) or 0
    lines = lines[first:]
    last = _found(lines, options.get("end-before"), 0) or _found(lines, options.get("end-at"), 1)
    lines = lines[:last]
    return textwrap.dedent("\n".join(lines)) if "dedent" in options else "\n".join(lines)


def _found(lines: list[str], wanted: str | None, beyond: int) -> int | None:
    """Where the first line with ``wanted`` in it is, or the one ``beyond`` it."""
    if not wanted:
        return None
    return next((at + beyond for at, line in enumerate(lines) if wanted in line), None)


def _number(text: str | None) -> int | None:
    try:
        return int(text or "")
    except ValueError:
        return None


def _numbers(text: str, count: int) -> Iterator[int]:
    for run in text.split(","):
        first, dash, last = run.strip().partition("-")
        start = _number(first) or 1
        end = (_number(last) or count) if dash else start
        yield from range(start - 1, min(end, count))


def _of_object(text: str, name: str) -> list[str]:
    """The lines of the Python class or function ``name`` (``Class.method``)."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text.split("\n")
    found: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | None = None
    for wanted in name.split("."):
        kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        found = next((node for node in body if isinstance(node, kinds) and node.name == wanted), None)
        if found is None:
            return text.split("\n")
        body = found.body
    first = min([found.lineno, *(mark.lineno for mark in found.decorator_list)]) if found else 1
    return text.split("\n")[first - 1 : found.end_lineno if found else None]
