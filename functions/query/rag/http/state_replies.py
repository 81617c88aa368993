"""What a service says of itself, as JSON: its state, and what a page begins with."""

from __future__ import annotations

from typing import Any

from rag.http.health_schema import HealthReply
from rag.http.reader_schema import SuggestionsReply
from rag.values.health import Health
from rag.values.welcome import Welcome


def health_reply(health: Health) -> dict[str, Any]:
    """The body of ``GET /api/health``."""
    return HealthReply.model_validate(health).model_dump(mode="json")


def welcome_reply(welcome: Welcome) -> dict[str, Any]:
    """The body of ``GET /api/suggestions``."""
    return SuggestionsReply.model_validate(welcome).model_dump(mode="json")
