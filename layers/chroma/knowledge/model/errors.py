"""The errors of a knowledge base.

KnowledgeError
├── IndexUnavailable      there is no usable index
│   ├── IndexMissing        index_not_ready   nothing is there
│   ├── IndexDamaged        index_not_ready   a file is missing, truncated or altered
│   ├── IndexMismatch       index_mismatch    made with another embedding model, space or format
│   └── IndexUnreachable    index_unavailable Chroma's server does not answer, or not now
├── IndexLocked           index_locked      another process is writing this index
├── IndexNotWritten       index_not_written the disk is full, or a file could not be written
├── SearchFailed          pipeline_error    a query on an open index failed
├── ModelMissing          model_missing     the embedding model's files are not there or not the right ones
├── RemovalsRefused       removals_refused  an ingest would remove most of what the index holds
└── SourceUnreadable      source_unreadable a path or a file given to ingest cannot be used

Messages name what was wrong and what to do; ``code`` is stable.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from knowledge.model.values import Failure

MAX_REASON_CHARS = 200

logger = logging.getLogger(__name__)


class KnowledgeError(Exception):
    """Base of every error that ``knowledge`` raises on purpose."""

    code = "knowledge_error"


class IndexUnavailable(KnowledgeError):
    """There is no usable index."""

    code = "index_not_ready"


class IndexMissing(IndexUnavailable):
    """No index exists at this place."""


class IndexDamaged(IndexUnavailable):
    """A file of the index is missing, truncated or altered."""


class IndexMismatch(IndexUnavailable):
    """The index was made with another model, space or format than this program uses."""

    code = "index_mismatch"


class IndexUnreachable(IndexUnavailable):
    """Chroma's server, which holds the index, does not answer, or refuses to."""

    code = "index_unavailable"
    retry_after = 2.0
    """Seconds after which to ask again."""


class IndexLocked(KnowledgeError):
    """Another process is writing this index."""

    code = "index_locked"


class IndexNotWritten(KnowledgeError):
    """The disk is full, or a file of the new index could not be written; the index before it is as it was."""

    code = "index_not_written"


class SearchFailed(KnowledgeError):
    """A query on an open index failed."""

    code = "pipeline_error"


class ModelMissing(KnowledgeError):
    """The embedding model's files are not there, or not the right ones."""

    code = "model_missing"


class RemovalsRefused(KnowledgeError):
    """An ingest would remove more of the index's documents than it may without being told to."""

    code = "removals_refused"


class SourceUnreadable(KnowledgeError):
    """A path or a file given to ingest cannot be used; ``failed`` are the failures behind it, if there are some."""

    code = "source_unreadable"

    def __init__(self, message: str, failed: tuple[Failure, ...] = ()) -> None:
        super().__init__(message)
        self.failed = failed


def describe_unexpected(error: Exception) -> str:
    """Describe an unexpected error on one line; its traceback goes to the log, at DEBUG."""
    logger.debug("Unexpected error while a document was read or cut", exc_info=error)
    return " ".join(f"unexpected {type(error).__name__}: {error}".split())[:MAX_REASON_CHARS]
