"""Pages that say "not found" with status 200, told by what the host answers for an address that cannot exist."""

from __future__ import annotations

import re
from collections import Counter
from urllib.parse import unquote, urljoin, urlsplit

from bs4 import BeautifulSoup

from documents.crawl import kinds
from documents.crawl.addresses import normal, short_hash
from documents.crawl.replies import Client, Exhausted, Trouble
from documents.crawl.robots import Rules
from documents.crawl.visit import NotTaken

SAME = "the page that the site has for addresses that do not exist"
_WORD = re.compile(r"[^\W\d_]+")  # no digits: such pages say the time, or a number for the operator
_UNSEEN = ["script", "style", "noscript", "template"]


class NotFoundPage:
    """The host's page for what does not exist; the first page that is compared has it asked for, once."""

    def __init__(self, client: Client, rules: Rules) -> None:
        self._client, self._rules = client, rules
        self._asked = False
        self._words: Counter[str] | None = None
        self._address = ""

    def is_meant(self, url: str, body: bytes) -> bool:
        """Whether the HTML ``body`` (UTF-8) of ``url`` is that page: the same words, but for those of the addresses."""
        if not self._asked:
            self._asked = True
            self._ask(url)
        if self._words is None:
            return False
        of_addresses = set(_words_of(url)) | set(_words_of(self._address))
        return _without(_words(body), of_addresses) == _without(self._words, of_addresses)

    def _ask(self, beside: str) -> None:
        """Ask for an address in the folder of ``beside``, with its suffix: another may be another program's."""
        dot, suffix = urlsplit(beside).path.rpartition("/")[2].rpartition(".")[1:]
        self._address = normal(urljoin(beside, f"no-{short_hash(beside)}-page{dot}{suffix if dot else ''}"))
        if not self._rules.allow(self._address):
            return
        try:
            reply = self._client.get(self._address, hop=_not_followed)
        except (Trouble, NotTaken, Exhausted):
            return  # nothing to compare with
        declared, charset = reply.media_type
        if reply.status == 200 and kinds.suffix(reply.body, declared, reply.url) == kinds.HTML:
            self._words = _words(kinds.as_text(reply.body, charset, is_html=True).encode())


def _not_followed(target: str) -> str:
    raise NotTaken(target)  # a page that is sent on has an address of its own


def _words(html: bytes) -> Counter[str]:
    page = BeautifulSoup(html.decode("utf-8-sig", errors="replace"), "lxml")
    for tag in page(_UNSEEN):
        tag.decompose()
    return Counter(_WORD.findall(page.get_text(" ").casefold()))


def _words_of(address: str) -> list[str]:
    return _WORD.findall(unquote(address).casefold())


def _without(words: Counter[str], others: set[str]) -> Counter[str]:
    return Counter({word: count for word, count in words.items() if word not in others})
