"""Fakes of what the pipeline stands on, with behaviour: an index over hand-made hits, a chat model with a script."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from fakes_embedding import HashingEmbedder
from fakes_stores import InMemoryAnswerCache, InMemoryMemory

from knowledge.model.errors import IndexMismatch
from knowledge.model.values import (
    Chunk,
    ChunkSupport,
    Claim,
    ClaimSupport,
    Embedder,
    EncodedQuestion,
    Evidence,
    Hit,
    SearchResult,
    View,
    Where,
)
from knowledge.search.candidates import Candidates
from rag.adapters import secrets
from rag.adapters.sqlite import SqliteTable
from rag.adapters.stores.cache import LayeredCache
from rag.adapters.stores.feedback import TableFeedback
from rag.ask.acronyms import AcronymTable
from rag.ask.filters import RuleTable
from rag.config.settings import load
from rag.errors import StoreUnavailable
from rag.ledger import Ledger
from rag.ports import ChatModel, Index, Writer
from rag.profiles import load_profile
from rag.profiles.shared.pipeline import StageDependencies, Stores
from rag.values.answer import Answer, Confidence
from rag.values.chat import Completion, Deadline, Message, OnText
from rag.values.question import Question
from rag.write.chat_writer import ChatWriter

MARK = "a-mark"
"""What the fences of a prompt are made of in tests."""

_WORD = re.compile(r"\w+")


def decline_of(profile: str) -> str:
    """What the profile says where there is no answer."""
    inputs = make_inputs(FakeIndex(), make_writer(FakeChat(), "{context}"))
    return load_profile(profile).build(load(load_profile(profile).settings, {}), inputs).decline_text


def forget_secrets() -> None:
    """Drop Secrets Manager's client and all keys, which belong to a process: the next test has an AWS of its own."""
    secrets._cached_keys.clear()
    secrets._provider.cache_clear()


_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq, "$ne": operator.ne, "$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt,
    "$lte": operator.le, "$in": lambda value, wanted: value in wanted,
}  # fmt: skip


def make_chunk(text: str = "Permits take five working days.", **fields: Any) -> Chunk:
    """A chunk; what is not said is plain and the same for all."""
    plain = {"number": 1, "title": "Import permits", "doc_id": "import-permits", "chunk_index": 0, "chunk_count": 1}
    return Chunk(**{**plain, "text": text, **fields})


def make_hit(text: str = "Permits take five working days.", *, cosine: float = 0.8, **fields: Any) -> Hit:
    """A hit on ``make_chunk(text, **fields)`` as an open index returns it: the score is the cosine."""
    return Hit(chunk=make_chunk(text, **fields), score=cosine, parts={"dense": cosine})


@dataclass(frozen=True, slots=True)
class FakeSearch:
    """One search as the index saw it; ``views`` are empty where it was one by vector alone."""

    k: int
    where: Where | None
    vector: np.ndarray
    views: tuple[View, ...] = ()


