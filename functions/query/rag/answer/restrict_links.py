"""What an answer may lead to: addresses that passages hold which it cites, and nothing else.

Another link becomes its words, an image what stands for it, an address that stands bare becomes code, which nobody
makes a link of. A block may lead where the passages lead that it cites itself, or that a block before it does: so what
was sent of an answer while it grew never has to be taken back.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from knowledge.model.values import Chunk
from rag.answer import tree as t
from rag.answer.held_addresses import HINT, held_by, key_of, linked
from rag.answer.printers import plain
from rag.answer.walk import all_nodes, joined, mapped, nodes
from rag.text.addresses import address_key


@dataclass(frozen=True, slots=True)
class RestrictedTree:
    """A tree that leads to held addresses alone; ``removed`` counts the addresses that it led to beside them."""

    tree: t.Tree
    removed: int = 0


class RestrictLinks:
    """Restricts the blocks of one answer in their order; ``chunks`` are those that its writer saw, by their numbers."""

    def __init__(self, chunks: Mapping[int, Chunk]) -> None:
        self._chunks = chunks
        self._held: frozenset[str] = frozenset()
        self._looked: frozenset[int] = frozenset()
        self._waiting: frozenset[int] = frozenset()

    def __call__(self, tree: Iterable[t.Block], cited: Iterable[int] = ()) -> RestrictedTree:
        """The next blocks; ``cited`` are chunks that are cited beside."""
        self._cite(cited)
        made: list[t.Block] = []
        removed = 0
        for block in tree:
            links = [node for node in all_nodes((block,)) if isinstance(node, t.Link)]
            self.look_at(block)
            removed += sum(not self.leads(link) for link in links)
            made += mapped((block,), self._run)
        return RestrictedTree(tuple(made), removed)

    def look_at(self, block: t.Block) -> None:
        """Hold what the passages name that ``block`` cites."""
        self._cite(
            chunk for node in all_nodes((block,)) if isinstance(node, t.Cite) and node.written for chunk in node.among
        )

    def leads(self, link: t.Link) -> bool:
        """Whether ``link`` leads where the passages do that were cited so far."""
        return leads_to(link.href, self._addresses())

    def _cite(self, numbers: Iterable[int]) -> None:
        """Hold what the chunks of ``numbers`` name, once it is asked for: most answers lead nowhere."""
        self._waiting = self._waiting | {number for number in numbers if number in self._chunks}

    def _addresses(self) -> frozenset[str]:
        if new := self._waiting - self._looked:
            # Made anew: a copy that looks ahead keeps what it finds to itself.
            self._looked = self._looked | new
            self._held = self._held | held_by(self._chunks[number] for number in new)
        return self._held

    def _run(self, run: t.Run) -> t.Run:
        may_lead = any(
            isinstance(node, t.Link) or (isinstance(node, t.Text) and HINT.search(node.text)) for node in nodes(run)
        )
        return restricted(run, self._addresses()) if may_lead else run


def restricted(run: Iterable[t.Inline], held: Container[str], *, in_link: bool = False) -> t.Run:
    """A run of nodes in which nothing leads elsewhere than to ``held`` (keys of addresses).

    An address ``in_link``, among its words, is code: a reader might link it once more.
    """
    return joined(made for node in run for made in _restricted(node, held, in_link))


def _restricted(node: t.Inline, held: Container[str], in_link: bool) -> Iterator[t.Inline]:
    match node:
        case t.Text(text):
            yield from (_bare(one, held, in_link) for one in linked(text))
        case t.Link() if node.bare:
            yield _bare(node, held, in_link)
        case t.Link():
            words = restricted(node.children, held, in_link=True)
            yield from (replace(node, children=words),) if leads_to(node.href, held) else words
        case t.Styled() | t.Statement():
            yield replace(node, children=restricted(node.children, held, in_link=in_link))
        case _:
            yield node


def _bare(node: t.Text | t.Link, held: Container[str], in_link: bool) -> t.Inline:
    stays = isinstance(node, t.Text) or (leads_to(node.href, held) and not in_link)
    return node if stays else t.Code(plain((node,)))


def leads_to(href: str, held: Container[str]) -> bool:
    """Whether ``href`` is a held address, as a link and as it reads."""
    return key_of(href) in held and (("@" in href and ":" not in href) or address_key(href) in held)
