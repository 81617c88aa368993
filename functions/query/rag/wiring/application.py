"""One service of one profile: adapters made for the settings, the current index, the pipeline."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from knowledge.cut.embedding_text import question_text
from knowledge.embedding import MiniLM
from knowledge.model.values import Chunk, Hit
from knowledge.search.passage import ChunkView
from rag.adapters.embedding.embedders import remote_embedder
from rag.adapters.secrets import renew_secrets, warm_secrets
from rag.adapters.vendors import store_vendor
from rag.answer.read import warm as warm_reading
from rag.ask.admit.remarks import Remarks
from rag.ask.cache.frozen_answer import RECIPE
from rag.config.prompts import Prompts
from rag.config.settings import Settings, load
from rag.errors import LlmUnavailable, UnknownChunk, UnknownResponse
from rag.http.health_schema import HealthReply, IndexHealth, LlmHealth
from rag.http.reader_schema import SuggestionsReply
from rag.pipeline import Pipeline
from rag.ports.models import ChatModel, RemoteEmbedder
from rag.profiles import profile_named
from rag.profiles.shared.dependencies import StageDependencies
from rag.profiles.shared.evidence import EvidenceKnobs
from rag.profiles.shared.optional_stages import OptionalStages
from rag.values.answer import Decline
from rag.values.question import Question, SearchQuery
from rag.version import VERSION
from rag.wiring.live_index import LiveIndex, live_index
from rag.wiring.llm import Chats, allow_local_time, build_writer
from rag.wiring.remarks import guide, utterances
from rag.wiring.seed_notes import seed_note_of
from rag.wiring.stores import OpenStores, build_stores
from rag.wiring.suggestions import Suggestions
from rag.wiring.tables import Tables
from rag.wiring.welcome import welcome_reply
from rag.write.extractive import MODEL as EXTRACTIVE
from rag.write.extractive import ExtractiveWriter

logger = logging.getLogger(__name__)

MAX_DIGITS = 9
"""Of a chunk's number."""


@dataclass(frozen=True, slots=True)
class Application:
    """A pipeline and what there is to say about its state. ``chat`` is None when no LLM is configured."""

    settings: Settings
    knobs: EvidenceKnobs
    pipeline: Pipeline
    index: LiveIndex
    chat: ChatModel | None
    chats: Chats
    stores: OpenStores | None
    remote: RemoteEmbedder | None
    suggestions: Suggestions

    def health(self) -> HealthReply:
        """The service's state; calls no LLM.

        Raises:
            IndexUnavailable: there is no usable index.
        """
        with self.index.lease() as index:
            index.check()
            state = IndexHealth(
                documents=index.documents,
                chunks=index.chunks,
                embedding_model=index.embedder.model,
                built_at=index.built_at,
                version=index.version,
                manifest=index.manifest is not None,
            )
        llm = LlmHealth(engine="extractive", model=EXTRACTIVE, last_error=None)
        if self.chat:
            llm = LlmHealth(engine=self.chats.vendor, model=self.chat.model, last_error=self.chat.last_error)
        store = store_vendor(self.settings)
        return HealthReply(version=VERSION, profile=self.pipeline.profile, index=state, llm=llm, store=store)

    def welcome(self) -> SuggestionsReply:
        """What a page begins with.

        Raises:
            IndexUnavailable: there is no usable index.
        """
        questions, model = self.suggestions(), self.chat.model if self.chat else EXTRACTIVE
        with self.index.lease() as index:
            return welcome_reply(index, self.knobs, questions=questions, model=model)

    def search(self, text: str, *, k: int, filters: Mapping[str, object] | None = None) -> tuple[Hit, ...]:
        """The ``k`` (1..50) best chunks for ``text``, as the pipeline finds them, best first.

        Raises:
            BadRequest: the text cannot be admitted, or a filter is wrong.
            IndexUnavailable: there is no usable index.
            SearchFailed: the search failed.
        """
        question = self.pipeline.admit(Question(text=text, top_k=k, filters=filters or {}))
        query = SearchQuery(text=question.text, top_k=k)
        for stage in self.pipeline.query_stages:
            query = stage(query, question)
        return self.pipeline.retrieve(query).hits[:k]

    def chunk(self, chunk_id: str, question: str | None = None) -> ChunkView:
        """The chunk ``chunk_id`` ("id_42"), as somebody looks at it who asked ``question``.

        Raises:
            UnknownChunk: the index has no such chunk.
            IndexUnavailable: there is no usable index.
        """
        number = chunk_number(chunk_id)
        with self.index.lease() as index:
            view = index.view(number, question)
        if view is None:
            raise UnknownChunk
        return view

    def around(self, chunk: Chunk) -> tuple[Chunk | None, Chunk | None]:
        """The chunks of the same document before and after ``chunk``; IndexUnavailable: there is no usable index."""
        with self.index.lease() as index:
            beside = [index.chunk(number) for number in (chunk.number - 1, chunk.number + 1)]
        before, after = (other if other and other.doc_id == chunk.doc_id else None for other in beside)
        return before, after

    def vote(self, response_id: str, *, helpful: bool | None, comment: str | None) -> None:
        """Let the session's vote on a response be ``helpful``; None withdraws it.

        Raises:
            UnknownResponse: there is no such response, or nothing is kept of any.
            TooManyVotes: its session has sent as many within an hour as are taken.
            StoreUnavailable: the vote cannot be kept now.
        """
        if self.pipeline.feedback is None or self.stores is None:
            raise UnknownResponse
        with self.stores.guard.vote():
            self.pipeline.feedback.vote(response_id, helpful=helpful, comment=comment)

    def warm(self) -> None:
        """Import what an answer will need and make every client, without calling anybody or reading a secret.

        What cannot be made is logged: the first request tries again, and says what is wrong.
        """
        warm_reading()
        if self.stores:
            self.stores.warm()
        clients = [self.chats.warm]
        clients += [self.remote.warm] if self.remote else []
        clients += [warm_secrets] if self.settings.reads_secrets else []
        for warm in clients:
            try:
                warm()
            except LlmUnavailable as exc:
                logger.warning("not made before the first request: %s", exc)

    def renew(self) -> None:
        """Drop connections, keys and what is cached in this process; the clients stay."""
        self.index.handle.rest()
        self.chats.renew()
        if self.stores:
            self.stores.renew()
        if self.remote:
            self.remote.renew()
        if self.settings.reads_secrets:
            renew_secrets()


