"""Blocks with a name around Markdown: their titles stay in bold, and what is in them without its indentation.

``!!! note``, ``??? note``, ``=== "Tab"`` (MkDocs, text indented), ``/// tip`` (MkDocs), ``:::tip`` (Docusaurus,
VitePress), ``::name`` (Nuxt's MDC, with slots and YAML), ``> [!tip]`` (GitHub, Obsidian), ``<Tabs>`` and other tags
alone on a line (MDX, HTML).
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

from documents.markup.code import code_lines
from documents.markup.mdc import slots_named, yaml_block
from documents.markup.names import ADMONITIONS, NO_CONTAINERS
from documents.markup.props import head, parameters, shown

MAX_DEPTH = 12
"""Blocks in blocks that are taken apart: Nuxt's site has 6. Deeper ones stay as they are."""

_FENCE = re.compile(r"[\s>]*(?:[-*+][ \t]+|\d+[.)][ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d+[.)])[ \t]")
_LOOK_BACK_LINES = 100
_INDENTED = re.compile(r"(?P<indent>[ \t]*)(?P<mark>!!!|\?\?\?\+?|===[!+]?)[ \t]+(?P<rest>\S.*)$")
_COLONS = re.compile(r"[ \t]*(?P<mark>:{2,})[ \t]*\{?(?P<name>[A-Za-z][\w-]*)\}?(?P<rest>.*)$")  # MyST: :::{note}
_SLASHES = re.compile(r"[ \t]*(?P<mark>/{3,})[ \t]+(?P<name>[A-Za-z][\w-]*)(?P<rest>.*)$")
_CALLOUT = re.compile(r"[ \t]*>[ \t]*\[!(?P<kind>[\w -]+)(?:\|[^\]\n]*)?\][+-]?[ \t]*(?P<title>.*)$")
_QUOTE_MARK = re.compile(r"[ \t]*>[ \t]?")
_CLOSER = re.compile(r"[ \t]*(:{2,}|/{3,})[ \t]*$")
_TAG = re.compile(r"[ \t]*<(?P<close>/?)(?P<name>[A-Za-z][\w.-]*)(?P<rest>[^<>]*)>[ \t]*$")
_LABEL = re.compile(r"\[(?P<label>[^\]]*)\]")
_PROPS = re.compile(r"\{(?P<props>.*)\}[ \t]*$")
_QUOTED = re.compile(r'"(?P<title>[^"]*)"')


@dataclass(frozen=True, slots=True)
class _Block:
    """A block from line ``first`` up to the line before ``end``; what is in it is from ``inner`` to ``inner_end``."""

    first: int
    inner: int
    inner_end: int
    end: int
    title: str = ""
    named: bool = False
    tags: bool = False
    quoted: bool = False


def without_containers(text: str, *, mdx: bool = False, depth: int = MAX_DEPTH) -> str:
    """``text`` with what is in such blocks as Markdown of the level around them."""
    lines = text.split("\n")
    blocks = _blocks(lines, set() if mdx else code_lines(text))
    out: list[str] = []
    done = 0
    for block in blocks:
        if block.first < done:
            continue
        out += lines[done : block.first]
        out += _opened(lines, block, mdx, depth)
        done = block.end
    return "\n".join([*out, *lines[done:]])


def _opened(lines: list[str], block: _Block, mdx: bool, depth: int) -> list[str]:
    within = lines[block.inner : block.inner_end]
    within = [_QUOTE_MARK.sub("", line, count=1) for line in within] if block.quoted else within
    inner = textwrap.dedent("\n".join(within))
    indent = _list_indent(lines, block.first)
    title = _title(lines[block.first]) if block.named else block.title
    if block.named and lines[block.first].lstrip().startswith(":"):
        inner, more = yaml_block(inner)
        title = "\n\n".join(part for part in (title, more) if part)
        inner = slots_named(inner)
    if depth and block.inner < block.inner_end:
        inner = without_containers(inner, mdx=mdx, depth=depth - 1)
    if block.tags:
        first, last = lines[block.first].strip(), lines[block.end - 1].strip()
        return _indented_lines(["", first, "", inner.strip("\n"), "", last, ""], indent)
    if not (inner.strip() or block.named or block.quoted):
        return []  # a label of nothing
    return _indented_lines(["", title, "", inner.strip("\n"), ""] if title else ["", inner.strip("\n"), ""], indent)


