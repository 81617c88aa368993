"""Words that are nothing but the names of sources, as escaped labels, labels in code and addresses with links are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from unicodedata import normalize

from rag.answer import tree as t
from rag.answer.printers import inline_text


def names_only(names: Iterable[str]) -> Callable[[str], bool]:
    """Tells of words whether they are ``names`` of sources and nothing else, however they are set apart."""
    keys = sorted({key for key in map(_key, names) if key}, key=len, reverse=True)

    def is_name(words: str) -> bool:
        whole = left = _key(words)
        for key in keys:
            left = left.replace(key, "")
        return whole != left == ""

    return is_name


def is_address(node: t.Inline) -> bool:
    """Whether ``node`` is a link that says its own address, or a number alone ("[1](...)"): it names a source."""
    words = inline_text((node,))
    return isinstance(node, t.Link) and not node.is_bare and (node.href in words or not any(map(str.isalpha, words)))


def _key(words: str) -> str:
    """The letters and figures of ``words``, without case."""
    return "".join(filter(str.isalnum, normalize("NFKC", words).casefold()))
