"""Frozen values that flow through ingest and search, and the protocols of embedders and vector engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Protocol, runtime_checkable

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

KEYWORDS = "Keywords: "
"""What the line of a document's keywords begins with: it is searched and never quoted."""

OTHER_PATHS, OLDER_VERSIONS, NEWEST_MESSAGE = "other_paths", "older_versions", "newest_message"
"""Fields of ``extra``: paths of files with the document's text, and of its older versions, a line each; and writer and
day of the newest message of a thread of mail, which is the heading of its section."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentFields:
    """The fields that a document shares with its chunks. Texts are ``""`` if the source does not have them.

    ``doc_id`` is unique in an index. ``extra`` holds the other scalar front-matter keys with their type (dates as ISO
    text). ``dated`` is the date as the number yyyymmdd, month and day 00 where unknown, 0 without any date.
    """

    doc_id: str
    title: str
    category: str = ""
    source_org: str = ""
    source_urls: tuple[str, ...] = ()
    source_type: str = ""
    jurisdiction: str = ""
    last_updated: str = ""
    dated: int = 0
    url: str = ""
    extra: Mapping[str, Scalar] = field(default_factory=dict)

    def shared_fields(self) -> dict[str, Any]:
        """Return these fields by name."""
        return {one.name: getattr(self, one.name) for one in fields(DocumentFields)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document(DocumentFields):
    """One source text and the fields of its front matter.

    ``text`` is the body (Markdown, or plain text) without front matter. ``path`` is relative to the ingested folder,
    with forward slashes. ``digest`` is the sha256 (hex) of everything that the document's chunks depend on, metadata
    included. ``anchors`` names the algorithm that makes its headings' anchors in ``url`` (``knowledge.cut.anchors``),
    ``""`` if it is unknown.
    """

    text: str
    digest: str
    path: str
    anchors: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that could not be read or cut: its ``path`` (``file:LINE`` in a corpus), the error, if it lasts."""

    path: str
    error: str
    lasting: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk(DocumentFields):
    """A stored part of a document, the unit of search and citation.

    ``number`` is unique in the index, kept while ``text`` is unchanged, never reused; ``id`` is its
    public name. ``section`` is the heading path below the title (``"Permits > Strategic goods"``), ``""``
    above the first heading. ``chunk_index`` counts from 0 within the document, ``chunk_count`` is how many
    chunks that document has.
    """

    number: int
    text: str
    section: str = ""
    chunk_index: int
    chunk_count: int
    path: str = ""

    @property
    def id(self) -> str:
        """The chunk's public name, ``"id_42"``."""
        return f"id_{self.number}"


