"""What an ingest was asked for; an index remembers it, so that the next one need not be told again."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from knowledge.model.manifest import Provenance


MAX_PAGES = 1000
"""So many pages of a site are fetched where nobody says how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """``paths`` (folders, files, addresses) as they were given, and options under the names of the command's.

    ``base_url`` is for all paths that none of ``base_urls`` (``PATH=URL`` each) is for. ``read_as`` are
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
        """The options that are not as they usually are, by name."""
        usual = asdict(IngestRequest())
        return {name: value for name, value in asdict(self).items() if name != "paths" and value != usual[name]}

    @property
    def formats(self) -> dict[str, str]:
        """The suffix that files are read as, by the end of their names, both lower case and with the dot."""
        pairs = (pair.lower().partition("=") for pair in self.read_as)
        return {f".{end.strip().lstrip('.')}": f".{format_.strip().lstrip('.')}" for end, _, format_ in pairs}

    def base_of(self, path: str) -> str:
        """The base address of the documents in one of ``paths``, ``""`` where nobody said one."""
        pairs = (split_base(pair) for pair in self.base_urls)
        return next((url for named, url in pairs if _place(named) == _place(path)), self.base_url)

    def made(self, profile: str, title: str, tables: Mapping[str, str]) -> Provenance:
        """What the manifest keeps of it, of the ``title`` of the documents' site, and of the tables that were read."""
        from knowledge.model.manifest import Provenance

        options = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self.options.items()
            if name != "base_url"
        }
        return Provenance(
            profile=profile, title=title, base_url=self.base_url, paths=self.paths, options=options, tables=tables
        )

    def as_last_time(self, made: Provenance, *, given: Collection[str]) -> IngestRequest:
        """With what the manifest keeps, but for the options that are ``given`` now.

        Other paths than the last time's have nothing of it, but for folders that were moved; no paths at all are the
        last time's.
        """
        same = len(self.paths) == len(made.paths) and all(map(_is_or_was, self.paths, made.paths))
        if self.paths and not same:
            return self
        last: dict[str, Any] = {**made.options, "base_url": made.base_url, "paths": made.paths}
        if self.paths:
            moved = {_place(old): new for old, new in zip(made.paths, self.paths, strict=True)}
            pairs = [split_base(str(pair)) for pair in last.get("base_urls", ())]
            last |= {"paths": self.paths, "base_urls": [f"{moved.get(_place(old), old)}={url}" for old, url in pairs]}
        known = asdict(self).keys() - set(given)
        kept: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in last.items() if name in known
        }
        return replace(self, **kept)


def split_base(text: str) -> tuple[str, str]:
    """``PATH=URL`` as both; the path is ``""`` where ``text`` is an address alone, or no such pair."""
    path, mark, url = text.partition("=")
    return (path, url) if mark and path and not is_address(path) and is_address(url) else ("", text)


def bases_of(paths: Sequence[str], base_urls: Sequence[str]) -> dict[str, Any]:
    """``paths``, ``base_url`` and ``base_urls`` of an ``IngestRequest``: PATH=URL may be either."""
    pairs = [split_base(path) for path in paths]
    bases = [split_base(url) for url in base_urls]
    return {
        "paths": tuple(named or path for named, path in pairs),
        "base_url": next((url for named, url in bases if not named), ""),
        "base_urls": tuple(f"{named}={url}" for named, url in (*pairs, *bases) if named),
    }


def _is_or_was(path: str, last: str) -> bool:
    """Whether ``path`` is the ``last`` one, or where that was moved to under its own name."""
    now, before = _place(path), _place(last)
    if now == before or is_address(now) or is_address(before):
        return now == before
    return Path(now).name == Path(before).name and not os.path.lexists(before)


def _place(path: str) -> str:
    """The same for every way to write a path: ``docs``, ``./docs/``, ``/home/me/docs``."""
    return path if is_address(path) else os.path.realpath(path)


def is_one_of(path: str, paths: Iterable[str]) -> bool:
    """Whether ``path`` names the same place as one of ``paths``."""
    return _place(path) in map(_place, paths)


def is_address(path: str) -> bool:
    """Whether a path is an address on the web."""
    return path.lower().startswith(("http://", "https://"))
