"""Restrict an answer's links to addresses in the passages that it cites.

Any other link keeps only its words, an image its alternative text, and a bare address is shown as code, which no
renderer links. A block may link to addresses of passages that it or a block before it cites, so that a streamed answer
never has to take a link back. ``link_addresses`` finds bare addresses for the parser and the renderer too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from html import unescape

from knowledge.model.values import Chunk
from rag.answer import tree as t
from rag.text.sources import address_key

# What Markdown renderers link by themselves (GitHub's rules), and a little more.
_BEGINS = r"(?:(?:https?|ftp)://|(?<![A-Za-z0-9])(?:www\.|(?:mailto|xmpp):(?=[^\s@]+@))|(?<![\w:/])//(?=[^\s/<]+\.\S))"
_MAIL = r"(?<![\w.+-])[\w.+-]++@[\w-]++(?:\.[\w-]++)+"
BARE_ADDRESS = re.compile(rf"{_BEGINS}[^\s<>\[\]`\"|*\\^{{}}]*|{_MAIL}", re.IGNORECASE)
_HINT = re.compile(r"//|@|www\.|mailto:|xmpp:", re.IGNORECASE)
"""Every address has one of these; most texts have none."""
_TRAILING = ".,;:!?_'~"
_TARGETS = re.compile(
    r"\]\(\s*(?:<([^<>\n]*)>|((?:\\.|[^\s()<>\\]|\((?:\\.|[^\s()\\])*\))+))"
    r"|\]:[ \t]*<?([^\s<>]+)"
    r"|<([a-zA-Z][\w+.-]*:[^\s<>]*|[^\s<>@]+@[^\s<>]+)>"
    r"|\b(?:href|src)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'<>]+))",
    re.IGNORECASE,
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


class RestrictLinks:
    """Restricts the blocks of one answer, in their order, to addresses of the cited ones among its ``chunks``.

    ``removed`` counts the removed links. A copy can look ahead without an effect on the original.
    """

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        by_number = {chunk.number: chunk for chunk in chunks}
        self._urls = cache(lambda number: allowed_urls(by_number[number]))  # most answers have no links and need none
        self._cited: frozenset[int] = frozenset()
        self.removed = 0

    def __call__(self, tree: Iterable[t.Block], cited: Iterable[int] = ()) -> t.Tree:
        """Restrict the next blocks; ``cited`` are the numbers of further cited chunks."""
        self._cited = self._cited.union(cited)
        blocks: list[t.Block] = []
        for block in tree:
            self.allow_cited(block)
            links = [node for node in t.walk((block,)) if isinstance(node, t.Link)]
            self.removed += sum(not self.is_allowed(link.href) for link in links)
            blocks += t.map_runs((block,), self._run)
        return tuple(blocks)

    def allow_cited(self, block: t.Block) -> None:
        """Allow the addresses of the passages that ``block`` cites."""
        cites = (node for node in t.walk((block,)) if isinstance(node, t.Cite) and node.is_explicit)
        self._cited = self._cited.union(*(cite.candidates for cite in cites))

    def is_allowed(self, href: str) -> bool:
        """Return whether ``href`` is an address of a passage cited so far, both unescaped and to the letter."""
        is_mail = "@" in href and ":" not in href
        return self._has(link_key(href)) and (is_mail or self._has(address_key(href)))

    def _has(self, key: str | None) -> bool:
        return any(key in self._urls(number) for number in self._cited)

    def _run(self, run: t.Run) -> t.Run:
        may_link = any(
            isinstance(node, t.Link) or (isinstance(node, t.Text) and _HINT.search(node.text))
            for node in t.walk_run(run)
        )
        return _restrict_run(run, self.is_allowed) if may_link else run


def _restrict_run(run: Iterable[t.Inline], is_allowed: Callable[[str], bool], *, in_link: bool = False) -> t.Run:
    """Return ``run`` with allowed links only; an address in a link's words is code, as a renderer might link it too."""

    def restrict(node: t.Inline) -> Iterator[t.Inline]:
        match node:
            case t.Text(text):
                yield from map(restrict_bare, link_addresses(text))
            case t.Link() if node.is_bare:
                yield restrict_bare(node)
            case t.Link():
                words = _restrict_run(node.children, is_allowed, in_link=True)
                yield from (replace(node, children=words),) if is_allowed(node.href) else words
            case t.Styled() | t.ClaimSpan():
                yield replace(node, children=_restrict_run(node.children, is_allowed, in_link=in_link))
            case _:
                yield node

    def restrict_bare(node: t.Text | t.Link) -> t.Inline:
        stays = isinstance(node, t.Text) or (not in_link and is_allowed(node.href))
        return node if stays else t.Code(t.inline_text((node,)))

    return t.merge_text(restricted for node in run for restricted in restrict(node))


def allowed_urls(chunk: Chunk) -> frozenset[str]:
    """Return the keys (``address_key``) of all addresses in the chunk's text, title, section and other metadata."""
    known = (chunk.url, *chunk.source_urls, *(value for value in chunk.extra.values() if isinstance(value, str)))
    keys = {link_key(address) for address in known if not any(map(str.isspace, address))}
    for text in (chunk.text, chunk.title, chunk.section, *known):
        bare = [match[0] for match in BARE_ADDRESS.finditer(text)]
        targets = [next(filter(None, match.groups()), "") for match in _TARGETS.finditer(text)]
        plain = [_ESCAPED.sub(r"\1", target).strip().replace(" ", "%20") for target in targets]
        keys |= {link_key(address) for address in (*bare, *map(_trim_address, bare), *plain)}
    return frozenset(key for key in keys if key)


def link_key(address: str) -> str | None:
    """Return ``address_key`` of an address in a text, where it may have character references or lack ``mailto:``."""
    plain = unescape(address)
    return address_key(f"mailto:{plain}" if "@" in plain and not re.search("[:/]", plain) else plain)


def _trim_address(address: str) -> str:
    """Return ``address`` without punctuation and an unpaired bracket at its end."""
    address = address.rstrip(_TRAILING)
    while address.endswith(")") and address.count(")") > address.count("("):
        address = address[:-1].rstrip(_TRAILING)
    return address


def link_addresses(text: str) -> Iterator[t.Text | t.Link]:
    """Yield ``text`` with its bare addresses as links."""
    at = 0
    for match in BARE_ADDRESS.finditer(text) if _HINT.search(text) else ():
        address = _trim_address(match[0]) or match[0]
        if at < match.start():
            yield t.Text(text[at : match.start()])
        yield t.Link(address, (t.Text(address),))
        at = match.start() + len(address)
    if at < len(text):
        yield t.Text(text[at:])
