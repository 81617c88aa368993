"""markdown-it as answers are read by it: a profile's marks are a rule, any address is one, few blocks are HTML."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from rag.answer.forms import CitationForm

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline

_RAW = re.compile(r"<(?:(script|style|pre|textarea)(?=[\s>]|\Z)|(!--)|[?!])", re.IGNORECASE)

_SIGNS = re.compile(r"[\[\]`*_~<&\\!]")
MOST_SIGNS = 1500
"""In one paragraph. Of 2,400 pages of documentation the most that one has is in the hundreds."""
MOST_CELLS = 2000
"""In one table; rows behind them are text. A table of 4 KB has no more."""


@cache
def parser(form: CitationForm | None, growing: bool) -> MarkdownIt:
    """The parser; see ``rag.answer.read.Reader``."""
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
        for char in form.opens:
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
        if state.src[state.pos] not in form.opens:
            return False
        found = form.found(state.src, state.pos, state.posMax)
        if found is None:
            return False
        state.pos, said = found
        if not silent:
            state.push("mark", "", 0).content = said
        return True

    return mark
