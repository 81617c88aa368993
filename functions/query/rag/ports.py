"""The ports of the pipeline: Protocols of the index, the models and the stores, implemented by adapters and fakes.

Methods of stores may raise ``StoreUnavailable``. A read sees every earlier write of any process (a cache in this
process may lag by its maximum age) and nothing that has expired. Stores serve any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, Required, TypedDict, Unpack

from knowledge.model.values import Chunk, Claim, ClaimSupport, Embedder, Hit, SearchResult, View, Where
from rag.values.answer import Context
from rag.values.chat import Completion, Deadline, Message, OnText
from rag.values.question import Question, SearchQuery, Turn
from rag.values.stored import CachedAnswer, CacheHit, ResponseRecord, Vote

if TYPE_CHECKING:
    from knowledge.model.values import Vector
    from knowledge.search.candidates import Candidates


class OpenIndex(Protocol):
    """An open, immutable index.

    Searches and ``support`` raise SearchFailed if they fail. ``search``, ``support`` and ``pieces`` raise IndexMismatch
    if the index has no token vectors.
    """

    @property
    def embedder(self) -> Embedder:
        """The embedder of questions and of texts to compare with chunks."""

    @property
    def late(self) -> bool:
        """Whether the index has the token vectors that ``search`` needs."""

    def nearest(self, vector: Vector, *, k: int, where: Where | None = None) -> tuple[Hit, ...]:
        """Return the ``k`` chunks nearest to ``vector``, best first, with vectors; scores are cosines (-1..1)."""

    def candidates(self, text: str, vector: Vector, *, k: int, where: Where | None = None) -> Candidates:
        """Return the ``k`` nearest chunks and the ``k`` best by their words, each with both scores."""

    def search(self, views: Sequence[View], *, k: int, where: Where | None = None) -> SearchResult:
        """Return the ``k`` best chunks by all signals, for the question ``views[0]`` and its other views."""

    def language_unlike(self, text: str) -> str:
        """Return the English name of the chunks' language if ``text`` is in another one, else or if unknown ``""``."""

    def pieces(self, text: str) -> int:
        """Return the number of word pieces of ``text``, which the cost of ``support`` grows with."""

    def support(self, claims: Sequence[Claim], among: Sequence[int], question: str = "") -> tuple[ClaimSupport, ...]:
        """Return the support of each of ``claims`` by the chunks that it cites and the chunks ``among``.

        Words of the ``question`` need no support.
        """

    def fetch(self, numbers: Iterable[int]) -> tuple[Chunk, ...]:
        """Return the chunks of ``numbers``, in that order."""


class Index(Protocol):
    """The current index, which may be replaced; without one its methods raise ``IndexUnavailable``."""

    def lease(self) -> AbstractContextManager[OpenIndex]:
        """Keep the current index open within a ``with`` block."""

    def fields(self) -> Mapping[str, str]:
        """Return the metadata fields of its chunks and their types, empty if unknown."""


type Retriever = Callable[[SearchQuery], SearchResult]
"""Returns the best hits, best first, on its own scale; raises IndexUnavailable without an index, or SearchFailed."""


class Remote(Protocol):
    """A client of a server."""

    def warm(self) -> None:
        """Import the client's modules and make the client, without reading a key and without a call.

        Raises:
            LlmUnavailable: the address cannot be used.
        """

    def renew(self) -> None:
        """Close all connections and forget the key; the client stays. Not while calls are under way."""


class ChatModel(Remote, Protocol):
    """A chat model."""

    @property
    def model(self) -> str:
        """The model in use now."""

    @property
    def last_error(self) -> str | None:
        """The last error without the vendor's words, None after a success."""

    def complete(self, messages: Sequence[Message], *, deadline: Deadline, on_text: OnText | None = None) -> Completion:
        """Complete ``messages``; retry within ``deadline`` until ``on_text`` has received text.

        A completion that ends early after that is returned as far as it arrived, with the finish reason "length" (the
        deadline has passed), "interrupted" (the model broke off) or "stopped" (the reader has gone).

        Raises:
            LlmUnavailable: no completion before the deadline.
        """


class RemoteEmbedder(Remote, Embedder, Protocol):
    """An embedding model behind an API."""

    def sized(self, dimensions: int) -> Embedder:
        """Return this embedder for an index with vectors of length ``dimensions``, without a call."""


class Writing(TypedDict, total=False):
    """Options of a writer: the deadline, the earlier turns and the receiver of streamed text."""

    deadline: Required[Deadline]
    history: Sequence[Turn]
    on_text: OnText | None


class Writer(Protocol):
    """Writes the answer to a question from a context."""

    def __call__(self, question: Question, context: Context, **how: Unpack[Writing]) -> Completion:
        """Return the completion; its text is ``""`` if the context has no answer.

        Text that is there at once does not go to ``on_text``.

        Raises:
            LlmUnavailable: no completion before the deadline.
        """


class AnswerCache(Protocol):
    """Answers by key. A key is the sha256 (hex) of everything that the answer depends on."""

    def get(self, key: str) -> CacheHit | None:
        """Return the answer under ``key``, if there is one."""

    def put(self, key: str, answer: CachedAnswer, *, ttl_s: float) -> None:
        """Store ``answer`` for ``ttl_s`` seconds, replacing the one under ``key``; a too large one is not stored."""

    def evict(self, key: str) -> None:
        """Delete the answer under ``key``."""


class LayeredAnswers(AnswerCache, Protocol):
    """An answer cache that also has some answers in this process."""

    def get_local(self, key: str) -> CacheHit | None:
        """Return the answer under ``key`` if it is in this process; raises nothing."""


class Memory(Protocol):
    """The turns of conversations; whoever knows a session's id may read it."""

    def remember(self, session_id: str, turn: Turn) -> None:
        """Add ``turn``; overlong texts are cut."""

    def recall(self, session_id: str, *, limit: int) -> tuple[Turn, ...]:
        """Return the last ``limit`` turns (at most ``MAX_TURNS``), oldest first by ``at``, then by arrival."""


class FeedbackStore(Protocol):
    """Responses and the votes on them."""

    def record(self, response: ResponseRecord) -> None:
        """Store ``response`` for 30 days."""

    def response(self, response_id: str) -> ResponseRecord | None:
        """Return the response with this id; None for any other text."""

    def vote(
        self, response: ResponseRecord, *, voter: str, helpful: bool | None, at: float, comment: str | None = None
    ) -> bool:
        """Set ``voter``'s vote on ``response`` to ``helpful``; None withdraws it.

        Atomic and idempotent. The vote with the latest ``at`` stands, in whatever order votes arrive; of two with the
        same ``at`` the one that arrives last. Return whether ``voter`` had no vote yet against or withdrawn.

        Raises:
            TooManyVotes: the response's ``session`` has no vote left in this hour.
        """

    def votes_on(self, chunk_ids: Sequence[str], *, since: float) -> Mapping[str, tuple[Vote, ...]]:
        """Return the standing votes from ``since`` on, oldest first, by chunk; chunks without votes are left out.

        Of each voter the newest ``MAX_VOTES_PER_VOTER`` (an earlier one takes the place of a withdrawn one), per chunk
        at most ``MAX_VOTES_PER_CHUNK``. The caller decides which votes count as one voice.
        """

    def recent_negative(self, cache_key: str, *, since: float) -> bool:
        """Return whether votes from ``since`` on stand against responses of this cache key.

        One vote of a session is enough; anonymous votes must be on responses of ``HOURS_AGAINST`` different hours.
        """
