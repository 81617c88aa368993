"""The frozen values that flow through ingest and search, and the Embedder protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

type Vector = NDArray[np.float32]
"""Shape (dimensions,), unit length."""

type Matrix = NDArray[np.float32]
"""Shape (texts, dimensions), each row of unit length."""

type Scalar = str | int | float | bool
"""A metadata value, as Chroma stores it. Absent is absent: None is never stored."""

type Where = Mapping[str, object]
"""A Chroma ``where`` filter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One source text and what its front matter says of it.

    ``doc_id`` is unique in an index. ``text`` is the body (Markdown, or plain text) without front matter.
    ``path`` is relative to the ingested folder, with forward slashes. ``digest`` is the sha256 (hex) of
    everything that the document's chunks depend on, metadata included. ``extra`` holds the other scalar
    front-matter keys with their type (dates as ISO text).
    """

    doc_id: str
    title: str
    text: str
    digest: str
    path: str
    category: str = ""
    source_org: str = ""
    source_urls: tuple[str, ...] = ()
    source_type: str = ""
    jurisdiction: str = ""
    last_updated: str = ""
    url: str = ""
    extra: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that was not read or cut as it should be: ``path`` (``file:LINE`` in a corpus), and why, in words."""

    path: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of a document, as it is stored, searched and cited.

    ``number`` is unique in the index, kept while ``text`` is unchanged, never reused; ``id`` is what a
    reader sees. ``section`` is the heading path below the title (``"Permits > Strategic goods"``), ``""``
    above the first heading. ``chunk_index`` counts from 0 within the document, ``chunk_count`` is how many
    chunks that document has. Text fields are ``""`` when the source does not say.
    """

    number: int
    text: str
    title: str
    section: str = ""
    doc_id: str
    category: str = ""
    source_org: str = ""
    source_urls: tuple[str, ...] = ()
    source_type: str = ""
    jurisdiction: str = ""
    last_updated: str = ""
    chunk_index: int
    chunk_count: int
    path: str = ""
    url: str = ""
    extra: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The chunk's public name, ``"id_42"``."""
        return f"id_{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A chunk that a search found.

    ``score`` orders the hits, higher is better; its scale is the retriever's. ``parts`` says where it came
    from: ``"dense"`` is always the plain cosine (-1..1) between question and chunk, and no later stage
    changes it. ``distance`` is the vector distance on the retriever's scale. ``vector`` is the chunk's own
    unit vector, present only when the search was asked for vectors.
    """

    chunk: Chunk
    score: float
    distance: float
    parts: Mapping[str, float]
    vector: Vector | None = field(default=None, compare=False, repr=False)


class Embedder(Protocol):
    """Turns text into unit vectors. Implementations are safe to call from several threads."""

    @property
    def model(self) -> str:
        """The model's name as manifests record it, e.g. ``"all-MiniLM-L6-v2"``."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of each vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Embed ``texts``: shape (len(texts), dimensions), float32, each row of unit length, input order."""
        ...
