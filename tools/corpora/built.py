"""The pages of a built site, the independent truth of addresses, titles and words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from corpora.sources import Source, page


@dataclass(frozen=True, slots=True)
class Built:
    """The HTML files below ``folder``, by the path of the address that a server gives them (no slash at the end)."""

    folder: Path
    files: dict[str, Path]

    @classmethod
    def of(cls, folder: Path) -> Built:
        """All pages of the built site in ``folder``."""
        files: dict[str, Path] = {}
        for file in sorted(folder.rglob("*.html")):
            path = file.relative_to(folder).as_posix()
            for name in (path, path.removesuffix(".html"), path.removesuffix("index.html")):
                files.setdefault(name.strip("/"), file)
        return cls(folder, files)

    def page(self, url: str, base: str) -> Path | None:
        """The file behind an address below ``base``; ``None`` where the site has no such page."""
        path = urlsplit(url).path.removeprefix(urlsplit(base).path.rstrip("/"))
        return self.files.get(unquote(path).strip("/"))


def seen_of(source: bytes, built: Source) -> Counter[str]:
    """The words of a built page that stand in its source too: what a reader sees, without what the build adds."""
    from corpora.sources import words

    return words(source.decode("utf-8", errors="replace")) & built.words


def read_page(file: Path) -> Source:
    """A built page as its reader sees it."""
    return page(file.read_bytes())
