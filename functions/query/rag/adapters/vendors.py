"""The vendors of chat models, embedders and stores: one row for each in three dictionaries.

A row imports its adapter when it is called, so that a start loads one store and no client of a model. An address
names its vendor by its scheme, as ``bedrock://eu-central-1`` would. Any other address is an OpenAI-compatible API, or
the path of a SQLite file.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from rag.adapters.model_config import ChatConfig, EmbedConfig
from rag.config.settings import Settings
from rag.ports.models import ChatModel, RemoteEmbedder
from rag.ports.stores import Store

NO_STORE = "none"
"""The STORE_PATH that asks for no store."""


def openai_chat(config: ChatConfig) -> ChatModel:
    """Build the client of an OpenAI-compatible chat model."""
    from rag.adapters.llm.openai_chat import OpenAiChat

    return OpenAiChat(config)


def openai_embedder(config: EmbedConfig) -> RemoteEmbedder:
    """Build the client of an OpenAI-compatible embedder."""
    from rag.adapters.embedding.openai_embed import OpenAiEmbedder

    return OpenAiEmbedder(config)


def dynamodb_store(settings: Settings) -> Store:
    """Build the store in the table TABLE_NAME."""
    from rag.adapters.dynamodb.store import DynamoDbStore

    return DynamoDbStore(settings)


def sqlite_store(settings: Settings) -> Store:
    """Build the store in the file STORE_PATH."""
    from rag.adapters.sqlite.store import SqliteStore

    return SqliteStore(settings)


CHAT_MODELS: dict[str, Callable[[ChatConfig], ChatModel]] = {"openai": openai_chat}
EMBEDDERS: dict[str, Callable[[EmbedConfig], RemoteEmbedder]] = {"openai": openai_embedder}
STORES: dict[str, Callable[[Settings], Store]] = {"dynamodb": dynamodb_store, "sqlite": sqlite_store}


def chat_model(config: ChatConfig) -> ChatModel:
    """Build the chat model at ``config.base_url``; calls no server."""
    return CHAT_MODELS[chat_vendor(config.base_url)](config)


def chat_vendor(base_url: str) -> str:
    """Return the row of ``CHAT_MODELS`` that serves ``base_url``."""
    return _vendor(base_url, CHAT_MODELS, "openai")


def remote_embedder(config: EmbedConfig) -> RemoteEmbedder:
    """Build the embedder at ``config.base_url``; calls no server."""
    return EMBEDDERS[_vendor(config.base_url, EMBEDDERS, "openai")](config)


def open_store(settings: Settings) -> Store | None:
    """Build the store that ``settings`` name, None if they name none; connects to nothing yet.

    Raises:
        ConfigurationError: the store must not be used.
    """
    vendor = store_vendor(settings)
    return STORES[vendor](settings) if vendor else None


def store_vendor(settings: Settings) -> str | None:
    """Return the row of ``STORES`` that ``settings`` name, None if they name no store."""
    if settings.table_name:
        return "dynamodb"
    return None if settings.store_path in ("", NO_STORE) else _vendor(settings.store_path, STORES, "sqlite")


def _vendor(address: str, rows: Container[str], default: str) -> str:
    scheme = address.partition("://")[0]
    return scheme if scheme in rows else default
