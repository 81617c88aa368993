"""Nunjucks' and Jinja's calls of macros on lines of their own (``{{ example({...}) }}``): their texts stay.

Design systems show components so. Their texts stand under names such as ``text`` and ``html``; what stands in a list
beside others is a row of a table.
"""

from __future__ import annotations

import re

from documents.markup.edits import Edit, edited
from documents.markup.props import HEADS, TEXTS, unquoted

MAX_CHARS = 50_000
"""Characters of a call that is looked through; a longer one stays."""

_CALL = re.compile(r"^[ \t]*\{\{[-~]?\s*[A-Za-z_][\w.]*\(", re.MULTILINE)
_END = re.compile(r"(?:\s*\|\s*[\w.]+)*\s*[-~]?\}\}[ \t]*$", re.MULTILINE)
_PART = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`[^`]*`|[()\[\]{}]|(?P<name>[\w$]+)[\"']?(?=\s*[:=][^=])")
_TAG = re.compile(r"</?(?!code\b)[a-z][^<>]*>")
_SHOWN = frozenset({*HEADS, *TEXTS, "html", "titletext", "legend"})


def without_calls(prose: str) -> str:
    """``prose``, a text without its code, with the words that such calls show."""
    edits: list[Edit] = []
    for call in _CALL.finditer(prose):
        if edits and call.start() < edits[-1].end:
            continue
        rows, close = _rows(prose, call.end())
        if close and (end := _END.match(prose, close)):
            edits.append(Edit(call.start(), end.end(), _markdown(rows)))
    return edited(prose, edits)


def _rows(text: str, start: int) -> tuple[list[tuple[str, list[str]]], int]:
    """What is said together, each with the bracket that ends it, and where the call's bracket closes (0: nowhere)."""
    rows: list[tuple[str, list[str]]] = []
    opened: list[int] = []  # how many of ``said`` there were at each bracket
    said: list[str] = []
    name = ""
    for part in _PART.finditer(text, start, min(len(text), start + MAX_CHARS)):
        mark = part[0]
        if part["name"]:
            name = part["name"].lower()
        elif mark in "([{":
            opened.append(len(said))
        elif mark in ")]}":
            if not opened:
                return ([*rows, _row(said)] if said else rows), part.end()
            before = opened.pop()
            if len(said) - before > (0 if mark == "]" else 1):
                rows += [_row(said[:before])] if before else []
                rows.append((mark, said[before:]))
                said.clear()
                opened = [0] * len(opened)
        elif name in _SHOWN:
            said += [words] if (words := unquoted(mark).strip()) else []
            name = ""
        else:
            name = ""
    return rows, 0


def _row(said: list[str]) -> tuple[str, list[str]]:
    return "}" if len(said) > 1 else "", said[:]


def _markdown(rows: list[tuple[str, list[str]]]) -> str:
    out: list[str] = []
    width = 0  # of the table that is being written
    for end, cells in rows:
        flat = [" ".join(_TAG.sub(" ", cell).split()) for cell in cells]
        if end == "]" and len(cells) > 1:
            line = "| " + " | ".join(cell.replace("|", "\\|") for cell in flat) + " |"
            out.append(line if len(cells) == width else f"\n{line}\n{'|---' * len(cells)}|")
            width = len(cells)
        else:
            out.append(f"\n- {': '.join(flat)}" if end and len(cells) > 1 else "\n" + "\n\n".join(cells))
            width = 0
    return "\n".join(["", *out, ""]) if out else ""
