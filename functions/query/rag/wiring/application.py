"""The service of one profile: its settings, adapters, current index and pipeline."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from knowledge.embedding import MiniLM, question_text
from knowledge.model.errors import IndexUnavailable
from knowledge.model.values import Chunk, Hit
from knowledge.search.passage import ChunkView
from rag.adapters.embedding.embedders import remote_embedder
from rag.adapters.secrets import renew_secrets, warm_secrets
from rag.adapters.vendors import find_store_vendor
from rag.answer.parse import parse_markdown
from rag.ask.answer_cache import RECIPE
from rag.ask.remarks import Remarks, Utterances
from rag.config.settings import Prompts, Settings, load
from rag.errors import LlmUnavailable, UnknownChunk, UnknownResponse
from rag.http.schema import HealthReply, IndexHealth, LlmHealth, SuggestionsReply
from rag.pipeline import Pipeline
from rag.ports import ChatModel, RemoteEmbedder
from rag.profiles import load_profile
from rag.profiles.shared.pipeline import StageDependencies, describe_seed_rules
from rag.profiles.shared.settings import ProfileSettings
from rag.values.answer import Answer, Decline
from rag.values.question import DocumentPage, Overview, Question, SearchQuery
from rag.values.request import Listen
from rag.version import VERSION
from rag.wiring import library
from rag.wiring.live_index import LiveIndex, open_live_index
from rag.wiring.models import ChatModels, allow_local_time, build_writer
from rag.wiring.stores import OpenStores, build_stores
from rag.wiring.tables import Tables
from rag.write.extractive import MODEL as EXTRACTIVE

logger = logging.getLogger(__name__)

MAX_DIGITS = 9
"""The longest number in a chunk's id."""
UTTERANCES_FILE = Path(__file__).resolve().parents[1] / "ask" / "remarks.npy"
"""The labelled utterances that tell a remark from a question; ``tools/research/remarks.py`` makes them."""


@dataclass(frozen=True, slots=True)
class Application:
    """A pipeline with its settings, index and stores. ``chat`` is None if no LLM is configured.

    Every method that reads the index raises IndexUnavailable if there is no usable one.
    """

    settings: Settings
    profile: ProfileSettings
    pipeline: Pipeline
    index: LiveIndex
    chat: ChatModel | None
    chats: ChatModels
    stores: OpenStores | None
    remote: RemoteEmbedder | None
    suggestions: library.Suggestions

    def health(self) -> HealthReply:
        """Return the state of the service; calls no LLM."""
        with self.index.lease() as index:
            index.check_reachable()
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
        store = find_store_vendor(self.settings)
        return HealthReply(version=VERSION, profile=self.pipeline.profile, index=state, llm=llm, store=store)

    def welcome(self) -> SuggestionsReply:
        """Return the page's first content."""
        questions, model = self.suggestions(), self.chat.model if self.chat else EXTRACTIVE
        with self.index.lease() as index:
            return library.build_welcome(index, self.profile, questions=questions, model=model)

    def search(self, text: str, *, k: int, filters: Mapping[str, object] | None = None) -> tuple[Hit, ...]:
        """Return the ``k`` (1..50) best chunks for ``text``, as the pipeline finds them, best first.

        Raises:
            BadRequest: the text cannot be admitted, or a filter is wrong.
            SearchFailed: the search failed.
        """
        question = self.pipeline.admit(Question(text=text, top_k=k, filters=filters or {}))
        query = SearchQuery(text=question.text, top_k=k)
        for stage in self.pipeline.query_stages:
            query = stage(query, question)
        return self.pipeline.retrieve(query).hits[:k]

    def chunk(self, chunk_id: str, question: str | None = None) -> ChunkView:
        """Return the chunk ``chunk_id`` ("id_42") as a reader sees it who asked ``question``.

        Raises:
            UnknownChunk: the index has no such chunk.
        """
        number = parse_chunk_id(chunk_id)
        with self.index.lease() as index:
            view = index.view(number, question)
        if view is None:
            raise UnknownChunk
        return view

    def adjacent_chunks(self, chunk: Chunk) -> tuple[Chunk | None, Chunk | None]:
        """Return the chunks of the same document before and after ``chunk``."""
        with self.index.lease() as index:
            beside = [index.chunk(number) for number in (chunk.number - 1, chunk.number + 1)]
        before, after = (other if other and other.doc_id == chunk.doc_id else None for other in beside)
        return before, after

    def document(self, chunk_id: str) -> tuple[Chunk, ...]:
        """Return the chunks of the document whose first one is ``chunk_id``."""
        with self.index.lease() as index:
            return library.read_document(index, parse_chunk_id(chunk_id))

    def document_page(self, start: int) -> DocumentPage:
        """Return the documents from the number ``start`` on."""
        with self.index.lease() as index:
            return library.read_document_page(index, start)

    def overview(self) -> Overview:
        """Return an overview of the documents."""
        with self.index.lease() as index:
            return library.build_overview(index)

    def vote(self, response_id: str, *, helpful: bool | None, comment: str | None) -> None:
        """Record the session's vote on a response; ``helpful`` None withdraws it.

        Raises:
            UnknownResponse: there is no such response, or responses are not stored.
            TooManyVotes: the session has reached its limit of votes for this hour.
            StoreUnavailable: the vote cannot be stored now.
        """
        if self.pipeline.feedback is None or self.stores is None:
            raise UnknownResponse
        with self.stores.guard.vote():
            self.pipeline.feedback.vote(response_id, helpful=helpful, comment=comment)

    def warm(self) -> None:
        """Import the modules of an answer and create every client; call no server and read no secret.

        A failure is logged: the first request tries again and reports it.
        """
        parse_markdown("")  # it imports markdown-it, which takes some 20 ms
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
        """Drop connections, keys and the caches of this process; the clients stay."""
        self.index.handle.disconnect()
        self.chats.renew()
        if self.stores:
            self.stores.renew()
        if self.remote:
            self.remote.renew()
        if self.settings.reads_secrets:
            renew_secrets()


