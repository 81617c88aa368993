"""Where an answer cites, as annotations of OpenAI's type ``url_citation``."""

from __future__ import annotations

from typing import Any

from rag.text.addresses import source_url
from rag.values.answer import Answer


def url_citations(answer: Answer, *, page: str) -> list[dict[str, Any]]:
    """Each place in the text that cites, with the address of its source, else of the passage on ``page``."""
    references = {one.n: one.hit.chunk for one in answer.references}
    found = []
    for mark in answer.marks:
        chunk = references[mark.n]
        url = source_url(chunk) or f"{page}#{chunk.id}"
        cited = {"start_index": mark.start, "end_index": mark.end, "title": chunk.title, "url": url}
        found.append({"type": "url_citation", "url_citation": cited})
    return found
