"""The tree of an answer while a model writes it: finished blocks, and what is certain of the last one.

What was told of it never has to be taken back, and the answer is this tree: nothing is read a second time.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

from rag.answer.forms import CitationForm
from rag.answer.markdown import markdown
from rag.answer.printers import cited_chunks, nodes_of, plain_text
from rag.answer.read import MAX_CHARS, Reader, normalised
from rag.answer.references import References
from rag.answer.restrict_links import RestrictLinks
from rag.answer.safe import safe_part, sure_lines
from rag.answer.tree import Block, Tree
from rag.contract.decline import may_decline
from rag.values.answer import Context
from rag.values.events import Delta, Listen, Patch

OPENING = 1000
"""Characters at the beginning of an answer that are compared with the decline sentence, which is shorter."""
STEP = 40
"""The last block is read again once a further part of that many is there: long ones cost no more for growing slowly."""


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """An answer's tree with references in place of its marks, leading nowhere but to what it cites.

    Of the names in its marks ``valid`` were known and ``removed`` were not; ``links`` counts the addresses that went.
    """

    tree: Tree
    valid: int
    removed: int
    links: int


class GrowingAnswer:
    """The answer that a model writes of ``context``. Called with each piece of its text (``rag.values.chat.OnText``).

    ``listen`` is told what may be shown: nothing as long as the answer is, or may become, ``decline``.
    """

    def __init__(
        self, form: CitationForm, context: Context, *, decline: str = "", listen: Listen | None = None
    ) -> None:
        self._form = form
        chunks = {passage.hit.chunk.number: passage.hit.chunk for passage in context.used}
        self._read = Reader(form, growing=listen is not None)
        self._references = References(form, [passage.hit for passage in context.used])
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

    def end(self, text: str = "") -> ReadAnswer:
        """All of it; what had to wait is told now. ``text`` is the whole, for a writer that told nothing of it."""
        if not self._length:
            self._source = self._taken(text)
        self._finish(self._read(self._source))
        self._source = ""
        if self.listen is not None:
            self._tell(None)
        return ReadAnswer(tuple(self._done), self._valid, self._removed, self._links)

    def _taken(self, text: str) -> str:
        if self._return and text:
            text = text.removeprefix("\n")
        self._return = text.endswith("\r") if text else self._return
        taken = normalised(text, began=self._length > 0)[: MAX_CHARS - self._length]
        self._length += len(taken)
        return taken

    def _look(self) -> None:
        text = sure_lines(self._source)
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
                    self._opening = f"{self._opening}\n{plain_text((block,))}"[:OPENING]
            self._done.append(block)

    def _with(self, block: Block) -> str:
        before = self._done[-1] if self._done else None
        shown = self._form.shown((block,), self._numbers((block,)))
        return f"{self._written}{'\n\n' if self._written else ''}{markdown(shown, before=before).text}"

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
        restrict.look_at(made)
        part = safe_part(made, source, restrict.leads)
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
            nodes = nodes_of((block,), lambda chunk: (numbers[chunk], self._ids[chunk]))
            if self._patches.get(place) != nodes:
                self._patches[place] = nodes
                listen(Patch(place, tuple(nodes)))


def read_answer(text: str, form: CitationForm, context: Context) -> ReadAnswer:
    """The tree of a whole ``text``."""
    return GrowingAnswer(form, context).end(text)
