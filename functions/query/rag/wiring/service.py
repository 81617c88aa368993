"""One service of one profile: adapters made for the settings, the current index, the pipeline."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

from pydantic import BaseModel

from knowledge.embedding import MiniLM
from knowledge.open.handle import IndexHandle, watch
from knowledge.open.index import Index, open_index
from knowledge.token_count import TokenCounter
from rag.adapters.embedding.embedders import index_embedder, remote_embedder
from rag.adapters.embedding.openai_embed import OpenAiEmbedder
from rag.adapters.embedding.remembering import Remembering
from rag.adapters.llm.openai_chat import ChatConfig, OpenAiChat
from rag.adapters.secrets import forget_secrets, llm_key, warm_secrets
from rag.config.prompts import Prompts
from rag.config.settings import Settings, load
from rag.errors import UnknownResponse
from rag.http.schema import HealthReply, IndexHealth, LlmHealth
from rag.pipeline import Pipeline
from rag.ports import Writer
from rag.profiles.inputs import Inputs
from rag.profiles.llm_knobs import LlmKnobs
from rag.profiles.services import Services
from rag.stages.cache.frozen_answer import RECIPE
from rag.stages.pack.tokens import RoughTokens
from rag.stages.write.chat_writer import ChatWriter, WithLastResort
from rag.stages.write.extractive import MODEL as EXTRACTIVE
from rag.stages.write.extractive import ExtractiveWriter
from rag.wiring.live_index import LiveIndex
from rag.wiring.stores import OpenStores, build_stores
from rag.wiring.tables import Tables

DECIDING = {"temperature": 0.0, "max_tokens": 500}
"""Rewriting and ranking are decisions: the same question gets the same one, in a line (and a reasoner's thoughts)."""


@dataclass(frozen=True, slots=True)
class Service:
    """A pipeline and what there is to say about its state. ``chat`` is None when no LLM is configured."""

    settings: Settings
    pipeline: Pipeline
    index: LiveIndex
    chat: OpenAiChat | None
    tokens: TokenCounter | RoughTokens
    stores: OpenStores | None
    remote: OpenAiEmbedder | None

    def health(self) -> HealthReply:
        """The body of ``GET /api/health``; calls no LLM.

        Raises:
            IndexUnavailable: there is no usable index.
        """
        with self.index.lease() as index:
            health = IndexHealth(
                documents=index.documents,
                chunks=index.chunks,
                embeddingModel=index.embedder.model,
                builtAt=index.built_at,
                version=index.version,
                manifest=index.manifest is not None,
            )
        engine: Literal["openai", "extractive"] = "openai" if self.chat else "extractive"
        llm = LlmHealth(
            engine=engine,
            model=self.chat.model if self.chat else EXTRACTIVE,
            lastError=self.chat.last_error if self.chat else None,
        )
        return HealthReply(profile=self.pipeline.profile, index=health, llm=llm)

    def vote(self, response_id: str, *, helpful: bool | None, comment: str | None) -> None:
        """Let the session's vote on a response be ``helpful``; None withdraws it.

        Raises:
            UnknownResponse: there is no such response, or nothing is kept of any.
            StoreUnavailable: the vote cannot be kept now.
        """
        if self.pipeline.feedback is None:
            raise UnknownResponse
        self.pipeline.feedback.vote(response_id, helpful=helpful, comment=comment)

    def warm(self) -> None:
        """Import what an answer will need, without calling anybody or reading a secret."""
        if self.chat:
            self.chat.warm()
        if isinstance(self.tokens, TokenCounter):
            self.tokens.warm()
        if self.stores:
            self.stores.warm()
        if self.remote:
            self.remote.warm()
        if self.settings.reads_secrets:
            warm_secrets()

    def renew(self) -> None:
        """Drop connections and cached secrets; the next call makes new ones."""
        if self.chat:
            self.chat.reset()
        if self.stores:
            self.stores.renew()
        if self.remote:
            self.remote.reset()
        if self.settings.reads_secrets:
            forget_secrets()


def build_service(settings: Settings) -> Service:
    """Everything that ``settings`` ask for; an index that cannot be opened is a state, not an error.

    Raises:
        ConfigurationError: a setting, a table or a prompt template is wrong.
        ModelMissing: the embedding model is not there.
    """
    profile = import_module(f"rag.profiles.{settings.profile}")
    knobs = load(profile.Knobs)
    local = MiniLM(threads=settings.embed_threads)
    remote = remote_embedder(settings, side="question")

    def open_current() -> Index:
        embedder = index_embedder(settings.index_place, local=local, remote=remote)
        if remote:
            embedder = Remembering(embedder)
        return open_index(settings.index_place, embedder=embedder, collection=settings.collection)

    index = LiveIndex(IndexHandle(open_current, changed=lambda: watch(settings.index_place)))
    index.handle.refresh()  # opened and warmed now: at init time, and into the snapshot, not at the first request
    extractive = ExtractiveWriter(index)

    def deciding_chat(model: str) -> OpenAiChat:
        return _chat(settings, knobs.model_copy(update=DECIDING), model=model, base_url=knobs.llm_base_url)

    chat = None
    if settings.llm_enabled or knobs.llm_chosen:
        chat = _chat(settings, knobs, model=knobs.llm_model, base_url=knobs.llm_base_url)
    writer: Writer = extractive
    tokens: TokenCounter | RoughTokens = RoughTokens()
    prompts = Prompts(settings)
    if chat:
        tokens = TokenCounter(lambda: chat.model)
        history_chars: int = knobs.prompt_history_chars
        placeholders = ("context", "history") if history_chars else ("context",)
        writer = ChatWriter(chat, prompts.load("system.txt", *placeholders), history_chars)
        if settings.llm_fallback == "extractive":
            writer = WithLastResort(writer, extractive)
    stores = build_stores(settings)
    tables = Tables(settings)
    services = Services(
        stores=stores.stores if stores else None,
        chat=chat,
        deciding_chat=deciding_chat,
        prompt=prompts.load,
        scope=lambda: _scope(settings, knobs, index, chat.model if chat else EXTRACTIVE, prompts, tables),
        embed=index.embed,
        embed_ahead=index.embed_ahead if remote else None,
    )
    inputs = Inputs(
        index=index,
        writer=writer,
        tokens=tokens,
        services=services,
        acronyms=tables.acronyms(),
        rules=tables.rules(),
        embedding_model=settings.embed_model or local.model,
        clock=time.perf_counter,
        new_id=lambda: secrets.token_urlsafe(16),
    )
    return Service(settings, profile.build(knobs, inputs), index, chat, tokens, stores, remote)


def _scope(
    settings: Settings, knobs: BaseModel, index: LiveIndex, model: str, prompts: Prompts, tables: Tables
) -> dict[str, object]:
    """All that a cached answer depends on, beside its question."""
    with index.lease() as current:
        version = current.version
    return {
        "recipe": RECIPE,
        "profile": settings.profile,
        "index": version,
        "model": model,
        "knobs": knobs.model_dump(mode="json"),
        "prompts": prompts.digest(),
        "tables": tables.digest(),
    }


def _chat(settings: Settings, knobs: LlmKnobs, *, model: str, base_url: str) -> OpenAiChat:
    return OpenAiChat(
        ChatConfig(
            base_url=settings.llm_base_url or base_url,
            api_key=llm_key(settings),
            model=model,
            fallback_models=settings.llm_fallback_models,
            temperature=knobs.temperature,
            max_tokens=knobs.max_tokens,
            connect_timeout_s=knobs.connect_timeout_s,
            read_timeout_s=knobs.read_timeout_s,
            retries=knobs.retries,
            backoff_base_s=knobs.backoff_base_s,
            backoff_cap_s=knobs.backoff_cap_s,
            jitter=knobs.backoff_jitter,
        )
    )
