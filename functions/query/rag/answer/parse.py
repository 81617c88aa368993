"""Parse the Markdown of an answer or a passage into a tree.

markdown-it parses it, the library that cuts documents too. A profile's citation marks are one of its inline rules, so
that nothing in code is taken for a mark. Tokens of Markdown and tags of HTML between them build the same elements. A
bare address becomes a link, as nearly every renderer makes one of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import takewhile
from typing import TYPE_CHECKING

from rag.answer import html
from rag.answer import tree as t
from rag.answer.citation_forms import CitationForm
from rag.answer.restrict_links import link_addresses
from rag.text.sources import is_http

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token


MAX_CHARS = 100_000
"""No answer to a question is longer; the rest is ignored."""
_MAX_DEPTH = 40
"""Tags of elements that would be nested more deeply are left out."""
_MAX_SIGNS = 1500
"""Signs of markup in one paragraph. Of 2,400 pages of documentation the most that one has is in the hundreds."""
_MAX_CELLS = 2000
"""Cells of one table; rows behind them are text. A table of 4 KB has no more."""
_SIGNS = re.compile(r"[\[\]`*_~<&\\!]")
_AMBIGUOUS = re.compile(r"\r\n?|[\0-\x08\x0b-\x1f\x7f]")
"""Characters that parsers treat in different ways."""
_REPLACEMENTS = {"\r": "\n", "\0": "\ufffd"}
_LANGUAGE = re.compile(r"[\w+#.,=-]{1,60}")
_RAW = re.compile(r"<(?:(script|style|pre|textarea)(?=[\s>]|\Z)|(!--)|[?!])", re.IGNORECASE)


def parse_markdown(
    text: str, form: CitationForm | None = None, *, growing: bool = False, literal: bool = False
) -> t.Tree:
    """Parse ``text``, which cites in ``form``; with None it has no citation marks, as passages have none.

    Of ``literal`` text all words are kept: tags and definitions of links are text, and addresses and titles that a page
    does not show stand behind their link.

    ``growing`` text is parsed line by line: no later line makes a heading or a link of an earlier one, and a table
    begins only with a line that begins with a bar.
    """
    builder = _TreeBuilder(text.split("\n"), literal=literal)
    for token in _markdown_it(form, growing, literal).parse(text):
        builder.add(token)
    return html.group_blocks(builder.open[0].nodes)


def normalise_text(text: str) -> str:
    """Return ``text`` with line feeds as line ends, and without characters that parsers treat in different ways."""
    return _AMBIGUOUS.sub(lambda one: _REPLACEMENTS.get(one[0][0], " "), text.lstrip("\ufeff")[:MAX_CHARS])


class _TreeBuilder:
    """Builds nodes of the tokens of a text of ``lines``; ``open`` are the elements that are not closed."""

    def __init__(self, lines: Sequence[str], *, literal: bool) -> None:
        self.lines = lines
        self.literal = literal
        self.line = 0
        self.open = [html.Element("", is_markdown=True)]
        self._dropped = ""  # the name of the element that is being dropped with its content

    def add(self, token: Token) -> None:
        self.line = token.map[0] if token.map else self.line
        match token.type:
            case "inline":
                self._add_inline(token.children or ())
            case "fence" | "code_block":
                if self.literal and len(token.info.split()) > 1:
                    self._put(t.Paragraph((t.Text(token.info),), line=self.line))
                self._put(_code_block(token, self.line))
            case "html_block":
                self._put(*html.raw_block(token.content, self.line))
            case "hr":
                self._put(t.ThematicBreak(line=self.line))
            case _:
                self._open_or_close(token)

    def _add_inline(self, tokens: Sequence[Token]) -> None:
        """Add the tokens of lines; elements that a tag opens in them end with them."""
        tags = {at: html.parse_tag(token.content) for at, token in enumerate(tokens) if token.type == "html_inline"}
        closing = {tag.name: place for place, tag in tags.items() if tag.closes}
        for place, token in enumerate(tokens):
            if tag := tags.get(place):
                beside = (tokens[max(0, place - 1) : place], tokens[place + 1 : place + 2])
                edges = sum(not one or one[0].type in {"html_inline", "softbreak", "hardbreak"} for one in beside)
                self._add_tag(tag, is_closed=closing.get(tag.name, -1) > place, edges=edges)
            elif token.nesting:
                self._open_or_close(token)
            elif not self._dropped:
                self._put(*_leaf_nodes(token, in_link=any(one.name == "a" for one in self.open)))
                if self.literal and token.type == "image":
                    self._put(t.Text(_unshown_address(str(token.attrs["src"]), token.attrs.get("title"))))
        self._dropped = ""
        self._close_tags()

    def _open_or_close(self, token: Token) -> None:
        """Open or close an element of Markdown, which no tag closes."""
        if token.nesting == 1:
            attributes = {name: str(value) for name, value in token.attrs.items()}
            self.open.append(html.Element(token.tag, attributes, self.line, is_markdown=True))
        else:
            self._close_tags()
            href, title = (self.open[-1].attributes.get(name, "") for name in ("href", "title"))
            self._close()
            if self.literal and token.type == "link_close" and (title or not is_http(href)):
                self._put(t.Text(_unshown_address(href, title)))

    def _add_tag(self, tag: html.Tag, *, is_closed: bool, edges: int) -> None:
        """Add a tag; ``edges`` counts its sides on which its line ends or another tag stands.

        A tag that nothing closes is text, unless it fills its line; of a block, unless it begins or ends it.
        """
        if self._dropped:
            self._dropped = "" if tag.closes and tag.name == self._dropped else self._dropped
        elif tag.closes:
            within = [one.name for one in takewhile(lambda one: not one.is_markdown, reversed(self.open))]
            for _ in range(within.index(tag.name) + 1 if tag.name in within else 0):
                self._close()
        elif tag.name in html.VOID:
            self._put(html.VOID[tag.name](tag, self.line))
        elif is_closed or tag.name in html.LEFT_OPEN:
            self._open_tag(tag)
        elif edges < 2 - (tag.name in html.BLOCKS):
            self._put(t.Text(tag.raw))

    def _open_tag(self, tag: html.Tag) -> None:
        while not self.open[-1].is_markdown and self.open[-1].name in html.ENDED_BY.get(tag.name, ()):
            self._close()
        if tag.name in html.DROPPED:
            self._dropped = tag.name
        elif tag.name in html.KNOWN and len(self.open) < _MAX_DEPTH:
            self.open.append(html.Element(tag.name, tag.attributes, self.line))

    def _close_tags(self) -> None:
        while not self.open[-1].is_markdown:
            self._close()

    def _close(self) -> None:
        for node in html.element_nodes(self.open.pop()):
            self._put(self._with_gaps(node) if isinstance(node, t.ListItem) else node)

    def _put(self, *nodes: t.Inline | t.Block) -> None:
        self.open[-1].nodes += nodes

    def _with_gaps(self, item: t.ListItem) -> t.ListItem:
        """Return ``item`` with the gaps before it and before its blocks."""

        def follows_empty_line(block: t.Block) -> bool:
            return block.line > 0 and not self.lines[block.line - 1].strip(" \t>")

        before, blocks = None, list[t.Block]()
        for block in item.children:
            gap = isinstance(block, t.Paragraph) if block.line == before else follows_empty_line(block)
            blocks.append(replace(block, gap=gap))
            before = block.line
        return replace(item, children=tuple(blocks), gap=follows_empty_line(item))


def _unshown_address(*parts: object) -> str:
    return f" ({' '.join(str(part) for part in parts if part)})"


def _leaf_nodes(token: Token, *, in_link: bool) -> Iterator[t.Inline]:
    match token.type:
        case "text":
            yield from (t.Text(token.content),) if in_link else link_addresses(token.content)
        case "code_inline":
            yield t.Code(token.content)
        case "softbreak" | "hardbreak":
            yield t.LineBreak(hard=token.type == "hardbreak")
        case "mark":
            yield t.Mark(token.content)
        case "image":
            alt = t.Text("".join(child.content for child in token.children or ()))
            yield t.Link(str(token.attrs["src"]), (alt,), str(token.attrs.get("title", "")), image=True)


def _code_block(token: Token, line: int) -> t.CodeBlock:
    language = _LANGUAGE.match(token.info.strip())
    text = token.content.removesuffix("\n")
    first, last = token.map or (0, 0)
    lines = len(text.split("\n")) if token.content else 0
    return t.CodeBlock(
        text,
        language[0] if language else "",
        token.markup or html.choose_fence(text),
        has_end=last - first > 1 + lines,
        line=line,
    )


@cache
def _markdown_it(form: CitationForm | None, growing: bool, literal: bool) -> MarkdownIt:
    """Return markdown-it with the rules of ``parse_markdown``."""
    from markdown_it import MarkdownIt  # late: a question that is declined parses nothing

    class Parser(MarkdownIt):
        """Accepts any address as it is: ``rag.answer.restrict_links`` judges it later."""

        def validateLink(self, url: str) -> bool:  # noqa: N802 - markdown-it's name
            return True

        def normalizeLink(self, url: str) -> str:  # noqa: N802
            return url

    parser = Parser("commonmark", {"html": True}).enable(["table", "strikethrough"])
    if growing:
        parser.disable(["lheading", "reference"])
    if literal:
        parser.disable(["html_block", "html_inline", "reference"])
    rules = {rule.name: rule.fn for rule in parser.block.ruler.__rules__}

    def parse_raw_html(state: StateBlock, first: int, last: int, silent: bool) -> bool:
        """Parse a block of raw HTML only where it is closed."""
        start = state.bMarks[first] + state.tShift[first]
        raw = _RAW.match(state.src, start)
        closer = "-->" if raw and raw[2] else f"</{raw[1]}" if raw and raw[1] else ">"
        is_closed = raw is not None and closer.lower() in state.src[start:].lower()
        return is_closed and rules["html_block"](state, first, last, silent)

    def parse_table(state: StateBlock, first: int, last: int, silent: bool) -> bool:
        """Parse a table of bounded size; in growing text only one that begins with a bar."""
        head = state.src[state.bMarks[first] + state.tShift[first] : state.eMarks[first]]
        columns = head.count("|") + 1
        is_allowed = columns <= _MAX_CELLS and (head[:1] == "|" or not growing)
        return is_allowed and rules["table"](state, first, min(last, first + 2 + _MAX_CELLS // columns), silent)

    parser.block.ruler.at("table", parse_table, {"alt": ["paragraph", "reference"]})
    parser.block.ruler.at("html_block", parse_raw_html, {"alt": ["paragraph", "reference", "blockquote"]})
    parser.core.ruler.at("inline", _parse_inline)
    if form is not None:
        for char in form.openers:
            parser.inline.add_terminator_char(char)
        parser.inline.ruler.before("link", "mark", partial(_parse_mark, form))
    return parser


def _parse_inline(state: StateCore) -> None:
    """Parse the lines of all blocks; with very many signs they are text, as pairing signs takes quadratic time."""
    for token in state.tokens:
        if token.type == "inline" and token.children is not None:
            if len(_SIGNS.findall(token.content)) > _MAX_SIGNS:
                from markdown_it.token import Token  # late, as the parser itself

                token.children.append(Token("text", "", 0, content=token.content))
            else:
                state.md.inline.parse(token.content, state.md, state.env, token.children)


def _parse_mark(form: CitationForm, state: StateInline, silent: bool) -> bool:
    mark = form.find_mark(state.src, state.pos, state.posMax) if state.src[state.pos] in form.openers else None
    if mark is None:
        return False
    state.pos, raw = mark
    if not silent:
        state.push("mark", "", 0).content = raw
    return True