class FakeIndex:
    """An index that finds ``hits`` by their cosine, best first, within a lease only.

    ``broken`` is raised by every lease, as a handle without an index does. ``evidence`` is what ``search`` makes of
    every question; without ``late`` it has no token vectors.
    """

    def __init__(
        self,
        hits: Iterable[Hit] = (),
        *,
        fields: Mapping[str, str] | None = None,
        embedder: Embedder | None = None,
        broken: Exception | None = None,
        evidence: Evidence | None = None,
        late: bool = True,
        unlike: Callable[[str], str] = lambda text: "",
    ) -> None:
        self.hits = tuple(hits)
        self.evidence = evidence
        self.late = late
        self.language_unlike = unlike
        self.embedder = embedder or HashingEmbedder()
        self.broken = broken
        self.searches: list[FakeSearch] = []
        self.leases = 0
        """How many are out now."""
        self._fields = fields or {}

    @contextmanager
    def lease(self) -> Iterator[FakeIndex]:
        if self.broken is not None:
            raise self.broken
        self.leases += 1
        try:
            yield self
        finally:
            self.leases -= 1

    def fields(self) -> Mapping[str, str]:
        with self.lease():
            return self._fields

    def nearest(self, vector: np.ndarray, *, k: int, where: Where | None = None) -> tuple[Hit, ...]:
        return self._found(FakeSearch(k, where, vector))

    def candidates(self, text: str, vector: np.ndarray, *, k: int, where: Where | None = None) -> Candidates:
        assert self.leases, "searched outside a lease"
        raise NotImplementedError

    def search(self, views: Sequence[View], *, k: int, where: Where | None = None) -> SearchResult:
        if not self.late:
            raise IndexMismatch("The index has no token vectors")
        vector = self.embedder.embed([views[0].text])[0]
        return SearchResult(self._found(FakeSearch(k, where, vector, tuple(views))), self.evidence)

    def fetch(self, numbers: Iterable[int]) -> tuple[Chunk, ...]:
        chunks = {hit.chunk.number: hit.chunk for hit in self.hits}
        return tuple(chunks[number] for number in numbers)

    def pieces(self, text: str) -> int:
        """Its words."""
        return len(_WORD.findall(text))

    def support(self, claims: Sequence[Claim], among: Sequence[int], question: str = "") -> tuple[ClaimSupport, ...]:
        """The share of a claim's words that stand in the chunks, or the question; its numbers may be missing."""
        assert self.leases, "checked outside a lease"
        return tuple(self._support(claim, tuple(dict.fromkeys((*claim.chunks, *among))), question) for claim in claims)

    def _support(self, claim: Claim, chunks: Sequence[int], question: str) -> ClaimSupport:
        alone = [(number, self._share(claim, [number])) for number in chunks]
        texts = "\n".join([question, *(chunk.text for chunk in self.fetch(chunks))]).lower()
        return ClaimSupport(
            chance=self._share(claim, chunks),
            shared=max((share for _, share in alone), default=0.0),
            cited=self._share(claim, claim.chunks) if claim.chunks else None,
            each=tuple(ChunkSupport(number, share, verbatim=share == 1) for number, share in alone),
            missing=tuple(word for word in _WORD.findall(claim.text) if word.isdigit() and word not in texts),
        )

    def _share(self, claim: Claim, numbers: Iterable[int]) -> float:
        held = {word for chunk in self.fetch(numbers) for word in _WORD.findall(chunk.text.lower())}
        words = _WORD.findall(claim.text.lower())
        return sum(word in held for word in words) / max(1, len(words))

    def _found(self, search: FakeSearch) -> tuple[Hit, ...]:
        assert self.leases, "searched outside a lease"
        self.searches.append(search)
        k, where = search.k, search.where
        found = [hit for hit in self.hits if where is None or _matches(hit.chunk, where)]
        return tuple(sorted(found, key=lambda hit: (-hit.parts["dense"], hit.chunk.number))[:k])


class Unconnected:
    """What a model has no need of that nobody connects to."""

    def warm(self) -> None: ...

    def renew(self) -> None: ...


class FakeChat(Unconnected):
    """A chat model that works through ``script``: a text or completion is returned, an error raised.

    Where somebody listens it writes in parts that match ``piece``, word by word.
    """

    def __init__(
        self, *script: str | Completion | Exception, model: str = "fake-model", piece: str = r"\S+\s*"
    ) -> None:
        self.model = model
        self._piece = piece
        self.last_error: str | None = None
        self.asked: list[tuple[Message, ...]] = []
        self.deadlines: list[Deadline] = []
        self.script = list(script)

    def complete(self, messages: Sequence[Message], *, deadline: Deadline, on_text: OnText | None = None) -> Completion:
        self.asked.append(tuple(messages))
        self.deadlines.append(deadline)
        assert self.script, f"the script has no step for call {len(self.asked)}"
        step = self.script.pop(0)
        if isinstance(step, Exception):
            self.last_error = type(step).__name__
            raise step
        self.last_error = None
        made = step if isinstance(step, Completion) else Completion(text=step, model=self.model, finish_reason="stop")
        if on_text:
            for piece in re.findall(self._piece, made.text, re.DOTALL):
                on_text(piece)
        return made


@dataclass
class FakeClock:
    """Seconds that pass only when told to, or by ``step`` at each look."""

    now: float = 100.0
    step: float = 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def deadline(seconds: float = 27.0) -> Deadline:
    """A deadline that does not come nearer."""
    return Deadline.after(seconds, FakeClock())


def make_ledger(left_s: float = 27.0) -> Ledger:
    """A ledger of a request that has ``left_s`` seconds left."""
    return Ledger(FakeClock(), deadline(left_s))


