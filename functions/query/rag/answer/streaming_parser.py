"""The tree of an answer while a model writes it: finished blocks, and what is certain of the last one.

What was told of it never has to be taken back, and the answer is this tree: nothing is read a second time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from rag.answer import tree as t
from rag.answer.citation_forms import CitationForm
from rag.answer.markdown import render_markdown
from rag.answer.parse import MAX_CHARS, normalise_text, parse_markdown
from rag.answer.printers import json_nodes, plain_text
from rag.answer.references import JOINT, OPENING, References
from rag.answer.restrict_links import RestrictLinks
from rag.answer.tree import Block, Tree, cited_chunks, trim_run, walk, walk_run
from rag.contract.decline import may_decline
from rag.values.answer import Context
from rag.values.request import Delta, Listen, Patch

DECLINE_CHARS = 1000
"""Characters at the beginning of an answer that are compared with the decline sentence, which is shorter."""
STEP = 40
"""The last block is read again once a further part of that many is there: long ones cost no more for growing slowly."""


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """An answer's tree with references in place of its marks, leading nowhere but to what it cites.

    Of the names in its marks ``valid`` were known and ``removed`` were not; ``links`` counts the addresses that went.
    """

    tree: Tree
    valid: int
    removed: int
    links: int


class StreamingParser:
    """The answer that a model writes of ``context``. Called with each piece of its text (``rag.values.chat.OnText``).

    ``listen`` is told what may be shown: nothing as long as the answer is, or may become, ``decline``.
    """

    def __init__(
        self, form: CitationForm, context: Context, *, decline: str = "", listen: Listen | None = None
    ) -> None:
        self._form = form
        chunks = {passage.hit.chunk.number: passage.hit.chunk for passage in context.passages}
        self._read = partial(parse_markdown, form=form, growing=listen is not None)
        self._references = References(form, [passage.hit for passage in context.passages])
        self._restrict = RestrictLinks(chunks)
        self._ids = {number: chunk.id for number, chunk in chunks.items()}
        self._decline, self.listen = decline, listen
        self._source = ""  # of the block that is not finished
        self._done: list[Block] = []
        self._written = ""  # all finished blocks as Markdown
        self._opening = ""  # the first words of them, while they are withheld
        self._cited: dict[int, None] = {}
        self._valid = self._removed = self._links = 0
        self._length = self._looked = 0
        self._return = False
        self._withheld = bool(decline)
        self._shown = ""
        self._patches: dict[int, object] = {}

    def __call__(self, text: str) -> None:
        """The next piece of the text; see ``rag.values.chat.OnText``."""
        self._source += self._taken(text)
        if self.listen is None:
            return
        fresh = len(self._source) - self._looked
        if text and fresh > len(self._source) // STEP:
            self._look()
        else:
            self.listen(Delta(""))

    def end(self, text: str = "") -> ParsedAnswer:
        """All of it; what had to wait is told now. ``text`` is the whole, for a writer that told nothing of it."""
        if not self._length:
            self._source = self._taken(text)
        self._finish(self._read(self._source))
        self._source = ""
        if self.listen is not None:
            self._tell(None)
        return ParsedAnswer(tuple(self._done), self._valid, self._removed, self._links)

    def _taken(self, text: str) -> str:
        if self._return and text:
            text = text.removeprefix("\n")
        self._return = text.endswith("\r") if text else self._return
        taken = normalise_text(text, began=self._length > 0)[: MAX_CHARS - self._length]
        self._length += len(taken)
        return taken

    def _look(self) -> None:
        text = stable_lines(self._source)
        blocks = self._read(text)
        first = blocks[-1].line if blocks else 0
        if first:
            self._finish([block for block in blocks if block.line < first])
            self._source, text = ("\n".join(one.split("\n")[first:]) for one in (self._source, text))
        self._looked = len(self._source)
        last = [block for block in blocks if block.line == first]
        whole = len(text) < len(self._source)  # a line that was left out ends the one before it
        self._tell(self._open(last[0], f"{text}\n" if whole else text) if len(last) == 1 else None)

    def _finish(self, blocks: Sequence[Block]) -> None:
        made = self._references(tuple(blocks))
        restricted = self._restrict(made.tree)
        self._valid += made.valid
        self._removed += made.removed
        self._links += restricted.removed
        for block in restricted.tree:
            if self.listen is not None:
                self._cited |= dict.fromkeys(cited_chunks((block,)))
                self._written = self._with(block)
                if self._withheld:
                    self._opening = f"{self._opening}\n{plain_text((block,))}"[:DECLINE_CHARS]
            self._done.append(block)

    def _with(self, block: Block) -> str:
        before = self._done[-1] if self._done else None
        shown = self._form.rewrite_marks((block,), self._numbers((block,)))
        return f"{self._written}{'\n\n' if self._written else ''}{render_markdown(shown, before=before).text}"

    def _numbers(self, blocks: Tree) -> dict[int, int]:
        """The numbers of references, from 1 on, in the order in which finished blocks, then ``blocks``, cite chunks."""
        order = dict.fromkeys((*self._cited, *cited_chunks(blocks)))
        return {chunk: place for place, chunk in enumerate(order, start=1)}

    def _open(self, block: Block, source: str) -> Block | None:
        """What is certain of the last block."""
        (made,) = copy(self._references)((block,)).tree or (None,)
        if made is None:
            return None
        restrict = copy(self._restrict)
        restrict.allow_cited(made)
        part = stable_part(made, source, lambda link: restrict.is_allowed(link.href))
        return next(iter(restrict((part,)).tree), None) if part else None

    def _tell(self, last: Block | None) -> None:
        """Tell what is new, unless the answer is the decline or may become it."""
        listen = self.listen
        if listen is None:
            return
        open_blocks = (last,) if last else ()
        if self._withheld:
            self._withheld = may_decline(f"{self._opening}\n{plain_text(open_blocks)}", self._decline)
        if self._withheld:
            listen(Delta(""))
            return
        text = self._with(last) if last else self._written
        new = text[len(self._shown) :] if text.startswith(self._shown) else ""
        self._shown += new
        self._patch((*self._done, *open_blocks), listen)
        listen(Delta(new))

    def _patch(self, blocks: Tree, listen: Listen) -> None:
        first = max(0, len(self._patches) - 1)
        numbers = self._numbers(blocks[first:])
        for place, block in enumerate(blocks[first:], start=first):
            nodes = json_nodes((block,), lambda chunk: (numbers[chunk], self._ids[chunk]))
            if self._patches.get(place) != nodes:
                self._patches[place] = nodes
                listen(Patch(place, tuple(nodes)))


def parse_answer(text: str, form: CitationForm, context: Context) -> ParsedAnswer:
    """The tree of a whole ``text``."""
    return StreamingParser(form, context).end(text)


_MARKERS = r"(?:[ \t>]|[-*+](?=\s)|\d{1,9}[.)](?=\s))*"
_UNSURE_LINE = re.compile(rf"{_MARKERS}(?:(?:```|~~~).*|[-*+#=_>`~\d.) \t]*|\|.*)")
"""A line, as far as it is there, of which it cannot be told what block it begins or ends."""
_MAY_PAIR = re.compile(r"`|[*_~]{1,3}(?!\s)|\[(?![^\[\]]*\][^(\[:])|<(?=[A-Za-z/!?]|\Z)|&#?\w*\Z|!\Z|\\\Z")
_BINDS = re.compile(r"[`<\[]")
"""What binds more tightly than emphasis."""
_TAG = re.compile(r"<[A-Za-z/!?]")
_MAY_CITE = re.compile(
    r"[(\u3010\uff3b]\s*(?:s(?:o(?:u(?:r(?:c(?:e(?:\s*:.*)?)?)?)?)?)?)?\Z", re.IGNORECASE | re.DOTALL
)
"""The beginning of a mark in round brackets."""
_MAY_GO = re.compile(rf"(?:{JOINT}|{OPENING})++")
"""What goes with a mark that is removed."""
_DASHES = re.compile(r"[ \t>]*[|:-][ \t|:-]*")
_BETWEEN_WORDS = re.compile(r"\s|(?<=[\u2e80-\uffef])")


def stable_lines(text: str) -> str:
    """``text`` without its last line as long as that may begin anything, and without one that may head a table."""
    lines = text.split("\n")
    if _UNSURE_LINE.fullmatch(lines[-1]):
        lines.pop()
        if lines and "|" in lines[-1] and not _is_row(lines):
            lines.pop()
    return "\n".join(lines)


def _is_row(lines: Sequence[str]) -> bool:
    """Whether the last one belongs to a table: a line with bars has a line of dashes below it, with as many of them."""
    pairs = pairwise(lines[-200:])
    return any("|" in head and _DASHES.fullmatch(line) and _bars(head) == _bars(line) for head, line in pairs)


def _bars(line: str) -> int:
    return line.strip(" \t>|").count("|")


def stable_part(block: t.Block, source: str, held: Callable[[t.Link], bool]) -> t.Block | None:
    """The part of ``block`` that is certain; ``source`` is what it was read from, ``held`` says which links stay.

    Nothing is, of what holds a tag outside of code: that may make several blocks of one.
    """
    if not isinstance(block, t.CodeBlock) and _tags(source) > sum(map(_tags, _codes(block))):
        return None
    match block:
        case t.Paragraph() | t.Heading():
            words = _safe_run(block.children, held, ended=source[-1:].isspace())
            return replace(block, children=words) if words else None
        case t.ListBlock() | t.ListItem() | t.BlockQuote():
            *blocks, last = block.children
            blocks += [part] if (part := stable_part(last, source, held)) else []
            return replace(block, children=tuple(blocks)) if blocks else None  # type: ignore[arg-type]
        case t.TableBlock() if not source.endswith("\n"):
            head, *rows = block.children
            return replace(block, children=(head, *rows[:-1]))
        case t.CodeBlock():
            return _safe_code(block, source)
        case _:
            return block


def _codes(block: t.Block) -> Iterator[str]:
    return (node.text for node in walk((block,)) if isinstance(node, t.Code))


def _tags(text: str) -> int:
    return sum(1 for _ in _TAG.finditer(text))


def _safe_code(block: t.CodeBlock, source: str) -> t.CodeBlock | None:
    fenced = any(line.lstrip(" \t>-*+0123456789.)").startswith(block.fence) for line in source.split("\n"))
    # By its indentation: how many ticks will be around it is not known.
    return replace(block, render_end=block.has_end) if fenced else None


def _safe_run(run: Sequence[t.Inline], held: Callable[[t.Link], bool], *, ended: bool) -> tuple[t.Inline, ...]:
    found: list[t.Inline] = []
    for node in run:
        if isinstance(node, t.Text) and (unsure := _MAY_PAIR.search(node.text)):
            return _whole_words([*found, t.Text(node.text[: unsure.start()])])
        if _is_unsure(node, held) or (isinstance(node, t.Cite) and node is run[-1] and not ended):
            return _whole_words(found)
        found.append(node)
    return _without_half_a_mark(trim_run(found)) if ended else _whole_words(found)


def _is_unsure(node: t.Inline, held: Callable[[t.Link], bool]) -> bool:
    match node:
        case t.Styled():
            return any(_BINDS.search(one.text) is not None for one in walk_run((node,)) if isinstance(one, t.Text))
        case t.Link():
            return not held(node)
        case _:
            return isinstance(node, t.Mark)


def _whole_words(run: list[t.Inline]) -> tuple[t.Inline, ...]:
    """``run`` up to its last blank."""
    while run:
        node = run.pop()
        if isinstance(node, t.LineBreak):
            return _without_half_a_mark(trim_run(run))
        if isinstance(node, t.Text):
            ends = [match.start() for match in _BETWEEN_WORDS.finditer(node.text)]
            if ends:
                return _without_half_a_mark(trim_run([*run, t.Text(node.text[: ends[-1]])]))
    return ()


def _without_half_a_mark(run: tuple[t.Inline, ...]) -> tuple[t.Inline, ...]:
    """``run`` without the beginning of a mark at its end, and without what goes where that is removed."""
    last = run[-1] if run else None
    if not isinstance(last, t.Text):
        return run
    begun = _MAY_CITE.search(last.text)
    text = last.text[: begun.start()] if begun else last.text
    ends = next((found.start() for found in _MAY_GO.finditer(text) if found.end() == len(text)), len(text))
    return trim_run([*run[:-1], t.Text(text[:ends])])
