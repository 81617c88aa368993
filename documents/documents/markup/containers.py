"""Named blocks around Markdown: their titles stay in bold, their content loses its indentation.

``!!! note``, ``??? note``, ``=== "Tab"`` (MkDocs, text indented), ``/// tip`` (MkDocs), ``:::tip`` (Docusaurus,
VitePress), ``::name`` (Nuxt's MDC, with slots and YAML), ``> [!tip]`` (GitHub, Obsidian), ``<Tabs>`` and other tags
alone on a line (MDX, HTML).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from documents import yaml
from documents.markup.code import HiddenCode, code_lines
from documents.markup.tags import parse_parameters, visible_title, visible_words

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
_TAB = re.compile(r"[ \t]*(?:[:/]+[ \t]*\{?|<(?:\w+\.)?)tab(?:-?item)?\b", re.IGNORECASE)
_LABEL = re.compile(r"\[(?P<label>[^\]]*)\]")
_PROPS = re.compile(r"\{(?P<props>.*)\}[ \t]*$")
_QUOTED = re.compile(r'"(?P<title>[^"]*)"')

_LEFT_WHOLE = """
    p li ul ol dl dt dd table thead tbody tfoot tr td th pre script style svg br img hr input link meta source colgroup
    col option select textarea code video audio iframe picture math
"""
_TYPES = """
    note tip info warning danger caution important success failure bug example quote question abstract summary todo hint
    attention error check seealso
"""

_NO_CONTAINERS = frozenset(_LEFT_WHOLE.split())
"""Elements that hold no separately indented Markdown."""

_ADMONITIONS = frozenset(_TYPES.split())
"""Names that readers see as a block's title where it has no other: MkDocs, Docusaurus and VitePress print them."""


@dataclass(frozen=True, slots=True)
class _Block:
    """A block from line ``first`` to the line before ``end``; its content is from ``inner`` to ``inner_end``."""

    first: int
    inner: int
    inner_end: int
    end: int
    title: str = ""
    named: bool = False
    tags: bool = False
    quoted: bool = False


def unwrap_containers(text: str, *, mdx: bool = False, depth: int = MAX_DEPTH) -> str:
    """Replace named blocks by their title and content, as Markdown of the level around them."""
    lines = text.split("\n")
    blocks = _find_blocks(lines, set() if mdx else code_lines(text))
    out: list[str] = []
    done = 0
    for block in blocks:
        if block.first < done:
            continue
        out += lines[done : block.first]
        out += _unwrap(lines, block, mdx, depth)
        done = block.end
    return "\n".join([*out, *lines[done:]])


def _unwrap(lines: list[str], block: _Block, mdx: bool, depth: int) -> list[str]:
    within = lines[block.inner : block.inner_end]
    within = [_QUOTE_MARK.sub("", line, count=1) for line in within] if block.quoted else within
    inner = textwrap.dedent("\n".join(within))
    indent = _list_indent(lines, block.first)
    title = _title(lines[block.first]) if block.named else block.title
    if block.named and lines[block.first].lstrip().startswith(":"):
        inner, more = _split_yaml(inner)
        title = "\n\n".join(part for part in (title, more) if part)
        inner = _drop_slot_names(inner)
    if depth and block.inner < block.inner_end:
        inner = unwrap_containers(inner, mdx=mdx, depth=depth - 1)
    if not (inner.strip() or _has_words(block, lines[block.first])):
        return []
    if block.tags:
        first, last = lines[block.first].strip(), lines[block.end - 1].strip()
        return _indent_lines(["", first, "", inner.strip("\n"), "", last, ""], indent)
    return _indent_lines(["", title, "", inner.strip("\n"), ""] if title else ["", inner.strip("\n"), ""], indent)


def _has_words(block: _Block, opener: str) -> bool:
    """Return whether a block without content shows its title; a tab of nothing, whose code was not found, does not."""
    return block.quoted or ((block.named or block.tags) and not _TAB.match(opener))


def _indent_lines(parts: list[str], indent: str) -> list[str]:
    return [textwrap.indent(part, indent) for part in parts]


def _list_indent(lines: list[str], number: int) -> str:
    """Return the blanks before line ``number`` if it belongs to a list item, else ``""``."""
    width = len(lines[number]) - len(lines[number].lstrip())
    for line in reversed(lines[max(number - _LOOK_BACK_LINES, 0) : number] if width else []):
        if line.strip() and len(line) - len(line.lstrip()) < width:
            return " " * width if _ITEM.match(line) else ""
    return ""


