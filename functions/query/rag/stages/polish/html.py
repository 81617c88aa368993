"""Polishing: HTML in the answer becomes Markdown."""

from __future__ import annotations

from rag.stages.polish.html_to_markdown import html_to_markdown
from rag.values.answer import Context, Polished


def polish_html(text: str, context: Context) -> Polished:
    """``text`` as Markdown; see ``rag.stages.polish.html_to_markdown``."""
    converted = html_to_markdown(text)
    return Polished(converted, ("converted HTML in the answer to Markdown",) if converted != text else ())
