"""What an ingest was asked for; an index remembers it, so that the next one need not be told again."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from knowledge.model.manifest import Provenance


MAX_PAGES = 1000
"""So many pages of a site are fetched where nobody says how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRequest:
    """``paths`` (folders, files, addresses) as they were given, and options under the names of the command's."""

    paths: tuple[str, ...] = ()
    base_url: str = ""
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

        Other paths than the last time's have nothing of it; no paths at all are the last time's.
        """
        if self.paths and list(map(_place, self.paths)) != list(map(_place, made.paths)):
            return self
        last: dict[str, Any] = {**made.options, "base_url": made.base_url, "paths": made.paths}
        known = asdict(self).keys() - set(given)
        kept: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in last.items() if name in known
        }
        return replace(self, **kept)


def _place(path: str) -> str:
    """The same for every way to write a path: ``docs``, ``./docs/``, ``/home/me/docs``."""
    return path if is_address(path) else os.path.realpath(path)


def is_one_of(path: str, paths: Iterable[str]) -> bool:
    """Whether ``path`` names the same place as one of ``paths``."""
    return _place(path) in map(_place, paths)


def is_address(path: str) -> bool:
    """Whether a path is an address on the web."""
    return path.lower().startswith(("http://", "https://"))
