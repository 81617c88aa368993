"""Where a text's ticks make code in every reading of Markdown, and where only in some.

Renderers differ in what takes a tick before code does: an address, a cell of a table, a formula, a line that begins a
block. Where all ticks of a paragraph have a partner and nothing of that is around, code is code to everybody.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

TICKS = re.compile(r"`+")
_LEADS = re.compile(r"\]\(|\]:|<[a-z/!?]|//|www\.|@", re.IGNORECASE)
"""What could lead somewhere if it were no code."""
_BEGINS_BLOCK = re.compile(r"\n[ \t>]*(?:[^\s>\w(\"'`]|```|\d+[.)])")
_BORDER = re.compile(r"(?<!\\)\|")
_TABLE = re.compile(r"^[ \t>]*[|:-][ \t|:-]*$", re.MULTILINE)
_CLOSES_LABEL = re.compile(r"[^\[]*\]\(")
_LINE = re.compile(r"\n[ \t>]*")


def tangled(lines: Sequence[str], blocks: set[int], codes: Mapping[int, Sequence[str]]) -> Iterator[tuple[int, int]]:
    """The stretches of ``lines``, first and behind the last, of which not everybody takes the same for code.

    Only stretches whose code would lead somewhere if it were none. ``blocks`` are the lines that are code as a whole;
    ``codes`` says what else is code, by the first line of the paragraph that it is in.
    """
    first = 0
    for number in range(len(lines) + 1):
        if number < len(lines) and lines[number].strip(" \t") and number not in blocks:
            continue
        found = [code.replace(r"\|", "|") for row in range(first, number) for code in codes.get(row, ())]
        if any(map(_LEADS.search, found)) and paired("\n".join(lines[first:number])) != found:
            yield first, number
        first = number + 1


def paired(text: str) -> list[str] | None:
    """What stands between the ticks of ``text`` if each has a partner and nothing but ticks tells so, else None."""
    runs = list(TICKS.finditer(text))
    table, dollar = _TABLE.search(text), text.rfind("$")
    found: list[str] = []
    at = end = 0
    while at < len(runs):
        opens = runs[at]
        at = next((i for i in range(at + 1, len(runs)) if runs[i][0] == opens[0]), -1)
        code = text[opens.end() : runs[at].start()]
        before = text[end : opens.start()]
        taken = before.endswith("\\") or ("$" in before and dollar > opens.start())  # formulas begin with a dollar
        taken = taken or ("[" in before and _CLOSES_LABEL.match(code) is not None)
        if at < 0 or taken or _BEGINS_BLOCK.search(code) or (table and _BORDER.search(code)):
            return None
        code = _LINE.sub(" ", code).replace(r"\|", "|")
        found.append(code[1:-1] if code[0] == code[-1] == " " and code.strip() else code)
        at, end = at + 1, runs[at].end()
    return found
