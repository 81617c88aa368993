"""What the pipeline needs from the world, as Protocols; adapters and fakes implement them.

The methods of stores may raise ``StoreUnavailable``. Their reads see every write that came before them, in any process
(an L1 cache may lag by the age that it allows), and nothing that has expired. They serve any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from rag.values.answer import (
    Chunk,
    Claim,
    Completion,
    Context,
    Deadline,
    Decline,
    Embedder,
    Hit,
    Message,
    Question,
    SearchQuery,
    SearchResult,
    SupportVerdict,
    View,
    Where,
)
from rag.values.chat import OnText as OnText
from rag.values.stored import CachedAnswer, CacheHit, ResponseRecord, Turn, Vote

if TYPE_CHECKING:
    from knowledge.model.values import Vector
    from knowledge.search.candidates import Candidates


class OpenIndex(Protocol):
    """One open index; nothing in it changes while it is open."""

    @property
    def embedder(self) -> Embedder:
        """The index's own embedder: of questions, and of what is compared with its chunks."""
        ...

    @property
    def late(self) -> bool:
        """Whether it has token vectors, so that ``search`` finds something."""
        ...

    def nearest(
        self, vector: Vector, *, k: int, where: Where | None = None, with_vectors: bool = False
    ) -> tuple[Hit, ...]:
        """The ``k`` chunks nearest to ``vector``, best first; scores are cosines (-1..1).

        Raises:
            SearchFailed: the query failed.
        """
        ...

    def candidates(self, text: str, vector: Vector, *, k: int, where: Where | None = None) -> Candidates:
        """The ``k`` nearest chunks and the ``k`` best by their words, each with both scores.

        Raises:
            IndexMismatch: the index has no BM25 side.
            SearchFailed: the query failed.
        """
        ...

    def search(self, views: Sequence[View], *, k: int, where: Where | None = None) -> SearchResult:
        """The ``k`` best chunks by all signals of the index, for the question ``views[0]`` and its other views.

        Raises:
            IndexMismatch: the index has no token vectors.
            SearchFailed: the query failed.
        """
        ...

    def pieces(self, text: str) -> int:
        """How many word pieces ``text`` has: what ``support`` takes grows with them. IndexMismatch as there."""
        ...

    def support(self, claims: Sequence[Claim], among: Sequence[int]) -> tuple[SupportVerdict, ...]:
        """How likely each of ``claims`` is borne out by its own chunks together, else by each of those ``among``.

        Raises:
            IndexMismatch: the index has no token vectors.
            SearchFailed: there is no such chunk.
        """
        ...

    def fetch(self, numbers: Iterable[int]) -> tuple[Chunk, ...]:
        """The chunks of ``numbers``, in that order."""
        ...


class Index(Protocol):
    """The index that is current, which another may replace; its methods raise ``IndexUnavailable`` without one."""

    def lease(self) -> AbstractContextManager[OpenIndex]:
        """The current index, kept open for the length of a ``with`` block."""
        ...

    def fields(self) -> Mapping[str, str]:
        """The metadata fields of its chunks and their types; empty when it does not know them."""
        ...


class Retriever(Protocol):
    """Finds chunks."""

    def __call__(self, query: SearchQuery) -> SearchResult:
        """The best hits for ``query``, best first, scores on the retriever's scale.

        Raises:
            IndexUnavailable: there is no usable index.
            SearchFailed: the query on the open index failed.
        """
        ...


class Remarks(Protocol):
    """Answers in kind what asks about nothing: see ``rag.ask.admit.remarks``."""

    def __call__(
        self, question: Question, history: Callable[[], Sequence[Turn]], *, alone: bool
    ) -> Decline | Turn | None:
        """The reply, the turn whose question a model is asked again, or None where something is asked."""
        ...


