"""Reading: the Markdown of an answer or a passage, by one parse, as a tree.

markdown-it reads it, the library that cuts documents too. A profile's form of citations is one of its inline rules, so
that nothing in code is ever taken for a mark. Its tokens and the tags of HTML between them are the same to us: what
opens, what closes, and what stands alone. An address that stands bare is a link, as nearly every renderer makes one of
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from rag.answer import html
from rag.answer import tree as t
from rag.answer.citation_forms import CitationForm
from rag.answer.restrict_links import link_addresses

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token


MAX_CHARS = 100_000
"""No answer to a question is longer; what follows is not read."""
MAX_DEPTH = 40
"""So deep elements may stand within each other; tags that would go deeper are left out."""

_UNREAD = re.compile(r"\r\n?|[\0-\x08\x0b-\x1f\x7f]|\A\ufeff+")
"""What parsers read each in a way of its own."""
_READ_AS = {"\r": "\n", "\0": "\ufffd", "\ufeff": ""}
_LANGUAGE = re.compile(r"[\w+#.,=-]{1,60}")


def parse_markdown(text: str, form: CitationForm | None = None, *, growing: bool = False) -> t.Tree:
    """Parse ``text``, which cites in ``form``; with None it has no citation marks, as passages have none.

    ``growing`` text is parsed line by line: no later line makes a heading or a link of an earlier one, and a table
    begins only with a line that begins with a bar.
    """
    builder = _Builder(text.split("\n"))
    for token in markdown_it_parser(form, growing).parse(text):
        builder.add(token)
    return html.blocks_of(builder.open[0].held)


def warm_parser() -> None:
    """Import what reading needs: markdown-it takes some 20 ms."""
    parse_markdown("")


def normalise_text(text: str, *, began: bool = False) -> str:
    """``text`` with line feeds for all ends of lines, and without characters that no parser reads alike.

    ``began`` says that this is not the beginning.
    """
    kept = text if began else text.lstrip("\ufeff")
    return _UNREAD.sub(lambda one: _READ_AS.get(one[0][0], " "), kept[:MAX_CHARS])


class _Builder:
    """Makes nodes of what opens and closes in a text of ``lines``; ``open`` are the elements that are not closed."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.line = 0
        self.open = [html.Element("", own=True)]
        self._dropped = ""  # the element that is left out with all that it holds

    def add(self, token: Token) -> None:
        """The next token of Markdown."""
        self.line = token.map[0] if token.map else self.line
        match token.type:
            case "inline":
                self._run(token.children or ())
            case "fence" | "code_block":
                self._put(_code(token, self.line))
            case "html_block":
                self._put(*html.raw_block(token.content, self.line))
            case "hr":
                self._put(t.ThematicBreak(line=self.line))
            case _:
                self._own(token)

    def _own(self, token: Token) -> None:
        """What Markdown opens nothing but Markdown closes."""
        if token.nesting == 1:
            attributes = {name: str(value) for name, value in token.attrs.items()}
            self.open.append(html.Element(token.tag, attributes, self.line, own=True))
            return
        while not self.open[-1].own:
            self._end()
        self._end()

    def _end(self) -> None:
        ended = self.open.pop()
        self._put(*(self._gapped(node) if isinstance(node, t.ListItem) else node for node in html.element_nodes(ended)))

    def _put(self, *nodes: t.Inline | t.Block) -> None:
        self.open[-1].held += nodes

    def _gapped(self, item: t.ListItem) -> t.ListItem:
        before, found = None, list[t.Block]()
        for block in item.children:
            apart = isinstance(block, t.Paragraph) if block.line == before else self._is_empty(block.line - 1)
            found.append(replace(block, gap=apart))
            before = block.line
        return replace(item, children=tuple(found), gap=self._is_empty(item.line - 1))

    def _is_empty(self, line: int) -> bool:
        return line >= 0 and not self.lines[line].strip(" \t>")

    def _run(self, tokens: Sequence[Token]) -> None:
        """The tokens of lines; what a tag opened in them ends with them."""
        tags = {at: html.tag_of(token.content) for at, token in enumerate(tokens) if token.type == "html_inline"}
        closing = {tag.name: place for place, tag in tags.items() if tag.closes}
        for place, token in enumerate(tokens):
            if tag := tags.get(place):
                self._tag(tag, closed=closing.get(tag.name, -1) > place, edges=_edges(tokens, place))
            elif token.nesting:
                self._own(token)
            else:
                self._leaf(token)
        self._dropped = ""
        while not self.open[-1].own:
            self._end()

    def _leaf(self, token: Token) -> None:
        if not self._dropped:
            self._put(*_leaf(token, in_link=any(one.name == "a" for one in self.open)))

    def _tag(self, tag: html.Tag, *, closed: bool, edges: int) -> None:
        """A tag; one that nothing closes is a mention of it, unless a line is its own; of blocks, an end of one."""
        if self._dropped:
            self._dropped = "" if tag.closes and tag.name == self._dropped else self._dropped
        elif tag.closes:
            self._close(tag.name)
        elif tag.name in html.VOID:
            self._put(html.VOID[tag.name](tag, self.line))
        elif closed or tag.name in html.LEFT_OPEN:
            self._begin(tag)
        elif edges < 2 - (tag.name in html.BLOCKS):
            self._put(t.Text(tag.raw))

    def _begin(self, tag: html.Tag) -> None:
        while not self.open[-1].own and self.open[-1].name in html.ENDED_BY.get(tag.name, ()):
            self._end()
        if tag.name in html.DROPPED:
            self._dropped = tag.name
        elif tag.name in html.KNOWN and len(self.open) < MAX_DEPTH:
            self.open.append(html.Element(tag.name, tag.attributes, self.line))

    def _close(self, name: str) -> None:
        """The end of an element of HTML, if one of that ``name`` is open, and of those in it."""
        within = list(takewhile(lambda one: not one.own, reversed(self.open)))
        names = [one.name for one in within]
        for _ in range(names.index(name) + 1 if name in names else 0):
            self._end()


