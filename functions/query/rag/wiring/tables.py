"""A deployment's tables of acronyms and filter rules: from the settings, else from the index."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from rag.ask.acronyms import AcronymTable, parse_csv, parse_json
from rag.ask.filters import RuleTable, parse_rules
from rag.config.settings import Settings
from rag.errors import ConfigurationError

if TYPE_CHECKING:
    from rag.wiring.live_index import LiveIndex


class Tables:
    """The tables that ``settings`` name, else the ones in the current ``index``, else empty ones.

    Its methods raise IndexUnavailable if they need the index and there is none.
    """

    def __init__(self, settings: Settings, index: LiveIndex) -> None:
        """Read the tables that ``settings`` name, once.

        Raises:
            ConfigurationError: a table cannot be read, or is not valid.
        """
        files = {"acronyms": settings.acronyms_file, "filters": settings.filter_rules_file}
        self._configured = dict(read_table(option, Path(place)) for option, place in files.items() if place)
        self._index = index

    def acronyms(self) -> AcronymTable:
        """Return the acronyms."""
        return next((_acronyms(name, text) for name, text in self._texts("acronyms")), AcronymTable())

    def rules(self) -> RuleTable:
        """Return the filter rules."""
        return next((_rules(text) for _, text in self._texts("filters")), RuleTable())

    def digest(self) -> str:
        """Return a hash (hex) of both tables."""
        texts = [text for option in ("acronyms", "filters") for _, text in self._texts(option)]
        return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]

    def _texts(self, option: str) -> list[tuple[str, str]]:
        """Return the name and the text of a table in a list, which is empty if there is no such table."""
        with self._index.lease() as index:
            stored = index.manifest.made.tables if index.manifest else {}
        tables = [*self._configured.items(), *stored.items()]
        return [(name, text) for name, text in tables if name.partition(".")[0] == option][:1]


def read_table(option: str, place: Path) -> tuple[str, str]:
    """Read and check a table; return its name (``acronyms.csv``, ``filters.json``) and its text.

    Raises:
        ConfigurationError: it cannot be read, or is not valid; the message names the file or the entry.
    """
    try:
        name, text = f"{option}{place.suffix.lower()}", place.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigurationError(f"The table {place.name!r} cannot be read") from exc
    _acronyms(name, text) if option == "acronyms" else _rules(text)
    return name, text


@lru_cache(maxsize=2)
def _acronyms(name: str, text: str) -> AcronymTable:
    return (parse_csv if name.endswith(".csv") else parse_json)(text)


_rules = lru_cache(maxsize=2)(parse_rules)
