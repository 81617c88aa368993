"""What a caller gives for reading files: readers of other formats, and what is known of the site of its pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from knowledge.read.walk import FoundFile

type Meta = Mapping[Any, Any]
"""What a front matter holds."""


class NoText(ValueError):
    """A file that is as it should be, and in which there is nothing to read."""


@dataclass(frozen=True, slots=True)
class ConvertedText:
    """What a reader made of a file: Markdown, front matter allowed, and what was not as it should be."""

    text: str
    caveats: tuple[str, ...] = ()


class Reader(Protocol):
    """A file's bytes as Markdown text, front matter allowed; ``found`` is where it is, for what it says of others.

    Raises ValueError or SourceUnreadable.
    """

    def __call__(self, data: bytes, found: FoundFile | None = None, /) -> str | ConvertedText:
        """Read it."""
        ...


class SiteRules(Protocol):
    """What is known of the site that a file is a page of; it can be sent to another process."""

    def as_read(self, text: str, found: FoundFile, meta: Meta) -> str:
        """What a reader of the page sees of the Markdown ``text``, as Markdown."""
        ...

    def address(self, found: FoundFile, meta: Meta) -> str:
        """The page's URL, ``""`` where nothing tells it."""
        ...

    def named(self, found: FoundFile) -> bool:
        """Whether the site calls a page as its file, whatever its headings say."""
        ...

    def anchors(self, found: FoundFile) -> str:
        """How its headings become parts of its URL (a name in ``knowledge.cut.anchors``); ``""``: nobody knows."""
        ...
