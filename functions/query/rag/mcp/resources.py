"""The documents as MCP resources, page by page, and their passages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from knowledge.model.errors import KnowledgeError
from knowledge.model.values import Chunk
from rag.errors import RagError, UnknownChunk
from rag.mcp.protocol import INTERNAL_ERROR, INVALID_PARAMS, McpError, Params
from rag.text.sources import source_url

if TYPE_CHECKING:
    from rag.wiring.application import Library

SCHEME, DOCUMENT = "chunk://", "document://"
MARKDOWN = "text/markdown"
MAX_CURSOR_DIGITS = 12
TEMPLATES: list[dict[str, Any]] = [
    {
        "uriTemplate": f"{SCHEME}{{id}}",
        "name": "chunk",
        "title": "A passage of the documents",
        "description": "The passage of that id, such as id_42, as citations and search results name it.",
        "mimeType": MARKDOWN,
    },
    {
        "uriTemplate": f"{DOCUMENT}{{id}}",
        "name": "document",
        "title": "A whole document",
        "description": "The document whose first passage has that id, as resources/list names it.",
        "mimeType": MARKDOWN,
    },
]

type DescribeError = Callable[[Exception], str]
"""Returns the sentence of an error for the caller."""


def list_documents(library: Library, params: Params, describe_error: DescribeError) -> dict[str, Any]:
    """Return a page of the documents; the cursor is the number of a chunk."""
    cursor = params.get("cursor", "0")
    if not isinstance(cursor, str) or not cursor.isdecimal() or len(cursor) > MAX_CURSOR_DIGITS:
        raise McpError(INVALID_PARAMS, "cursor must be the nextCursor of an earlier page")
    try:
        page = library.service.document_page(int(cursor))
    except (RagError, KnowledgeError) as error:
        raise McpError(INTERNAL_ERROR, describe_error(error)) from error
    following = {} if page.following is None else {"nextCursor": str(page.following)}
    return {"resources": [_resource(chunk) for chunk in page.first_chunks], **following}


def read_resource(library: Library, params: Params, describe_error: DescribeError) -> dict[str, Any]:
    """Return a passage, or a whole document."""
    uri = params.get("uri")
    if not isinstance(uri, str) or not uri.startswith((SCHEME, DOCUMENT)):
        wanted = f"{SCHEME}id_42, a passage, or {DOCUMENT}id_42, the document that begins with it"
        data = {"uri": uri[:100]} if isinstance(uri, str) else None
        raise McpError(INVALID_PARAMS, f"uri must be such as {wanted}", data)
    service, name = library.service, uri.partition("://")[2]
    try:
        chunks = (service.chunk(name).chunk,) if uri.startswith(SCHEME) else service.document(name)
    except UnknownChunk as error:
        raise McpError(INVALID_PARAMS, describe_error(error), {"uri": uri[:100]}) from error
    except (RagError, KnowledgeError) as error:
        raise McpError(INTERNAL_ERROR, describe_error(error)) from error
    first = chunks[0]
    if uri.startswith(SCHEME):
        text = f"{' > '.join(filter(None, (first.title, first.section)))}\n{source_url(first)}\n\n{first.text}"
    else:
        parts = ["\n\n".join(filter(None, (f"## {one.section}" if one.section else "", one.text))) for one in chunks]
        text = "\n\n".join([f"# {first.title}\n{source_url(first)}", *parts])
    return {"contents": [{"uri": uri, "mimeType": MARKDOWN, "text": text}]}


def _resource(first: Chunk) -> dict[str, Any]:
    name = f"{first.title} ({first.category})" if first.category else first.title
    description = {"description": source_url(first)} if source_url(first) else {}
    return {
        "uri": f"{DOCUMENT}id_{first.number}",
        "name": name,
        "title": first.title,
        **description,
        "mimeType": MARKDOWN,
    }
