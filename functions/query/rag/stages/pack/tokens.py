"""Token counting where no model reads the context."""

from __future__ import annotations

CHARS_PER_TOKEN = 4
"""The seeds' rule of thumb for English text."""


class RoughTokens:
    """Four characters a token: for the extractive engine, which has no tokens; no bound for any model's count."""

    def count(self, text: str) -> int:
        """Tokens in ``text``, rounded up."""
        return -(-len(text) // CHARS_PER_TOKEN)
