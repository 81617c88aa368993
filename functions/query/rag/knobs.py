"""How a number becomes a setting: its default, its variable, its unit and where it comes from."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Configured(BaseModel):
    """A frozen set of settings, each field read from the environment variable that its alias names."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


def knob(default: Any, *, env: str, doc: str, unit: str = "", source: str = "", **accepts: Any) -> Any:
    """A documented setting: ``accepts`` are pydantic's constraints (ge, le, pattern ...).

    ``unit`` and ``source`` (the seed or decision that fixes the default) appear in docs/configuration.md.
    """
    return Field(
        default, validation_alias=env, description=doc, json_schema_extra={"unit": unit, "source": source}, **accepts
    )
