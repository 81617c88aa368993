"""Prompt templates: plain text with {placeholders}."""

from __future__ import annotations

from pathlib import Path

from rag.errors import ConfigurationError


def load_prompt(path: Path, *placeholders: str) -> str:
    """The template at ``path``, which must hold each of ``placeholders`` exactly once.

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
