"""What of a chunk is embedded and indexed: its text under its document's title."""

from __future__ import annotations


def embed_text(title: str, text: str) -> str:
    """What is embedded of a chunk: its document's title, then its text; the title once if the text begins with it."""
    first = text.partition("\n")[0].strip()
    if not title or (first.startswith("#") and first.lstrip("#").strip() == title.strip()):
        return text
    return f"{title}\n{text}"
