"""Parse an answer while a model writes it: finished blocks, and the stable part of the last one.

Stable means that no later text can change it: whole words up to the first sign that may pair with a later one, lines of
code except one that may end it, and table rows except the last. Text that was shown never has to be taken back, and the
shown tree is the answer: nothing is parsed a second time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from rag.answer import tree as t
from rag.answer.citation_forms import CitationForm
from rag.answer.parse import MAX_CHARS, normalise_text, parse_markdown
from rag.answer.references import JOINT, OPENING, ReferenceResolver
from rag.answer.render import JsonNode, json_nodes, render_markdown
from rag.answer.restrict_links import RestrictLinks
from rag.contract import may_decline
from rag.values.answer import Context
from rag.values.request import Delta, Listen, Patch

_OPENING_CHARS = 1000
"""Characters at the beginning of an answer that are compared with the decline sentence, which is shorter."""
_STEP = 40
"""The last block is parsed again when 1/40 of its text is new: a long block costs no more for growing slowly."""
_MARKERS = r"(?:[ \t>]|[-*+](?=\s)|\d{1,9}[.)](?=\s))*"
_UNSURE_LINE = re.compile(rf"{_MARKERS}(?:(?:```|~~~).*|[-*+#=_>`~\d.) \t]*|\|.*)")
"""An incomplete line that may begin or end any kind of block."""
_MAY_PAIR = re.compile(r"`|[*_~]{1,3}(?!\s)|\[(?![^\[\]]*\][^(\[:])|<(?=[A-Za-z/!?]|\Z)|&#?\w*\Z|!\Z|\\\Z")
_BINDS = re.compile(r"[`<\[]")
"""Signs that bind more tightly than emphasis."""
_TAG = re.compile(r"<[A-Za-z/!?]")
_MAY_CITE = re.compile(
    r"[(\u3010\uff3b]\s*(?:s(?:o(?:u(?:r(?:c(?:e(?:\s*:.*)?)?)?)?)?)?)?\Z", re.IGNORECASE | re.DOTALL
)
"""The beginning of a mark in round brackets."""
_MAY_GO = re.compile(rf"(?:{JOINT}|{OPENING})++")
"""Text that is removed together with a removed mark."""
_DASHES = re.compile(r"[ \t>]*[|:-][ \t|:-]*")
_BETWEEN_WORDS = re.compile(r"\s|(?<=[\u2e80-\uffef])")


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """An answer's tree with resolved citations and restricted links.

    Of the names in its marks ``valid`` were known and ``removed`` were not; ``links`` counts the removed links.
    """

    tree: t.Tree = ()
    valid: int = 0
    removed: int = 0
    links: int = 0


@dataclass(slots=True)
class _Source:
    """The ``text`` of the unfinished block, in an answer of ``length`` characters so far.

    ``parsed`` is how long the text was when it was last parsed.
    """

    text: str = ""
    length: int = 0
    parsed: int = 0
    ends_with_return: bool = False

    def add(self, piece: str) -> None:
        """Add the next piece of the answer, normalised; line ends may be split between two pieces."""
        if self.ends_with_return:
            piece = piece.removeprefix("\n")
        if piece:
            self.ends_with_return = piece.endswith("\r")
        added = normalise_text(piece)[: MAX_CHARS - self.length]
        self.text += added
        self.length += len(added)


@dataclass(frozen=True, slots=True)
class _Rendering:
    """Finished blocks as a reader sees them; ``last`` is the last one, and ``opening`` are their first words."""

    form: CitationForm
    markdown: str = ""
    last: t.Block | None = None
    cited: tuple[int, ...] = ()
    opening: str = ""

    def reference_numbers(self, blocks: t.Tree) -> dict[int, int]:
        """Return the references' numbers, from 1 on, by chunk, where ``blocks`` follow the finished ones."""
        order = dict.fromkeys((*self.cited, *t.cited_chunks(blocks)))
        return {chunk: number for number, chunk in enumerate(order, start=1)}

    def markdown_with(self, block: t.Block) -> str:
        """Return the Markdown of the finished blocks and of ``block`` behind them."""
        marked = self.form.rewrite_marks((block,), self.reference_numbers((block,)))
        separator = "\n\n" if self.markdown else ""
        return f"{self.markdown}{separator}{render_markdown(marked, before=self.last).text}"

    def add(self, block: t.Block) -> _Rendering:
        """Return the rendering with ``block`` finished too."""
        opening = f"{self.opening}\n{t.plain_text((block,))}"[:_OPENING_CHARS]
        cited = tuple(self.reference_numbers((block,)))
        return _Rendering(self.form, self.markdown_with(block), block, cited, opening)


