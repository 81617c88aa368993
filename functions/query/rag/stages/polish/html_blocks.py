"""Pieces of Markdown: what each HTML element becomes."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TICKS = re.compile("`+")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_LINK_SCHEMES = ("http:", "https:", "mailto:", "tel:")
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang)-([\w+#.-]{1,30})")
_BARE_PIPE = re.compile(r"(?<!\\)\|")
_BARE_BRACKET = re.compile(r"(?<!\\)[\[\]]")
_TARGET = {ord(char): f"%{ord(char):02X}" for char in " ()<>\"'\\`|"}
_RAISED = str.maketrans("0123456789+-=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ")
_LOWERED = str.maketrans("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎")


def one_line(text: str) -> str:
    """``text`` with each run of white space as one blank."""
    return " ".join(text.split())


def emphasis(held: str, mark: str) -> str:
    """``held`` between marks, white space outside; as it is when it is empty, marked already or several paragraphs."""
    inner = held.strip()
    marked = inner.startswith(mark) and not (mark == "*" and inner.startswith("**") and not inner.startswith("***"))
    if not inner or marked or "\n\n" in inner:
        return held
    start = held.index(inner)
    return f"{held[:start]}{mark}{inner}{mark}{held[start + len(inner) :]}"


def code_span(held: str, taken: set[int]) -> str:
    """``held`` as inline code, its ticks of a length that neither it nor the text around it (``taken``) has."""
    inner = one_line(held)
    runs = taken | {len(run) for run in _TICKS.findall(inner)}
    ticks = "`" * next(length for length in range(1, len(runs) + 2) if length not in runs)
    pad = " " if inner.startswith("`") or inner.endswith("`") else ""
    return f"{ticks}{pad}{inner}{pad}{ticks}" if inner else ""


def fence(held: str, language: str) -> list[str]:
    """The lines of ``held`` as a fenced code block."""
    ticks = "`" * max([3, *(len(run) + 1 for run in _TICKS.findall(held))])
    return [f"{ticks}{language}", *held.strip("\n").rstrip().split("\n"), ticks] if held.strip() else []


def language(classes: str) -> str:
    """The language that a ``class`` attribute names (``language-python``), or ``""``."""
    match = _LANGUAGE.search(classes)
    return match[1] if match else ""


def link(held: str, target: str) -> str:
    """``[text](target)``; the text alone where the target is missing or could run something (``javascript:``)."""
    text = one_line(held)
    target = "".join(char for char in target if char.isprintable())
    scheme = _SCHEME.match(target)
    if not target or target.startswith("//") or (scheme and not target.lower().startswith(_LINK_SCHEMES)):
        return held
    if text in {"", target}:
        return target.translate(_TARGET)
    label = _BARE_BRACKET.sub(lambda match: f"\\{match[0]}", text)
    start = " " if held[:1].isspace() else ""
    end = " " if held[-1:].isspace() else ""
    return f"{start}[{label}]({target.translate(_TARGET)}){end}"


def raised(held: str) -> str:
    """A superscript: 10 to the 6 must not become 106."""
    text = held.translate(_RAISED)
    return text if not held.strip() or text != held else f"^{held}"


def lowered(held: str) -> str:
    """A subscript."""
    return held.translate(_LOWERED)


def heading(held: str, level: int) -> str:
    """A heading on one line."""
    text = one_line(held)
    return f"{'#' * level} {text}" if text else ""


def quote(held: str) -> str:
    """A block quotation."""
    text = re.sub(r"\n(?:[ \t]*\n)+", "\n\n", held.strip())
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n")) if text else ""


def listing(items: Sequence[str], start: str | None) -> str:
    """A list, numbered from ``start`` (1 where that is no number) or, with None, with bullets."""
    number = int(start) if start and start.isascii() and start.isdigit() and len(start) < 6 else 1
    lines = []
    for i, item in enumerate(items):
        marker = "- " if start is None else f"{number + i}. "
        first, *others = re.sub(r"\n(?:[ \t]*\n)+", "\n\n", item.strip()).split("\n")
        lines += [marker + first, *(" " * len(marker) + line if line.strip() else "" for line in others)]
    return "\n".join(lines)


def in_cell(code: str) -> str:
    """``code`` for a pipe table's cell; a fenced block, which no cell can hold, as it is."""
    return code if "\n" in code else _BARE_PIPE.sub(r"\\|", code)


def table(rows: Sequence[Sequence[str]]) -> str:
    """A pipe table; its first row is the heading."""
    cells = [[_BARE_PIPE.sub(r"\\|", one_line(cell)) for cell in row] for row in rows if row]
    if not cells:
        return ""
    width = max(map(len, cells))
    lines = [f"| {' | '.join((*row, *[''] * (width - len(row))))} |" for row in cells]
    return "\n".join((lines[0], f"|{' --- |' * width}", *lines[1:]))
