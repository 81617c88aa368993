"""What of a Markdown text is a link, an image, HTML or a definition, and at which of its characters.

markdown-it reads it, the library that cuts documents and statements too. It is told to take any address for one, since
other renderers do, and what it does is noted by rules of ours around its own: its tokens do not say where they stand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from rag.stages.links.held import BARE, BARE_BEGINS, bare_address, goes_on
from rag.stages.links.placed import Unplaced, placed
from rag.stages.links.ticks import tangled

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

type Kind = Literal["link", "image", "auto", "bare", "html", "definition", "note", "decoded", "code", "ticks"]


@dataclass(frozen=True, slots=True)
class Construct:
    """One of them, the characters ``start`` to ``end``; an ``inline`` link holds its address itself.

    ``label_end`` is where the closing bracket of a link or an image stands. ``address`` is as the reader of Markdown
    decodes it. Of "html" only ``start`` counts, and of a "note": the definition of a footnote above something that is
    code only where nobody knows of footnotes. A "decoded" is a stretch of text that is an address when its escapes are
    read. "code" is a span, or (not ``inline``) what a fence holds. One that ``goes_on`` may be part of a longer one to
    others. "ticks" is a stretch of which others may take something else for code.
    """

    kind: Kind
    start: int
    end: int
    address: str = ""
    label_end: int = 0
    inline: bool = True
    goes_on: bool = False


_TAG = re.compile(r"(?<!\\)(?:\\\\)*(<)(?=[A-Za-z/!?])")
_NOTE = re.compile(r"^[ \t]*(\[)\^[^\]\n]*\]:", re.MULTILINE)
_NO_MORE = re.compile(r"\w+://|www", re.IGNORECASE)
"""What begins an address, and is none where nothing follows."""
_TEXT = re.compile(rf"(?:(?!{BARE_BEGINS})[^\n!#$%&*+\-:<=>@\[\\\]^_`{{}}~])+", re.IGNORECASE)


def constructs(text: str, *, tables: bool, code: bool = False) -> Iterator[Construct]:
    """All of them in ``text``, whose lines end with ``\\n``; ``tables`` tells whether it may hold those,
    ``code`` whether code is wanted too.

    Raises:
        Unplaced: one cannot be found in the text.
    """
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    starts[-1] -= 1  # behind the last line no other one begins
    reader = _reader(tables)
    env: dict[str, Any] = {"quiet": False, "code": code, "codes": {}}
    rows = (0, 0)
    cells: dict[int, int] = {}
    tokens = reader.parse(text, env)
    notes = any(token.type == "code_block" for token in tokens)
    blocks = {row for one in tokens if one.type in {"fence", "code_block"} and one.map for row in range(*one.map)}
    for token in tokens:
        rows = (token.map[0], token.map[1]) if token.map else rows
        first, last = starts[rows[0]], starts[min(rows[1], len(lines))]
        if token.type == "definition":
            yield Construct("definition", first, last, label_end=text.find("]:", first, last))
        elif token.type == "html_block":
            yield from (Construct("html", tag.start(1), tag.end(1)) for tag in _TAG.finditer(text, first, last))
        elif token.type == "fence" and code:
            yield Construct("code", text.find("\n", first) + 1 or len(text), last, inline=False)
        elif token.type == "inline":
            env["row"] = rows[0]
            place = placed(token.content, lines, starts, rows[0], cells)
            yield from _inline(reader, token, env, place, (first, last), text)
            for note in _NOTE.finditer(token.content) if notes else ():
                yield Construct("note", place(note.start(1)), place(note.start(1)) + 1)
    for begin, end in tangled(lines, blocks, env["codes"]):
        yield Construct("ticks", starts[begin], starts[end])


def last_block(text: str) -> int:
    """Where the last block of ``text`` begins, the last item of a list: whatever comes changes nothing before it."""
    lines = text.split("\n")
    found = []
    for tables in (True, False) if "|" in text else (True,):
        tokens = [token for token in _reader(tables).parse(text, {}) if token.map and token.nesting >= 0]
        own = [one.map[0] for one in tokens if one.map and (not one.level or _is_item(one, lines[one.map[0]]))]
        found.append(max(own, default=0))
    return sum(len(line) + 1 for line in lines[: min(found)])


def _is_item(token: Token, line: str) -> bool:
    return token.type == "list_item_open" and token.level == 1 and line[:4].strip() != ""


def _inline(
    reader: MarkdownIt,
    token: Token,
    env: dict[str, Any],
    place: Callable[[int], int],
    lines: tuple[int, int],
    text: str,
) -> Iterator[Construct]:
    found: list[Construct] = []
    children: list[Token] = []
    env["found"] = found
    reader.inline.parse(token.content, reader, env, children)
    for one in found:
        spot, end = place(one.start), place(one.end - 1) + 1
        label_end = place(one.label_end)
        if any(text[spot] != token.content[at] for at, spot in ((one.start, spot), (one.label_end, label_end))):
            raise Unplaced
        yield replace(one, start=spot, end=end, label_end=label_end)
    env["codes"].setdefault(env["row"], []).extend(one.content for one in children if one.type == "code_inline")
    for run in _texts(children):
        for match in BARE.finditer(run):
            address = bare_address(match)
            if _NO_MORE.fullmatch(address):
                continue
            if "@" in address and not address.rpartition(".")[2][:1].isalpha():
                continue  # who escapes the sign of "node@v22.5.0" wants no link
            yield Construct("decoded", *lines, address, goes_on=goes_on(run, match.start(), address))


def _texts(children: Sequence[Token]) -> Iterator[str]:
    """Each run of text outside of links, as a reader sees it."""
    depth, run = 0, ""
    for child in children:
        if child.type in {"text", "text_special"} and not depth:
            run += child.content
            continue
        depth += child.nesting if child.type.startswith("link_") else 0
        yield run
        run = ""
    yield run


@cache
def _reader(tables: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt  # late: most of what is quoted needs no look

    class Reader(MarkdownIt):
        """Takes any address, and leaves it as it is."""

        def validateLink(self, url: str) -> bool:  # noqa: N802 - markdown-it's name
            return True

        def normalizeLink(self, url: str) -> str:  # noqa: N802
            return url

    reader = Reader("commonmark", {"html": True, "inline_definitions": True})
    reader.enable(["strikethrough", "table"] if tables else ["strikethrough"])
    reader.core.ruler.enableOnly(["normalize", "block"])
    rules = reader.inline.ruler
    own = {rule.name: rule.fn for rule in rules.__rules__}
    rules.at("text", _text)
    rules.before("text", "bare", _bare)
    rules.at("escape", _escaping(own["escape"]))
    rules.at("link", _noting("link", own["link"]))
    rules.at("image", _noting("image", own["image"]))
    rules.at("autolink", _noting("auto", own["autolink"]))
    rules.at("html_inline", _noting("html", own["html_inline"]))
    rules.at("backticks", _noting("code", own["backticks"]))
    return reader


def _text(state: StateInline, silent: bool) -> bool:
    match = _TEXT.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.append_pending(match[0])
    state.pos = match.end()
    return True


def _escaping(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    def escaped(state: StateInline, silent: bool) -> bool:
        # A backslash takes no letter with it, which may begin an address.
        return not state.src[state.pos + 1 : state.pos + 2].isalnum() and rule(state, silent)

    return escaped


def _bare(state: StateInline, silent: bool) -> bool:
    match = BARE.match(state.src, state.pos, state.posMax)
    address = bare_address(match) if match else ""
    more = goes_on(state.src, state.pos, address)
    if not address or (not more and _NO_MORE.fullmatch(address)):
        return False
    end = state.pos + len(address)
    if not silent:
        state.append_pending(address)
        if not state.linkLevel:
            _note(state, Construct("bare", state.pos, end, address, goes_on=more))
    state.pos = end
    return True


def _noting(kind: Kind, rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    def noted(state: StateInline, silent: bool) -> bool:
        start, before, quiet = state.pos, len(state.tokens), state.env["quiet"]
        state.env["quiet"] = quiet or kind == "image"  # what an image shows instead of itself is text
        done = rule(state, silent)
        state.env["quiet"] = quiet
        if done and not silent and (kind != "code" or (state.env["code"] and len(state.tokens) > before)):
            label_end = 0
            if kind in {"link", "image"} and state.src.startswith("[" if kind == "link" else "![", start):
                label_end = state.md.helpers.parseLinkLabel(state, start + (kind == "image"), kind == "link")
            made = next((token for token in state.tokens[before:] if token.type in {"link_open", "image"}), None)
            address = str((made and (made.attrGet("href") or made.attrGet("src"))) or "")
            inline = kind in {"auto", "code"} or (
                state.src[label_end + 1 : label_end + 2] == "(" and state.pos > label_end + 1
            )
            _note(state, Construct(kind, start, state.pos, address, label_end, inline))
        return done

    return noted


def _note(state: StateInline, construct: Construct) -> None:
    if not state.env["quiet"]:
        state.env["found"].append(construct)