class StreamingParser:
    """Parses the answer that a model writes of ``context``, piece by piece.

    ``listen`` gets the events that show it; none as long as the answer is, or may become, ``decline``.
    """

    def __init__(
        self, form: CitationForm, context: Context, *, decline: str = "", listen: Listen | None = None
    ) -> None:
        hits = [passage.hit for passage in context.passages]
        self._parse = partial(parse_markdown, form=form, growing=listen is not None)
        self._references = ReferenceResolver(form, hits)
        self._restrict = RestrictLinks(hit.chunk for hit in hits)
        self._chunk_ids = {hit.chunk.number: hit.chunk.id for hit in hits}
        self._decline = decline  # "" once the answer cannot become it
        self.listen = listen
        self._source = _Source()
        self._finished: t.Tree = ()
        self._rendering = _Rendering(form)
        self._shown = ""
        self._patches: list[list[JsonNode]] = []

    def __call__(self, text: str) -> None:
        """Parse the next piece of the text; see ``rag.values.chat.OnText``."""
        source = self._source
        source.add(text)
        if self.listen is None:
            return
        if text and len(source.text) - source.parsed > len(source.text) // _STEP:
            self._parse_source()
        else:
            self.listen(Delta(""))

    def end(self, text: str = "") -> ParsedAnswer:
        """Return the whole answer, and show the rest of it. ``text`` is the answer if no piece of it came before."""
        if not self._source.length:
            self._source.add(text)
        self._finish(self._parse(self._source.text))
        self._source.text = ""
        self._show(None)
        references = self._references
        return ParsedAnswer(self._finished, references.valid, references.removed, self._restrict.removed)

    def _parse_source(self) -> None:
        """Finish all blocks but the last, and show the stable part of that."""
        source = self._source
        text = _stable_lines(source.text)
        blocks = self._parse(text)
        first = blocks[-1].line if blocks else 0
        if first:
            self._finish([block for block in blocks if block.line < first])
            source.text, text = ("\n".join(one.split("\n")[first:]) for one in (source.text, text))
        source.parsed = len(source.text)
        last = [block for block in blocks if block.line == first]
        ends_line = len(text) < len(source.text)  # a line that was left out ends the one before it
        self._show(self._stable_block(last[0], f"{text}\n" if ends_line else text) if len(last) == 1 else None)

    def _finish(self, blocks: Sequence[t.Block]) -> None:
        restricted = self._restrict(self._references(tuple(blocks)))
        self._finished += restricted
        for block in restricted if self.listen else ():
            self._rendering = self._rendering.add(block)

    def _stable_block(self, block: t.Block, source: str) -> t.Block | None:
        # Copies resolve and restrict it: what they remember of a block that still grows is provisional.
        tree = copy(self._references)((block,))
        if not tree:
            return None
        restrict = copy(self._restrict)
        restrict.allow_cited(tree[0])
        part = _stable_part(tree[0], source, restrict.is_allowed)
        return next(iter(restrict((part,))), None) if part else None

    def _show(self, last: t.Block | None) -> None:
        """Show the new text and blocks, unless the answer is the decline or may become it."""
        if self.listen is None:
            return
        rendering, unfinished = self._rendering, (last,) if last else ()
        if self._decline and may_decline(f"{rendering.opening}\n{t.plain_text(unfinished)}", self._decline):
            self.listen(Delta(""))
            return
        self._decline = ""
        text = rendering.markdown_with(last) if last else rendering.markdown
        new = text[len(self._shown) :] if text.startswith(self._shown) else ""
        self._shown += new
        first = max(0, len(self._patches) - 1)
        blocks = (*self._finished, *unfinished)[first:]
        numbers = rendering.reference_numbers(blocks)
        for place, block in enumerate(blocks, start=first):
            nodes = json_nodes((block,), lambda chunk: (numbers[chunk], self._chunk_ids[chunk]))
            if self._patches[place:] != [nodes]:
                self._patches[place:] = [nodes]
                self.listen(Patch(place, tuple(nodes)))
        self.listen(Delta(new))


