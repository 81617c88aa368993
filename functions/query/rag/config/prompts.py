"""Prompt templates: plain text with {placeholders}."""

from __future__ import annotations

import hashlib
from pathlib import Path

from rag.config.settings import Settings
from rag.errors import ConfigurationError


class Prompts:
    """The templates of one profile, and a digest of those that were loaded."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._loaded: dict[str, str] = {}

    def load(self, name: str, *placeholders: str) -> str:
        """Return the template ``name``; see ``load_prompt``."""
        self._loaded[name] = load_prompt(self._settings.prompt_path(name), *placeholders)
        return self._loaded[name]

    def digest(self) -> str:
        """Return a hash (hex) of every loaded template: the version of the prompts."""
        text = "\0".join(f"{name}\0{body}" for name, body in sorted(self._loaded.items()))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def load_prompt(path: Path, *placeholders: str) -> str:
    """Return the template at ``path``, which must hold each of ``placeholders`` exactly once.

    Raises:
        ConfigurationError: the file cannot be read, or a placeholder is missing or repeated.
    """
    try:
        template = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigurationError(f"Prompt template {path.name!r} of {path.parent.name!r} cannot be read") from exc
    for name in placeholders:
        if template.count(f"{{{name}}}") != 1:
            raise ConfigurationError(
                f"Prompt template {path.name!r} of {path.parent.name!r} must hold {{{name}}} exactly once"
            )
    return template