@dataclass
class Machine:
    """Threads and time: a call takes ``takes_s``; one that overruns goes on until ``finish``."""

    clock: FakeClock = field(default_factory=lambda: FakeClock(1000.0))
    takes_s: float = 0.0
    limits: list[float] = field(default_factory=list)
    running: list[Callable[[], None]] = field(default_factory=list)

    def run(self, call: Callable[[], Any], limit_s: float) -> Future[Any]:
        outcome: Future[Any] = Future()

        def work() -> None:
            try:
                outcome.set_result(call())
            except StoreUnavailable as exc:
                outcome.set_exception(exc)

        self.limits.append(limit_s)
        self.clock.now += min(self.takes_s, limit_s)
        if self.takes_s < limit_s:
            work()
        else:
            self.running.append(work)
        return outcome

    def finish(self) -> None:
        for work in self.running:
            work()
        self.running.clear()


def make_answer(**fields: Any) -> Answer:
    """An answer of a model; what is not said is plain and the same for all."""
    defaults: dict[str, Any] = {
        "text": "Five days.", "question": Question(text="Which permit?"), "profile": "waypoint", "response_id": "r1",
        "confidence": Confidence("High", 90.0, ""), "refused": False,
    }  # fmt: skip
    return Answer(**{**defaults, **fields})


def _matches(chunk: Chunk, where: Where) -> bool:
    """Chroma's ``where`` over the chunk's fields: ``{"$and": [...]}`` or one ``{field: {operator: value}}``."""
    ((name, condition),) = where.items()
    if name in {"$and", "$or"}:
        assert isinstance(condition, list)
        parts = [_matches(chunk, part) for part in condition]
        return all(parts) if name == "$and" else any(parts)
    assert isinstance(condition, Mapping)
    ((symbol, wanted),) = condition.items()
    value = chunk.extra[name] if name in chunk.extra else getattr(chunk, name, None)
    return value is not None and _OPERATORS[symbol](value, wanted)


def make_writer(chat: ChatModel, prompt: str = "{context}", history_chars: int = 0) -> ChatWriter:
    """A writer whose fences are all made of ``MARK``."""
    return ChatWriter(chat, prompt, history_chars, new_mark=lambda *_: MARK)


def make_evidence(score: float, bar: float | None = 0.0) -> Evidence:
    """What an index makes of a question of one word, ``score`` against its ``bar``."""
    asked = EncodedQuestion(
        text="permits", vector=_embed("permits"), spans=np.array([[0, 7]], np.int32), weights=np.ones(1, np.float32)
    )
    return Evidence(asked=asked, signals={}, score=score, bar=bar)


def make_inputs(index: Index, writer: Writer, *, stages: StageDependencies | None = None) -> StageDependencies:
    """Inputs without stores, tables or a model for other purposes, or with those of ``stages``."""
    return replace(stages or make_services(stores=False, chat=False), index=index, writer=writer)


SERVICE_PROMPTS = {
    "reframe.txt": "{history}{question}",
    "rerank.txt": "{question}{passages}",
    "judge.txt": "{passages}\n{statements}",
}


def make_services(
    *, stores: bool = True, chat: bool | ChatModel = True, prompts: Mapping[str, str] | None = None
) -> StageDependencies:
    """Services over stores, of which none is opened, and a model, or without; a model that is given also decides."""
    model = (FakeChat() if chat else None) if isinstance(chat, bool) else chat
    unopened = SqliteTable(Path("unopened.sqlite"))
    kept = Stores(LayeredCache(InMemoryAnswerCache()), InMemoryMemory(), TableFeedback(unopened))
    return StageDependencies(
        index=FakeIndex(),
        writer=make_writer(FakeChat(), "{context}"),
        acronyms=AcronymTable,
        rules=RuleTable,
        stores=kept if stores else None,
        chat=model,
        deciding_chat=lambda name: FakeChat(model=name) if isinstance(chat, bool) else chat,
        prompt=lambda name, *placeholders: (prompts or SERVICE_PROMPTS)[name],
        scope=lambda: {"profile": "gacounts"},
        version=lambda: "v1",
        embed=_embed,
        language_unlike=lambda text: "",
    )


def _embed(text: str) -> np.ndarray:
    return HashingEmbedder().embed([text])[0]  # type: ignore[no-any-return]


REPORT = make_hit(
    "Open the reporting form, choose the activity and press submit. Reports are due on 15 January.",
    number=1, title="Reporting", url="https://ga.example.edu/reporting", section="Steps",
)  # fmt: skip
PEOPLE = make_hit(
    "Collaborators are added on the second page. Each collaborator gets an email with a link.",
    number=2, title="Collaborators (beta)", url="https://ga.example.edu/people_(beta)/",
)  # fmt: skip
MEMO = make_hit("Travel above 500 dollars needs the director's signature.", number=3, title="Travel memo", url="N/A")
