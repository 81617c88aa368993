"""What can go wrong with a knowledge base.

KnowledgeError
├── IndexUnavailable      there is no usable index
│   ├── IndexMissing        index_not_ready   nothing is there
│   ├── IndexDamaged        index_not_ready   a file is missing, truncated or altered
│   └── IndexMismatch       index_mismatch    another embedding model, space or format than this program's
├── IndexLocked           index_locked      another process is writing this index
├── SearchFailed          pipeline_error    a query on an open index failed
├── ModelMissing          model_missing     the embedding model's files are not there or not the right ones
└── SourceUnreadable      source_unreadable a path or a file given to ingest cannot be used

Messages name what was wrong and what to do; ``code`` is stable.
"""


class KnowledgeError(Exception):
    """Base of every error that ``knowledge`` raises on purpose."""

    code = "knowledge_error"


class IndexUnavailable(KnowledgeError):
    """There is no usable index."""

    code = "index_not_ready"


class IndexMissing(IndexUnavailable):
    """Nothing is at the index's place."""


class IndexDamaged(IndexUnavailable):
    """A file of the index is missing, truncated or altered."""


class IndexMismatch(IndexUnavailable):
    """The index was made with another model, space or format than this program uses."""

    code = "index_mismatch"


class IndexLocked(KnowledgeError):
    """Another process is writing this index."""

    code = "index_locked"


class SearchFailed(KnowledgeError):
    """A query on an open index failed."""

    code = "pipeline_error"


class ModelMissing(KnowledgeError):
    """The embedding model's files are not there, or not the right ones."""

    code = "model_missing"


class SourceUnreadable(KnowledgeError):
    """A path or a file given to ingest cannot be used."""

    code = "source_unreadable"
