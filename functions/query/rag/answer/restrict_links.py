"""What an answer may lead to: addresses that passages hold which it cites, and nothing else.

Another link becomes its words, an image what stands for it, an address that stands bare becomes code, which nobody
makes a link of. A block may lead where the passages lead that it cites itself, or that a block before it does: so what
was sent of an answer while it grew never has to be taken back.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from html import unescape

from knowledge.model.values import Chunk
from rag.answer import tree as t
from rag.answer.printers import inline_text
from rag.answer.tree import map_runs, merge_text, walk, walk_run
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
            links = [node for node in walk((block,)) if isinstance(node, t.Link)]
            self.look_at(block)
            removed += sum(not self.leads(link) for link in links)
            made += map_runs((block,), self._run)
        return RestrictedTree(tuple(made), removed)

    def look_at(self, block: t.Block) -> None:
        """Hold what the passages name that ``block`` cites."""
        self._cite(
            chunk
            for node in walk((block,))
            if isinstance(node, t.Cite) and node.is_explicit
            for chunk in node.candidates
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
            self._held = self._held | allowed_urls(self._chunks[number] for number in new)
        return self._held

    def _run(self, run: t.Run) -> t.Run:
        may_lead = any(
            isinstance(node, t.Link) or (isinstance(node, t.Text) and HINT.search(node.text)) for node in walk_run(run)
        )
        return restrict_run(run, self._addresses()) if may_lead else run


def restrict_run(run: Iterable[t.Inline], held: Container[str], *, in_link: bool = False) -> t.Run:
    """A run of nodes in which nothing leads elsewhere than to ``held`` (keys of addresses).

    An address ``in_link``, among its words, is code: a reader might link it once more.
    """
    return merge_text(made for node in run for made in _restricted(node, held, in_link))


def _restricted(node: t.Inline, held: Container[str], in_link: bool) -> Iterator[t.Inline]:
    match node:
        case t.Text(text):
            yield from (_bare(one, held, in_link) for one in link_addresses(text))
        case t.Link() if node.bare:
            yield _bare(node, held, in_link)
        case t.Link():
            words = restrict_run(node.children, held, in_link=True)
            yield from (replace(node, children=words),) if leads_to(node.href, held) else words
        case t.Styled() | t.ClaimSpan():
            yield replace(node, children=restrict_run(node.children, held, in_link=in_link))
        case _:
            yield node


def _bare(node: t.Text | t.Link, held: Container[str], in_link: bool) -> t.Inline:
    stays = isinstance(node, t.Text) or (leads_to(node.href, held) and not in_link)
    return node if stays else t.Code(inline_text((node,)))


def leads_to(href: str, held: Container[str]) -> bool:
    """Whether ``href`` is a held address, as a link and as it reads."""
    return link_key(href) in held and (("@" in href and ":" not in href) or address_key(href) in held)


# What renderers of Markdown make a link of without being told to (GitHub's rules), and a little more.
_BEGINS = r"(?:(?:https?|ftp)://|(?<![A-Za-z0-9])(?:www\.|(?:mailto|xmpp):(?=[^\s@]+@))|(?<![\w:/])//(?=[^\s/<]+\.\S))"
_MAIL = r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)+"
BARE_ADDRESS = re.compile(rf"{_BEGINS}[^\s<>\[\]`\"|*\\^{{}}]*|{_MAIL}", re.IGNORECASE)
HINT = re.compile(r"//|@|www\.|mailto:|xmpp:", re.IGNORECASE)
"""No text without any of these holds an address: most hold none."""
_TRAILING = ".,;:!?_'~"
_TARGETS = re.compile(
    r"\]\(\s*(?:<([^<>\n]*)>|((?:\\.|[^\s()<>\\]|\((?:\\.|[^\s()\\])*\))+))"
    r"|\]:[ \t]*<?([^\s<>]+)"
    r"|<([a-zA-Z][\w+.-]*:[^\s<>]*|[^\s<>@]+@[^\s<>]+)>"
    r"|\b(?:href|src)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'<>]+))",
    re.IGNORECASE,
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def allowed_urls(chunks: Iterable[Chunk]) -> frozenset[str]:
    """The keys (``address_key``) of all addresses in the chunks' texts, titles, sections and other metadata."""
    keys: set[str | None] = set()
    for chunk in chunks:
        extra = (value for value in chunk.extra.values() if isinstance(value, str))
        known = (chunk.url, *chunk.source_urls, *extra)
        keys |= {link_key(address) for address in known if not any(map(str.isspace, address))}
        for text in (chunk.text, chunk.title, chunk.section, *known):
            keys |= {link_key(address) for address in _addresses(text)}
    return frozenset(key for key in keys if key)


def link_key(address: str) -> str | None:
    """``address_key`` of an address as a text has it: with references to characters, perhaps one of mail."""
    plain = unescape(address)
    return address_key(f"mailto:{plain}" if "@" in plain and not re.search("[:/]", plain) else plain)


def bare_address(match: re.Match[str]) -> str:
    """What of a match of ``BARE`` is the address: without punctuation and a bracket behind it."""
    address = match[0].rstrip(_TRAILING)
    while address.endswith(")") and address.count(")") > address.count("("):
        address = address[:-1].rstrip(_TRAILING)
    return address


def _addresses(text: str) -> Iterator[str]:
    for match in BARE_ADDRESS.finditer(text):
        yield match[0]
        yield bare_address(match)
    for match in _TARGETS.finditer(text):
        yield _ESCAPED.sub(r"\1", next(filter(None, match.groups()), "")).strip().replace(" ", "%20")


def link_addresses(text: str) -> Iterator[t.Text | t.Link]:
    """``text`` with links for its addresses."""
    at = 0
    for match in BARE_ADDRESS.finditer(text) if HINT.search(text) else ():
        address = bare_address(match) or match[0]
        if at < match.start():
            yield t.Text(text[at : match.start()])
        yield t.Link(address, (t.Text(address),))
        at = match.start() + len(address)
    if at < len(text):
        yield t.Text(text[at:])