def _indented_lines(parts: list[str], indent: str) -> list[str]:
    return [textwrap.indent(part, indent) for part in parts]


def _list_indent(lines: list[str], number: int) -> str:
    """The blanks before line ``number`` if it belongs to an item of a list, else none."""
    width = len(lines[number]) - len(lines[number].lstrip())
    for line in reversed(lines[max(number - _LOOK_BACK_LINES, 0) : number] if width else []):
        if line.strip() and len(line) - len(line.lstrip()) < width:
            return " " * width if _ITEM.match(line) else ""
    return ""


def _blocks(lines: list[str], code: set[int]) -> list[_Block]:
    """All blocks, those in others with them, by their first line; ``code``: lines that begin none."""
    found: list[_Block] = []
    waiting: dict[str, list[int]] = {}
    fence = ""
    for number, line in enumerate(lines):
        if fence:
            fence = "" if line.strip(" \t>").startswith(fence) and not line.strip(" \t>`~") else fence
        elif opening := _FENCE.match(line):
            fence = opening[1]
        elif number in code and not waiting:
            continue
        elif match := _INDENTED.match(line):
            found.append(_indented(lines, number, match))
        elif match := _CALLOUT.match(line):
            found.append(_callout(lines, number, match))
        else:
            _paired(lines, number, waiting, found)
    found += (_Block(n, n + 1, n + 1, n + 1) for key, left in waiting.items() for n in left if key[0] in ":/")
    return sorted(found, key=lambda block: block.first)


def _paired(lines: list[str], number: int, waiting: dict[str, list[int]], found: list[_Block]) -> None:
    """Note what ``lines[number]`` opens, or the block that it closes."""
    line = lines[number]
    if closer := _CLOSER.match(line):
        if waiting.get(closer[1]):
            first = waiting[closer[1]].pop()
            found.append(_Block(first, first + 1, number, number + 1, named=True))
        else:
            found.append(_Block(number, number + 1, number + 1, number + 1))
    elif match := _COLONS.match(line) or _SLASHES.match(line):
        waiting.setdefault(match["mark"], []).append(number)
    elif (match := _TAG.match(line)) and match["name"].lower() not in NO_CONTAINERS and match["rest"][-1:] != "/":
        if not match["close"]:
            waiting.setdefault(match["name"], []).append(number)
        elif waiting.get(match["name"]):
            first = waiting[match["name"]].pop()
            found.append(_Block(first, first + 1, number, number + 1, tags=True))


def _indented(lines: list[str], number: int, match: re.Match[str]) -> _Block:
    width = len(match["indent"].expandtabs(4))
    end = number + 1
    for at in range(number + 1, len(lines)):
        if lines[at].strip():
            expanded = lines[at].expandtabs(4)
            if len(expanded) - len(expanded.lstrip()) < width + 2:
                break
            end = at + 1
    quoted = _QUOTED.search(match["rest"])
    kind = match["rest"].split()[0].strip('"')
    label = quoted["title"] if quoted else (kind.capitalize() if kind in ADMONITIONS else "")
    title = f"**{label}**" if label.strip() else ""
    return _Block(number, number + 1, end, end, title)


def _callout(lines: list[str], number: int, match: re.Match[str]) -> _Block:
    end = next((n for n in range(number + 1, len(lines)) if not _QUOTE_MARK.match(lines[n])), len(lines))
    words = match["title"].strip() or match["kind"].strip().capitalize()
    return _Block(number, number + 1, end, end, words if "**" in words else f"**{words}**", quoted=True)


def _title(line: str) -> str:
    """The words that the first line of a block shows, as Markdown."""
    opener = _COLONS.match(line) or _SLASHES.match(line)
    if opener is None:
        return ""
    rest = opener["rest"]
    props = _PROPS.search(rest)
    named = parameters(props["props"])[0] if props else {}
    rest = rest[: props.start()] if props else rest
    label = _LABEL.search(rest)
    words = label["label"] if label else rest.replace("|", " ").strip(" \t\"'")
    if words or head(named):
        return "\n\n".join(part for part in (f"**{words}**" if words else "", shown(named)) if part)
    kind = opener["name"].lower()
    return shown(named) or (f"**{kind.capitalize()}**" if kind in ADMONITIONS and len(opener["mark"]) > 2 else "")
