"""Markdown as authors of documentation sites write it, turned into what a reader of the rendered page sees."""

from __future__ import annotations

from documents.markup.clean import as_read
from documents.markup.surroundings import Surroundings

__all__ = ["Surroundings", "as_read"]
