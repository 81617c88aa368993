"""Named blocks around Markdown: their titles stay in bold, their content loses its indentation.

``!!! note``, ``??? note``, ``=== "Tab"`` (MkDocs, text indented), ``/// tip`` (MkDocs), ``:::tip`` (Docusaurus,
VitePress), ``::name`` (Nuxt's MDC, with slots and YAML), ``> [!tip]`` (GitHub, Obsidian), ``<Tabs>`` and other tags
alone on a line (MDX, HTML).
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from documents import yaml
from documents.markup.code import HiddenCode, code_lines
from documents.markup.tags import parse_parameters, visible_words

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
_YAML = re.compile(r"\A\s*---[ \t]*\n(?P<yaml>.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_MAX_YAML_CHARS = 20_000
_SLOT = re.compile(r"^#[a-z][\w-]*(?:\{[^}\n]*\})?[ \t]*$", re.MULTILINE)  # 27 lines in docs_nuxt_content
_PROPS = re.compile(r"\{(?P<props>.*)\}[ \t]*$")
_QUOTED = re.compile(r'"(?P<title>[^"]*)"')

_NO_CONTAINERS = frozenset({
    "p", "li", "ul", "ol", "dl", "dt", "dd", "table", "thead", "tbody", "tfoot", "tr", "td", "th", "pre", "script",
    "style", "svg", "br", "img", "hr", "input", "link", "meta", "source", "colgroup", "col", "option", "select",
    "textarea", "code", "video", "audio", "iframe", "picture", "math",
})  # fmt: skip
"""Elements that hold no separately indented Markdown."""

_ADMONITIONS = frozenset({
    "note", "tip", "info", "warning", "danger", "caution", "important", "success", "failure", "bug", "example", "quote",
    "question", "abstract", "summary", "todo", "hint", "attention", "error", "check", "seealso",
})  # fmt: skip
"""Names that readers see as a block's title where it has no other: MkDocs, Docusaurus and VitePress print them."""


class _Block(NamedTuple):
    """A block from line ``first`` to the line before ``end``; its content ends before ``inner_end``.

    ``kind`` is indented, quote, named or tags; ``""`` for a mark without a partner.
    """

    first: int
    inner_end: int
    end: int
    kind: str = ""
    title: str = ""


def unwrap_containers(text: str, *, mdx: bool = False, depth: int = MAX_DEPTH) -> str:
    """Replace named blocks by their title and content, as Markdown of the level around them."""
    lines = text.split("\n")
    out: list[str] = []
    done = 0
    for block in _find_blocks(lines, set() if mdx else code_lines(text)):
        if block.first >= done:
            out += [*lines[done : block.first], *_unwrap(lines, block, mdx, depth)]
            done = block.end
    return "\n".join([*out, *lines[done:]])


def _unwrap(lines: list[str], block: _Block, mdx: bool, depth: int) -> list[str]:
    opener, kind, title = lines[block.first], block.kind, block.title
    within = lines[block.first + 1 : block.inner_end]
    inner = textwrap.dedent(
        "\n".join(_QUOTE_MARK.sub("", line, count=1) if kind == "quote" else line for line in within)
    )
    if kind == "named" and opener.lstrip().startswith(":"):
        inner, words = _read_mdc(inner)
        title = "\n\n".join(filter(None, (title, *words)))
    if depth and within:
        inner = unwrap_containers(inner, mdx=mdx, depth=depth - 1)
    # A tab of nothing, whose code was not found, shows no title.
    if not inner.strip() and (kind in ("", "indented") or (kind != "quote" and _TAB.match(opener))):
        return []
    parts = ["", inner.strip("\n"), ""]
    if kind == "tags":
        parts = ["", opener.strip(), *parts, lines[block.end - 1].strip(), ""]
    elif title:
        parts = ["", title, *parts]
    indent = _list_indent(lines, block.first)
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
    waiting: dict[str, list[tuple[int, str]]] = {}  # lines and titles of the openers by mark or name
    fence, done = "", 0
    for number, line in enumerate(lines):
        if number < done:  # within a block, which is unwrapped by itself
            continue
        if fence:
            fence = "" if line.strip(" \t>").startswith(fence) and not line.strip(" \t>`~") else fence
        elif opening := _FENCE.match(line):
            fence = opening[1]
        elif number not in code or waiting:
            found += _read_mark(lines, number, waiting)
            done = found[-1].end if found else 0
    found += (_Block(n, n + 1, n + 1) for key, left in waiting.items() for n, _ in left if key[0] in ":/")
    return sorted(found)


