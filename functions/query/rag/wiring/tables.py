"""A deployment's own tables: acronyms and filter rules, read once at the start."""

from __future__ import annotations

import hashlib
from pathlib import Path

from rag.config.settings import Settings
from rag.errors import ConfigurationError
from rag.stages.query.acronyms import AcronymTable, parse_csv, parse_json
from rag.stages.query.filter_rules import RuleTable, parse_rules


class Tables:
    """The tables that ``settings`` name, or those that lie beside the profile's prompts; empty where there are none.

    Raises:
        ConfigurationError: a table that is named cannot be read.
    """

    def __init__(self, settings: Settings) -> None:
        self._acronyms = _place(settings.acronyms_file, settings.prompt_path("acronyms.json"))
        self._rules = _place(settings.filter_rules_file, settings.prompt_path("filters.json"))
        self._texts = {path: _read(path) for path in (self._acronyms, self._rules) if path}

    def acronyms(self) -> AcronymTable:
        """The acronym table, of JSON or, by the file's ending, CSV."""
        if self._acronyms is None:
            return AcronymTable()
        parse = parse_csv if self._acronyms.suffix.lower() == ".csv" else parse_json
        return parse(self._texts[self._acronyms])

    def rules(self) -> RuleTable:
        """The filter rules."""
        return parse_rules(self._texts[self._rules]) if self._rules else RuleTable(())

    def digest(self) -> str:
        """A hash (hex) of both tables: their version."""
        return hashlib.sha256("\0".join(self._texts.values()).encode()).hexdigest()[:16]


def _place(named: str, beside_prompts: Path) -> Path | None:
    if named:
        return Path(named)
    return beside_prompts if beside_prompts.is_file() else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigurationError(f"The table {path.name!r} cannot be read") from exc
