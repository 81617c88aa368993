"""The vendors of chat models, embedders and stores: one row for each in three dictionaries.

A row imports its adapter when it is called, so that a start loads one store and no client of a model. An address
names its vendor by its scheme, as ``bedrock://eu-central-1`` would. Any other address is an OpenAI-compatible API, or
the path of a SQLite file.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from pathlib import Path

from rag.adapters.model_config import ChatConfig, EmbedConfig
from rag.adapters.stores.table import Table
from rag.config.settings import Settings
from rag.errors import ConfigurationError
from rag.ports import ChatModel, RemoteEmbedder

NO_STORE = "none"
"""The STORE_PATH that asks for no store."""


def _build_openai_chat(config: ChatConfig) -> ChatModel:
    from rag.adapters.llm.openai_chat import OpenAiChat

    return OpenAiChat(config)


def _build_openai_embedder(config: EmbedConfig) -> RemoteEmbedder:
    from rag.adapters.embedding.openai_embedder import OpenAiEmbedder

    return OpenAiEmbedder(config)


def _build_dynamodb_table(settings: Settings) -> Table:
    from rag.adapters.dynamodb import DynamoDbTable

    return DynamoDbTable(settings.table_name, endpoint_url=settings.table_endpoint or None)


def _build_sqlite_table(settings: Settings) -> Table:
    from rag.adapters.sqlite import SqliteTable, find_exposed

    path = Path(settings.store_path)
    if exposed := find_exposed(path):
        raise ConfigurationError(
            f"STORE_PATH: others than its owner may read or write {exposed}, which holds what people asked."
            f" Run: chmod 600 {exposed}"
        )
    return SqliteTable(path)


CHAT_MODELS: dict[str, Callable[[ChatConfig], ChatModel]] = {"openai": _build_openai_chat}
EMBEDDERS: dict[str, Callable[[EmbedConfig], RemoteEmbedder]] = {"openai": _build_openai_embedder}
STORES: dict[str, Callable[[Settings], Table]] = {"dynamodb": _build_dynamodb_table, "sqlite": _build_sqlite_table}


def build_chat_model(config: ChatConfig) -> ChatModel:
    """Build the chat model at ``config.base_url``; calls no server."""
    return CHAT_MODELS[find_chat_vendor(config.base_url)](config)


def find_chat_vendor(base_url: str) -> str:
    """Return the row of ``CHAT_MODELS`` that serves ``base_url``."""
    return _vendor(base_url, CHAT_MODELS, "openai")


def build_remote_embedder(config: EmbedConfig) -> RemoteEmbedder:
    """Build the embedder at ``config.base_url``; calls no server."""
    return EMBEDDERS[_vendor(config.base_url, EMBEDDERS, "openai")](config)


def open_table(settings: Settings) -> Table | None:
    """Build the stores' table that ``settings`` name, None if they name none; connects to nothing yet.

    Raises:
        ConfigurationError: the table must not be used.
    """
    vendor = find_store_vendor(settings)
    return STORES[vendor](settings) if vendor else None


def find_store_vendor(settings: Settings) -> str | None:
    """Return the row of ``STORES`` that ``settings`` name, None if they name no store."""
    if settings.table_name:
        return "dynamodb"
    return None if settings.store_path in ("", NO_STORE) else _vendor(settings.store_path, STORES, "sqlite")


def _vendor(address: str, rows: Container[str], default: str) -> str:
    scheme = address.partition("://")[0]
    return scheme if scheme in rows else default