def parse_answer(text: str, form: CitationForm, context: Context) -> ParsedAnswer:
    """Parse the whole ``text`` of an answer of ``context``."""
    return StreamingParser(form, context).end(text)


def _stable_lines(text: str) -> str:
    """Return ``text`` without its last line if that may begin anything, and without one that may be a table's head."""
    lines = text.split("\n")
    if _UNSURE_LINE.fullmatch(lines[-1]):
        lines.pop()
        if lines and "|" in lines[-1] and not _ends_in_table(lines):
            lines.pop()
    return "\n".join(lines)


def _ends_in_table(lines: Sequence[str]) -> bool:
    """Return whether a line with bars is followed by a line of dashes with as many bars."""

    def bars(line: str) -> int:
        return line.strip(" \t>|").count("|")

    pairs = pairwise(lines[-200:])
    return any("|" in head and _DASHES.fullmatch(line) and bars(head) == bars(line) for head, line in pairs)


def _stable_part(block: t.Block, source: str, is_allowed: Callable[[str], bool]) -> t.Block | None:
    """Return the stable part of ``block``, parsed from ``source``; ``is_allowed`` says which addresses stay links.

    With a tag outside of code nothing is stable: it may make several blocks of one.
    """
    tags_in_code = sum(len(_TAG.findall(node.text)) for node in t.walk((block,)) if isinstance(node, t.Code))
    if not isinstance(block, t.CodeBlock) and len(_TAG.findall(source)) > tags_in_code:
        return None
    match block:
        case t.Paragraph() | t.Heading():
            words = _without_partial_mark(_stable_run(block.children, is_allowed, ended=source[-1:].isspace()))
            return replace(block, children=words) if words else None
        case t.ListBlock() | t.ListItem() | t.BlockQuote():
            *blocks, last = block.children
            blocks += [part] if (part := _stable_part(last, source, is_allowed)) else []
            return replace(block, children=tuple(blocks)) if blocks else None  # type: ignore[arg-type]
        case t.TableBlock() if not source.endswith("\n"):
            head, *rows = block.children
            return replace(block, children=(head, *rows[:-1]))
        case t.CodeBlock():
            fenced = any(line.lstrip(" \t>-*+0123456789.)").startswith(block.fence) for line in source.split("\n"))
            # The fence of an indented block grows with the ticks that are still to come in it.
            return replace(block, render_end=block.has_end) if fenced else None
        case _:
            return block


def _stable_run(run: Sequence[t.Inline], is_allowed: Callable[[str], bool], *, ended: bool) -> t.Run:
    """Return the stable beginning of ``run``; ``ended``: its last word is complete."""
    stable: list[t.Inline] = []
    for node in run:
        match node:
            case t.Text(text) if unsure := _MAY_PAIR.search(text):
                return _whole_words([*stable, t.Text(text[: unsure.start()])])
            case t.Styled():
                is_unsure = any(_BINDS.search(one.text) for one in t.walk_run((node,)) if isinstance(one, t.Text))
            case t.Link():
                is_unsure = not is_allowed(node.href)
            case t.Cite():
                is_unsure = node is run[-1] and not ended
            case _:
                is_unsure = isinstance(node, t.Mark)
        if is_unsure:
            return _whole_words(stable)
        stable.append(node)
    return tuple(stable) if ended else _whole_words(stable)


def _whole_words(run: list[t.Inline]) -> t.Run:
    """Return ``run`` up to its last blank."""
    while run:
        node = run.pop()
        if isinstance(node, t.LineBreak):
            return tuple(run)
        if isinstance(node, t.Text) and (ends := [match.start() for match in _BETWEEN_WORDS.finditer(node.text)]):
            return (*run, t.Text(node.text[: ends[-1]]))
    return ()


def _without_partial_mark(run: t.Run) -> t.Run:
    """Return ``run`` without the beginning of a mark at its end, and without text that a removed mark takes along."""
    run = t.trim_run(run)
    last = run[-1] if run else None
    if not isinstance(last, t.Text):
        return run
    begun = _MAY_CITE.search(last.text)
    text = last.text[: begun.start()] if begun else last.text
    ends = next((found.start() for found in _MAY_GO.finditer(text) if found.end() == len(text)), len(text))
    return t.trim_run([*run[:-1], t.Text(text[:ends])])