def _edges(tokens: Sequence[Token], place: int) -> int:
    """On how many sides of the tag at ``place`` its line ends or another tag stands."""
    beside = (tokens[max(0, place - 1) : place], tokens[place + 1 : place + 2])
    return sum(not one or one[0].type in {"html_inline", "softbreak", "hardbreak"} for one in beside)


def _leaf(token: Token, *, in_link: bool) -> Iterator[t.Inline]:
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


def _code(token: Token, line: int) -> t.CodeBlock:
    language = _LANGUAGE.match(token.info.strip())
    text = token.content.removesuffix("\n")
    first, last = token.map or (0, 0)
    lines = len(text.split("\n")) if token.content else 0
    return t.CodeBlock(
        text,
        language[0] if language else "",
        token.markup or html.fence_of(text),
        has_end=last - first > 1 + lines,
        line=line,
    )


_RAW = re.compile(r"<(?:(script|style|pre|textarea)(?=[\s>]|\Z)|(!--)|[?!])", re.IGNORECASE)

_SIGNS = re.compile(r"[\[\]`*_~<&\\!]")
MOST_SIGNS = 1500
"""In one paragraph. Of 2,400 pages of documentation the most that one has is in the hundreds."""
MOST_CELLS = 2000
"""In one table; rows behind them are text. A table of 4 KB has no more."""


@cache
def markdown_it_parser(form: CitationForm | None, growing: bool) -> MarkdownIt:
    """The parser; see ``rag.answer.parse.Reader``."""
    from markdown_it import MarkdownIt  # late: a question that is declined reads nothing

    class Parser(MarkdownIt):
        """Takes any address, and leaves it as it is: what may stay is judged later."""

        def validateLink(self, url: str) -> bool:  # noqa: N802 - markdown-it's name
            return True

        def normalizeLink(self, url: str) -> str:  # noqa: N802
            return url

    made = Parser("commonmark", {"html": True}).enable(["table", "strikethrough"])
    if growing:
        made.disable(["lheading", "reference"])
    own = {rule.name: rule.fn for rule in made.block.ruler.__rules__}["html_block"]

    def closed_html(state: StateBlock, first: int, last: int, silent: bool) -> bool:
        start = state.bMarks[first] + state.tShift[first]
        raw = _RAW.match(state.src, start)
        closer = "-->" if raw and raw[2] else f"</{raw[1]}" if raw and raw[1] else ">"
        return raw is not None and closer.lower() in state.src[start:].lower() and own(state, first, last, silent)

    table = {rule.name: rule.fn for rule in made.block.ruler.__rules__}["table"]

    def fenced_table(state: StateBlock, first: int, last: int, silent: bool) -> bool:
        head = state.src[state.bMarks[first] + state.tShift[first] : state.eMarks[first]]
        columns = head.count("|") + 1
        rows = first + 2 + MOST_CELLS // columns
        may_be = columns <= MOST_CELLS and (head[:1] == "|" or not growing)
        return may_be and table(state, first, min(last, rows), silent)

    made.block.ruler.at("table", fenced_table, {"alt": ["paragraph", "reference"]})
    made.block.ruler.at("html_block", closed_html, {"alt": ["paragraph", "reference", "blockquote"]})
    made.core.ruler.at("inline", _inline)
    if form is not None:
        for char in form.openers:
            made.inline.add_terminator_char(char)
        made.inline.ruler.before("link", "mark", _marking(form))
    return made


def _inline(state: StateCore) -> None:
    """Reads the lines of all blocks; one with very many signs is text, as pairing them takes quadratically long."""
    for token in state.tokens:
        if token.type == "inline" and token.children is not None:
            if len(_SIGNS.findall(token.content)) > MOST_SIGNS:
                from markdown_it.token import Token  # late, as the parser itself

                token.children.append(Token("text", "", 0, content=token.content))
            else:
                state.md.inline.parse(token.content, state.md, state.env, token.children)


def _marking(form: CitationForm) -> Any:  # markdown-it's own type is of its rules alone
    def mark(state: StateInline, silent: bool) -> bool:
        if state.src[state.pos] not in form.openers:
            return False
        found = form.find_mark(state.src, state.pos, state.posMax)
        if found is None:
            return False
        state.pos, said = found
        if not silent:
            state.push("mark", "", 0).content = said
        return True

    return mark
