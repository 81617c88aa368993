"""The paths and options of an ingest; the index remembers them for the next ingest of the same paths."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from knowledge.model.manifest import Provenance


MAX_PAGES = 1000
"""The default limit of pages that are fetched from a site."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """``paths`` (folders, files, addresses) as they were given, and options under the names of the command's.

    ``base_url`` is for all paths without a pair in ``base_urls`` (``PATH=URL`` each). ``read_as`` are
    ``SUFFIX=FORMAT``.
    """

    paths: tuple[str, ...] = ()
    base_url: str = ""
    base_urls: tuple[str, ...] = ()
    keep_suffix: bool = False
    read_as: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    follow_links: bool = False
    drafts: bool = False
    allow_host: tuple[str, ...] = ()
    max_pages: int = MAX_PAGES
    acronyms: str = ""
    filters: str = ""
    cut: str = ""

    @property
    def options(self) -> dict[str, object]:
        """The options that differ from their defaults, by name."""
        defaults = asdict(IngestRequest())
        return {name: value for name, value in asdict(self).items() if name != "paths" and value != defaults[name]}

    @property
    def local_paths(self) -> list[Path]:
        """The folders and files among ``paths``."""
        return [Path(path) for path in self.paths if not is_address(path)]

    @property
    def formats(self) -> dict[str, str]:
        """The suffix that files are read as, by the end of their names, both lower case and with the dot."""
        pairs = (pair.lower().partition("=") for pair in self.read_as)
        return {f".{end.strip().lstrip('.')}": f".{format_.strip().lstrip('.')}" for end, _, format_ in pairs}

    def find_base_url(self, path: str) -> str:
        """Return the base address of the documents in one of ``paths``, or ``""``."""
        pairs = (split_base(pair) for pair in self.base_urls)
        return next((url for named, url in pairs if _real_path(named) == _real_path(path)), self.base_url)

    def to_provenance(self, profile: str, title: str, tables: Mapping[str, str]) -> Provenance:
        """Return the manifest's record of this request, of the site's ``title``, and of the ``tables`` by name."""
        from knowledge.model.manifest import Provenance

        options = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self.options.items()
            if name != "base_url"
        }
        return Provenance(
            profile=profile, title=title, base_url=self.base_url, paths=self.paths, options=options, tables=tables
        )

    def restore(self, last: Provenance, *, given: Collection[str]) -> IngestRequest:
        """Return this request with the options of the ``last`` one, except those that are ``given`` now.

        Options are restored only for the same paths, or for folders that were moved. Without paths, the last
        request's paths are used.
        """
        is_same = len(self.paths) == len(last.paths) and all(map(_is_same_or_moved, self.paths, last.paths))
        if self.paths and not is_same:
            return self
        values: dict[str, Any] = {**last.options, "base_url": last.base_url, "paths": last.paths}
        if self.paths:
            moved = {_real_path(old): new for old, new in zip(last.paths, self.paths, strict=True)}
            pairs = [split_base(str(pair)) for pair in values.get("base_urls", ())]
            base_urls = [f"{moved.get(_real_path(old), old)}={url}" for old, url in pairs]
            values |= {"paths": self.paths, "base_urls": base_urls}
        names = asdict(self).keys() - set(given)
        restored: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in values.items() if name in names
        }
        return replace(self, **restored)


def split_base(text: str) -> tuple[str, str]:
    """Split ``PATH=URL``; the path is ``""`` if ``text`` is only an address, or is not such a pair."""
    path, mark, url = text.partition("=")
    return (path, url) if mark and path and not is_address(path) and is_address(url) else ("", text)


def parse_paths(paths: Sequence[str], base_urls: Sequence[str]) -> dict[str, Any]:
    """Return ``paths``, ``base_url`` and ``base_urls`` of an ``IngestRequest``; both arguments may hold PATH=URL."""
    pairs = [split_base(path) for path in paths]
    bases = [split_base(url) for url in base_urls]
    return {
        "paths": tuple(named or path for named, path in pairs),
        "base_url": next((url for named, url in bases if not named), ""),
        "base_urls": tuple(f"{named}={url}" for named, url in (*pairs, *bases) if named),
    }


def _is_same_or_moved(path: str, last: str) -> bool:
    """Whether ``path`` is the ``last`` one, or where it was moved under the same name."""
    now, before = _real_path(path), _real_path(last)
    if now == before or is_address(now) or is_address(before):
        return now == before
    return Path(now).name == Path(before).name and not os.path.lexists(before)


def _real_path(path: str) -> str:
    """Return the same path for every spelling: ``docs``, ``./docs/``, ``/home/me/docs``."""
    return path if is_address(path) else os.path.realpath(path)


def is_one_of(path: str, paths: Iterable[str]) -> bool:
    """Whether ``path`` names the same place as one of ``paths``."""
    return _real_path(path) in map(_real_path, paths)


def is_address(path: str) -> bool:
    """Whether a path is an address on the web."""
    return path.lower().startswith(("http://", "https://"))