def _read_mark(lines: list[str], number: int, waiting: dict[str, list[tuple[int, str]]]) -> Iterator[_Block]:
    """Note the block that line ``number`` opens, or yield the block that it closes or has all of."""
    line = lines[number]
    if match := _INDENTED.match(line):
        yield _indented_block(lines, number, match)
    elif match := _CALLOUT.match(line):
        yield _callout_block(lines, number, match)
    elif closer := _CLOSER.match(line):
        if waiting.get(closer[1]):
            first, title = waiting[closer[1]].pop()
            yield _Block(first, number, number + 1, "named", title)
        else:
            yield _Block(number, number + 1, number + 1)
    elif match := _COLONS.match(line) or _SLASHES.match(line):
        waiting.setdefault(match["mark"], []).append((number, _title(match)))
    elif (match := _TAG.match(line)) and match["name"].lower() not in _NO_CONTAINERS and match["rest"][-1:] != "/":
        if not match["close"]:
            waiting.setdefault(match["name"], []).append((number, ""))
        elif waiting.get(match["name"]):
            yield _Block(waiting[match["name"]].pop()[0], number, number + 1, "tags")


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
    return _Block(number, end, end, "indented", f"**{label}**" if label.strip() else "")


def _callout_block(lines: list[str], number: int, match: re.Match[str]) -> _Block:
    end = next((n for n in range(number + 1, len(lines)) if not _QUOTE_MARK.match(lines[n])), len(lines))
    words = match["title"].strip() or match["kind"].strip().capitalize()
    return _Block(number, end, end, "quote", words if "**" in words else f"**{words}**")


def _title(opener: re.Match[str]) -> str:
    """Return the visible words of a block's first line, as Markdown."""
    rest = opener["rest"]
    props = _PROPS.search(rest)
    named = parse_parameters(props["props"])[0] if props else {}
    rest = rest[: props.start()] if props else rest
    label = _LABEL.search(rest)
    words = label["label"] if label else rest.replace("|", " ").strip(" \t\"'")
    shown = "\n\n".join(filter(None, (f"**{words}**" if words else "", visible_words(named))))
    kind = opener["name"].lower()
    return shown or (f"**{kind.capitalize()}**" if kind in _ADMONITIONS and len(opener["mark"]) > 2 else "")


def _read_mdc(inner: str) -> tuple[str, list[str]]:
    """Return the content of a block of Nuxt's without the names of its slots, and the visible words of its YAML."""
    words: list[str] = []
    if match := _YAML.match(inner):
        inner = inner[match.end() :]
        with suppress(ValueError):
            words = [*_yaml_words(yaml.load(match["yaml"][:_MAX_YAML_CHARS]))]
    if _SLOT.search(inner):
        hidden = HiddenCode()
        inner = hidden.restore(_SLOT.sub("", hidden.hide(inner, mdx=True)))
    return inner, words


def _yaml_words(fields: object) -> Iterator[str]:
    values = fields.values() if isinstance(fields, Mapping) else ()
    for part in (fields, *(item for value in values if isinstance(value, list) for item in value)):
        if isinstance(part, Mapping):
            texts = {str(name).lower(): value for name, value in part.items() if isinstance(value, str)}
            yield visible_words(texts)
