"""How a number becomes a setting: its default, its variable, its unit and where it comes from."""

from __future__ import annotations

from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field


class Configured(BaseModel):
    """A frozen set of settings, each field read from the environment variable that its alias names."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


def knob(
    default: Any, *, env: str | tuple[str, ...], doc: str, unit: str = "", source: str = "", **accepts: Any
) -> Any:
    """A documented setting: ``accepts`` are pydantic's constraints (ge, le, pattern ...).

    ``env`` is its variable; of several, the first that is set wins.
    ``unit`` and ``source`` (the seed or decision that fixes the default) appear in docs/configuration.md.
    """
    alias = env if isinstance(env, str) else AliasChoices(*env)
    return Field(
        default, validation_alias=alias, description=doc, json_schema_extra={"unit": unit, "source": source}, **accepts
    )