class ChatModel(Protocol):
    """A chat model behind an OpenAI-compatible API."""

    @property
    def model(self) -> str:
        """The model in use now."""
        ...

    @property
    def last_error(self) -> str | None:
        """What went wrong last, without vendor text; None after a success."""
        ...

    def complete(self, messages: Sequence[Message], *, deadline: Deadline, on_text: OnText | None = None) -> Completion:
        """Complete ``messages``, retrying within ``deadline``, but not once ``on_text`` has got something.

        What ends early after that is returned as far as it came, with the finish reason "length" (no time is left),
        "interrupted" (the model broke off) or "stopped" (nobody listens any more).

        Raises:
            LlmUnavailable: it cannot be reached, or not in time, or gives no completion.
        """
        ...


class Writer(Protocol):
    """Writes the answer to a question from a context."""

    def __call__(
        self,
        question: Question,
        context: Context,
        *,
        deadline: Deadline,
        history: Sequence[Turn] = (),
        on_text: OnText | None = None,
    ) -> Completion:
        """The completion; its text is ``""`` where the context holds nothing to answer with.

        A model's text goes to ``on_text`` as it comes; what needs no waiting does not.

        Raises:
            LlmUnavailable: the model cannot be reached, or not in time, or gives no completion.
        """
        ...


class AnswerCache(Protocol):
    """Answers by key. A key is the sha256 (hex) of everything that the answer depends on."""

    def get(self, key: str) -> CacheHit | None:
        """The answer under ``key``, if there is one."""
        ...

    def put(self, key: str, answer: CachedAnswer, *, ttl_s: float) -> None:
        """Keep ``answer`` for ``ttl_s`` seconds in place of what was there; one that is too large is not kept."""
        ...

    def evict(self, key: str) -> None:
        """Forget the answer under ``key``."""
        ...


class LayeredAnswers(AnswerCache, Protocol):
    """An answer cache that keeps some of its answers in this process."""

    def held(self, key: str) -> CacheHit | None:
        """The answer under ``key`` if this process has it; asks nobody and raises nothing."""
        ...


class Memory(Protocol):
    """The turns of conversations. A session's id is all that opens it."""

    def remember(self, session_id: str, turn: Turn) -> None:
        """Add ``turn``; overlong texts are cut."""
        ...

    def recall(self, session_id: str, *, limit: int) -> tuple[Turn, ...]:
        """The last ``limit`` turns (at most ``MAX_TURNS``), oldest first by ``at``, then by arrival."""
        ...


class FeedbackStore(Protocol):
    """Responses that can be voted on, and the votes."""

    def record(self, response: ResponseRecord) -> None:
        """Keep ``response`` for 30 days."""
        ...

    def response(self, response_id: str) -> ResponseRecord | None:
        """The response that was given this id; None for any other text."""
        ...

    def vote(
        self, response: ResponseRecord, *, voter: str, helpful: bool | None, at: float, comment: str | None = None
    ) -> bool:
        """Let ``voter``'s vote on ``response`` be ``helpful``; None withdraws it.

        All or nothing, and idempotent. The vote with the latest ``at`` stands, whatever order they arrive in; of two
        at one moment the one that arrives last. Whether ``voter`` had no vote yet that was against or withdrawn.
        TooManyVotes where the response's ``session`` has given as many as are taken within an hour.
        """
        ...

    def votes_on(self, chunk_ids: Sequence[str], *, since: float) -> Mapping[str, tuple[Vote, ...]]:
        """The standing votes from ``since`` on, oldest first, by chunk; a chunk without any is left out.

        Of each voter the newest ``MAX_VOTES_PER_VOTER`` (when one is withdrawn, the one before takes its place), of
        all at most ``MAX_VOTES_PER_CHUNK``. Which of them count as one voice is the caller's to say.
        """
        ...

    def recent_negative(self, cache_key: str, *, since: float) -> bool:
        """Whether votes against responses of this cache key stand that were given at ``since`` or later.

        One of a session does, or those of anonymous voters on responses of ``HOURS_AGAINST`` different hours.
        """
        ...
