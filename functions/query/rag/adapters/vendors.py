"""Whose adapter serves what the settings name: a row for each vendor, with its module.

A module of ``CHAT_MODELS`` has ``build(config: ChatConfig) -> ChatModel``, one of ``EMBEDDERS`` ``build(config:
EmbedConfig) -> RemoteEmbedder``, one of ``STORES`` ``build(settings: Settings) -> Store``; it is imported when it is
asked for. An address names its vendor by its scheme, as ``bedrock://eu-central-1`` would; any other address is that of
an OpenAI-compatible API, or the path of a SQLite file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module

from rag.adapters.model_config import ChatConfig, EmbedConfig
from rag.config.settings import Settings
from rag.ports.models import ChatModel, RemoteEmbedder
from rag.ports.stores import Store

CHAT_MODELS: Mapping[str, str] = {"openai": "rag.adapters.llm.openai_chat"}
EMBEDDERS: Mapping[str, str] = {"openai": "rag.adapters.embedding.openai_embed"}
STORES: Mapping[str, str] = {"dynamodb": "rag.adapters.dynamodb.store", "sqlite": "rag.adapters.sqlite.store"}
NO_STORE = "none"
"""The STORE_PATH of somebody who wants none."""


def chat_model(config: ChatConfig) -> ChatModel:
    """The chat model at ``config.base_url``; calls nobody."""
    model: ChatModel = import_module(CHAT_MODELS[chat_vendor(config.base_url)]).build(config)
    return model


def chat_vendor(base_url: str) -> str:
    """Whose chat models are at ``base_url``: a row's name."""
    return _vendor(base_url, CHAT_MODELS, "openai")


def remote_embedder(config: EmbedConfig) -> RemoteEmbedder:
    """The embedder at ``config.base_url``; calls nobody."""
    model: RemoteEmbedder = import_module(EMBEDDERS[_vendor(config.base_url, EMBEDDERS, "openai")]).build(config)
    return model


def open_store(settings: Settings) -> Store | None:
    """The store that ``settings`` name, None where they name none; nothing is connected yet.

    Raises:
        ConfigurationError: it must not be used.
    """
    vendor = store_vendor(settings)
    if vendor is None:
        return None
    store: Store = import_module(STORES[vendor]).build(settings)
    return store


def store_vendor(settings: Settings) -> str | None:
    """Whose store ``settings`` name: a row's name, None where they name none."""
    if settings.table_name:
        return "dynamodb"
    return None if settings.store_path in ("", NO_STORE) else _vendor(settings.store_path, STORES, "sqlite")


def _vendor(address: str, rows: Iterable[str], otherwise: str) -> str:
    scheme = address.partition("://")[0]
    return scheme if scheme in rows else otherwise