@dataclass(frozen=True, slots=True)
class Library:
    """The documents of ``service``, for ``rag.mcp``; ``ask`` answers a question as its transport needs."""

    service: Application
    ask: Callable[[Question, Listen | None], Answer]


def build_application(settings: Settings) -> Application:
    """Build the service that ``settings`` describe; an index that cannot be opened is a state, not an error.

    Raises:
        ConfigurationError: a setting, a table or a prompt template is wrong.
        ModelMissing: the embedding model is missing.
    """
    definition = load_profile(settings.profile)
    profile: ProfileSettings = load(definition.settings)
    settings = allow_local_time(settings, profile)
    prompts, stores = Prompts(settings), build_stores(settings)
    local, remote = MiniLM(threads=settings.embed_threads), remote_embedder(settings, side="question")
    index = open_live_index(settings, local=local, remote=remote)
    tables = Tables(settings, index)
    chats = ChatModels(settings, profile)
    chat = chats.answer_model()

    def cache_scope() -> dict[str, object]:
        return {
            "recipe": RECIPE,
            "profile": settings.profile,
            "model": chat.model if chat else EXTRACTIVE,
            "knobs": profile.model_dump(mode="json"),
            "prompts": prompts.digest(),
            "tables": tables.digest(),
        }

    suggestions = library.Suggestions(index.lease)

    def guide() -> Decline:
        headings = suggestions()
        with index.lease() as opened:
            return library.build_guide(opened, headings)

    writer, window = build_writer(settings, profile, prompts, chat)
    dependencies = StageDependencies(
        index=index,
        writer=writer,
        window=window,
        stores=stores,
        chat=chat,
        deciding_chat=chats.decision_model,
        prompt=prompts.load,
        scope=cache_scope,
        version=index.version,
        embed=index.embed,
        language_unlike=index.language_unlike,
        embed_ahead=index.embed_ahead if remote else None,
        acronyms=tables.acronyms,
        rules=tables.rules,
        remarks=Remarks(
            utterances=load_utterances(),
            embed=lambda text: local.read(question_text(text)).vector,  # as the search reads it: once
            votes=stores is not None,
            writes=chat is not None,
            guide=guide,
        ),
    )
    pipeline = definition.build(profile, dependencies)
    if profile.seed_rules and definition.seed:
        manifest = None
        with suppress(IndexUnavailable), index.lease() as opened:
            manifest = opened.manifest
        logger.warning("%s", describe_seed_rules(settings.profile, definition.seed, manifest))
    if stores:
        pipeline = replace(pipeline, store_budget=stores.guard.question)
    return Application(settings, profile, pipeline, index, chat, chats, stores, remote, suggestions)


def load_utterances() -> Utterances:
    """Load the labelled utterances that ship with the program."""
    return Utterances.from_rows(np.load(UTTERANCES_FILE))


def parse_chunk_id(chunk_id: str) -> int:
    """Return the number in "id_42".

    Raises:
        UnknownChunk: no chunk can have this id.
    """
    number = chunk_id.removeprefix("id_")
    if number == chunk_id or not number.isdecimal() or len(number) > MAX_DIGITS:
        raise UnknownChunk
    return int(number)