@dataclass(frozen=True, slots=True)
class View:
    """One text to search with, and the weight of its scores among the views of a query.

    The first view of a query is the question alone. A view with ``where`` scores the chunks inside that filter; chunks
    outside get the lowest score of the candidates, so that it prefers and does not exclude. An ``optional`` view (words
    of the conversation, or acronyms spelt out) counts if the index has more evidence for the question with it.
    ``respelt`` is the question in the index's spelling.
    """

    text: str
    weight: float = 1.0
    where: Where | None = None
    optional: bool = False
    respelt: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TextEncoding:
    """The output of the embedding model for one text.

    ``vector`` is the text's own. ``tokens`` are the contextual vectors of its n word pieces, shape (n, dimensions), not
    normalised; ``pieces`` their numbers in the vocabulary, shape (n,); ``spans`` their first and end character in the
    text, shape (n, 2). Punctuation, [CLS] and [SEP] are left out.
    """

    vector: Vector
    tokens: NDArray[np.float32]
    pieces: NDArray[np.int32]
    spans: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EncodedQuestion:
    """The m word pieces of a question that late interaction compares.

    ``spans`` are their first and end character in ``text``, shape (m, 2); pieces of the question's other views have
    empty ones. ``weights`` are their shares of the whole idf, shape (m,), and sum to 1. ``unknown`` are the characters
    in ``text`` of the words that no chunk of the index has.
    """

    text: str
    vector: Vector
    spans: NDArray[np.int32]
    weights: NDArray[np.float32]
    unknown: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Match:
    """The similarities of a question's word pieces and a chunk's tokens, and the tokens of each quotable unit.

    ``similarities`` are cosines (-1..1), shape (m, tokens): the title's tokens first, then the text's in their order.
    ``units`` has a row for each unit in the order of the text; see ``knowledge.cut.units`` for its columns.
    The first ``title_tokens`` tokens are the title's.
    """

    similarities: NDArray[np.float32]
    units: NDArray[np.uint16]
    title_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A chunk found by a search.

    ``score`` orders the hits, higher is better; its scale is the retriever's. ``parts`` are its
    components: ``"dense"`` is always the plain cosine (-1..1) between question and chunk, and no later stage
    changes it. ``vector`` is the chunk's own unit vector, None in a search by words alone; ``match`` is set by late
    interaction only.
    """

    chunk: Chunk
    score: float
    parts: Mapping[str, float]
    vector: Vector | None = field(default=None, compare=False, repr=False)
    match: Match | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Evidence:
    """The evidence in an index that it can answer a question.

    ``signals`` are by name (``knowledge.search.signals``); ``score`` joins them, higher if the index more likely holds
    the answer. ``bar`` is the score that 95 % of unrelated questions stay below in this index, or the bar fitted to its
    owner's labels; None if not measured. From ``doubt`` (at most ``bar``) to ``bar`` the index may hold the answer.
    ``odds`` are the slope and the shift that the labels gave the log odds of a confidence. ``language`` is the English
    name of the language of most documents, ``asked_in`` that of the question's, ``""`` if unknown. ``foreign``: none of
    the hits is in the language of the question.
    """

    asked: EncodedQuestion
    signals: Mapping[str, float]
    score: float
    bar: float | None
    doubt: float | None = None
    odds: tuple[float, float] = (1.0, 0.0)
    foreign: bool = False
    language: str = ""
    asked_in: str = ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of a search, best first; ``evidence`` is None without token vectors.

    ``trail`` describes, in words, each difference from the search that was requested.
    """

    hits: tuple[Hit, ...]
    evidence: Evidence | None = None
    trail: tuple[str, ...] = ()


class Embedder(Protocol):
    """Turns text into unit vectors. Implementations are safe to call from several threads."""

    @property
    def model(self) -> str:
        """The model's name as manifests record it, e.g. ``"all-MiniLM-L6-v2"``."""

    @property
    def dimensions(self) -> int:
        """Length of each vector."""

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Embed ``texts``: shape (len(texts), dimensions), float32, each row of unit length, input order."""


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder that also returns token vectors, for late interaction."""

    def read(self, text: str) -> TextEncoding:
        """Encode ``text``, with the vector that ``embed`` gives and all tokens even of a long text."""

    def count(self, text: str) -> int:
        """Count the word pieces of ``text``, punctuation too, without running the model."""

    @property
    def vocabulary(self) -> int:
        """Number of word pieces; they are numbered from 0."""

    def has(self, word: str) -> bool:
        """Whether ``word``, in lower case, is one piece of its vocabulary."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement in plain words, and the numbers of the chunks that it cites; there may be none."""

    text: str
    chunks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ChunkSupport:
    """The support of one chunk for a claim: the ``chance`` (0..1) that it says so, and its nearest unit.

    The unit is the characters ``start`` to ``end`` of the chunk's text, none where it has no units. ``verbatim`` says
    that the claim stands there word for word.
    """

    number: int
    chance: float
    start: int = 0
    end: int = 0
    verbatim: bool = False


@dataclass(frozen=True, slots=True)
class ClaimSupport:
    """The chances (0..1) that a claim is supported: by all chunks together, by those it cites, by each alone.

    ``cited`` is None for a claim that cites nothing. ``shared`` (0..1) is the highest share of its words that one chunk
    has, ``missing`` are its numbers and names that stand in no chunk and not in the question.
    """

    chance: float
    shared: float
    cited: float | None = None
    each: tuple[ChunkSupport, ...] = ()
    missing: tuple[str, ...] = ()


class VectorEngine(Protocol):
    """The chunks of an index by their ids. Safe to ask from several threads."""

    def nearest(self, vector: Vector, *, k: int) -> Sequence[str]:
        """The ids of the ``k`` chunks nearest to the unit vector ``vector``.

        Raises:
            SearchFailed: the query failed.
        """

    def ids(self, where: Where) -> Sequence[str]:
        """The ids of all chunks that the filter ``where`` admits.

        Raises:
            SearchFailed: the filter is malformed, or the query failed.
        """