def _find_blocks(lines: list[str], code: set[int]) -> list[_Block]:
    """Return all blocks, nested ones too, by first line. Lines of ``code`` begin no block."""
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
            found.append(_indented_block(lines, number, match))
        elif match := _CALLOUT.match(line):
            found.append(_callout_block(lines, number, match))
        else:
            _note_pair(lines, number, waiting, found)
    found += (_Block(n, n + 1, n + 1, n + 1) for key, left in waiting.items() for n in left if key[0] in ":/")
    return sorted(found, key=lambda block: block.first)


def _note_pair(lines: list[str], number: int, waiting: dict[str, list[int]], found: list[_Block]) -> None:
    """Note the block that line ``number`` opens, or add the block that it closes."""
    line = lines[number]
    if closer := _CLOSER.match(line):
        if waiting.get(closer[1]):
            first = waiting[closer[1]].pop()
            found.append(_Block(first, first + 1, number, number + 1, named=True))
        else:
            found.append(_Block(number, number + 1, number + 1, number + 1))
    elif match := _COLONS.match(line) or _SLASHES.match(line):
        waiting.setdefault(match["mark"], []).append(number)
    elif (match := _TAG.match(line)) and match["name"].lower() not in _NO_CONTAINERS and match["rest"][-1:] != "/":
        if not match["close"]:
            waiting.setdefault(match["name"], []).append(number)
        elif waiting.get(match["name"]):
            first = waiting[match["name"]].pop()
            found.append(_Block(first, first + 1, number, number + 1, tags=True))


def _indented_block(lines: list[str], number: int, match: re.Match[str]) -> _Block:
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
    label = quoted["title"] if quoted else (kind.capitalize() if kind in _ADMONITIONS else "")
    title = f"**{label}**" if label.strip() else ""
    return _Block(number, number + 1, end, end, title)


def _callout_block(lines: list[str], number: int, match: re.Match[str]) -> _Block:
    end = next((n for n in range(number + 1, len(lines)) if not _QUOTE_MARK.match(lines[n])), len(lines))
    words = match["title"].strip() or match["kind"].strip().capitalize()
    return _Block(number, number + 1, end, end, words if "**" in words else f"**{words}**", quoted=True)


def _title(line: str) -> str:
    """Return the visible words of a block's first line, as Markdown."""
    opener = _COLONS.match(line) or _SLASHES.match(line)
    if opener is None:
        return ""
    rest = opener["rest"]
    props = _PROPS.search(rest)
    named = parse_parameters(props["props"])[0] if props else {}
    rest = rest[: props.start()] if props else rest
    label = _LABEL.search(rest)
    words = label["label"] if label else rest.replace("|", " ").strip(" \t\"'")
    if words or visible_title(named):
        return "\n\n".join(part for part in (f"**{words}**" if words else "", visible_words(named)) if part)
    kind = opener["name"].lower()
    return visible_words(named) or (
        f"**{kind.capitalize()}**" if kind in _ADMONITIONS and len(opener["mark"]) > 2 else ""
    )


_YAML = re.compile(r"\A\s*---[ \t]*\n(?P<yaml>.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_SLOT = re.compile(r"^#[a-z][\w-]*(?:\{[^}\n]*\})?[ \t]*$", re.MULTILINE)  # 27 lines in docs_nuxt_content
_MAX_YAML_CHARS = 20_000


def _split_yaml(inner: str) -> tuple[str, str]:
    """Split a block into its content and the visible words of the YAML at its beginning."""
    match = _YAML.match(inner)
    if match is None:
        return inner, ""
    return inner[match.end() :], "\n\n".join(_yaml_words(match["yaml"]))


def _drop_slot_names(inner: str) -> str:
    """Remove the lines that name a slot, and keep the slots' content."""
    if _SLOT.search(inner) is None:
        return inner
    hidden = HiddenCode()
    return hidden.restore(_SLOT.sub("", hidden.hide(inner, mdx=True)))


def _yaml_words(source: str) -> Iterator[str]:
    if len(source) > _MAX_YAML_CHARS:
        return
    try:
        fields = yaml.load(source)
    except ValueError:
        return
    if isinstance(fields, Mapping):
        listed = [item for value in fields.values() if isinstance(value, list) for item in value]
        for part in (fields, *filter(lambda item: isinstance(item, Mapping), listed)):
            if words := visible_words(
                {str(name).lower(): value for name, value in part.items() if isinstance(value, str)}
            ):
                yield words