def build_application(settings: Settings) -> Application:
    """Everything that ``settings`` ask for; an index that cannot be opened is a state, not an error.

    Raises:
        ConfigurationError: a setting, a table or a prompt template is wrong.
        ModelMissing: the embedding model is not there.
    """
    profile = profile_named(settings.profile)
    knobs: EvidenceKnobs = load(profile.knobs)
    settings = allow_local_time(settings, knobs)
    prompts, stores = Prompts(settings), build_stores(settings)
    local, remote = MiniLM(threads=settings.embed_threads), remote_embedder(settings, side="question")
    index = live_index(settings, local=local, remote=remote)
    tables = Tables(settings, index)
    chats = Chats(settings, knobs)
    chat = chats.answering()
    stages = OptionalStages(
        stores=stores.stores if stores else None,
        chat=chat,
        deciding_chat=chats.deciding,
        prompt=prompts.load,
        scope=lambda: _scope(settings, knobs, chat.model if chat else EXTRACTIVE, prompts, tables),
        version=index.version,
        embed=index.embed,
        language_unlike=index.language_unlike,
        embed_ahead=index.embed_ahead if remote else None,
    )
    suggestions = Suggestions(index.lease)

    def guide_now() -> Decline:
        headings = suggestions()
        with index.lease() as opened:
            return guide(opened, headings)

    writer, window = build_writer(settings, knobs, prompts, chat=chat, extractive=ExtractiveWriter())
    dependencies = StageDependencies(
        index=index,
        writer=writer,
        window=window,
        stages=stages,
        acronyms=tables.acronyms,
        rules=tables.rules,
        clock=time.perf_counter,
        new_id=lambda: secrets.token_urlsafe(16),
        remarks=Remarks(
            utterances=utterances(),
            embed=lambda text: local.read(question_text(text)).vector,  # as the search reads it: once
            votes=stores is not None,
            writes=chat is not None,
            guide=guide_now,
        ),
    )
    pipeline = profile.build(knobs, dependencies)
    if knobs.seed_rules and profile.seed:
        logger.warning("%s", seed_note_of(settings.profile, profile.seed, index))
    if stores:
        pipeline = replace(pipeline, store_budget=stores.guard.question)
    return Application(settings, knobs, pipeline, index, chat, chats, stores, remote, suggestions)


def chunk_number(chunk_id: str) -> int:
    """The number in "id_42"; UnknownChunk: no chunk can have this id."""
    number = chunk_id.removeprefix("id_")
    if number == chunk_id or not number.isdecimal() or len(number) > MAX_DIGITS:
        raise UnknownChunk
    return int(number)


def _scope(settings: Settings, knobs: EvidenceKnobs, model: str, prompts: Prompts, tables: Tables) -> dict[str, object]:
    """All that a cached answer depends on, beside its question and the documents."""
    return {
        "recipe": RECIPE,
        "profile": settings.profile,
        "model": model,
        "knobs": knobs.model_dump(mode="json"),
        "prompts": prompts.digest(),
        "tables": tables.digest(),
    }
