"""How a number becomes a setting: its default, its variable, its unit and where it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

type Env = str | tuple[str, ...]
"""A setting's environment variable; of several, the first that is set wins."""


class EnvironmentSettings(BaseModel):
    """A frozen set of settings, each field read from the environment variable that its alias names."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


def knob(default: Any, env: Env, doc: str, *, unit: str = "", source: str = "", **accepts: Any) -> Any:
    """A documented setting: ``accepts`` are pydantic's constraints (ge, le, pattern ...).

    ``unit`` and ``source`` (the seed or decision that fixes the default) appear in docs/configuration.md.
    """
    alias = env if isinstance(env, str) else AliasChoices(*env)
    return Field(
        default, validation_alias=alias, description=doc, json_schema_extra={"unit": unit, "source": source}, **accepts
    )


@dataclass(frozen=True, slots=True)
class Source:
    """Makes the settings whose defaults one source fixes (``""``: none), by the usual kinds.

    ``least`` and ``most`` are the bounds, themselves accepted, in the setting's unit.
    """

    source: str = ""

    def knob(self, default: Any, env: Env, doc: str, *, unit: str = "", **accepts: Any) -> Any:
        """A setting of no usual kind."""
        return knob(default, env, doc, unit=unit, source=self.source, **accepts)

    def count(self, default: int, env: Env, doc: str, *, unit: str, least: int = 1, most: int | None = None) -> Any:
        """So many of ``unit``."""
        return self.knob(default, env, doc, unit=unit, ge=least, le=most)

    def chunks(self, default: int, env: Env, doc: str, *, most: int | None = 50) -> Any:
        """So many chunks, at least one."""
        return self.count(default, env, doc, unit="chunks", most=most)

    def characters(self, default: int, env: Env, doc: str, *, least: int = 1, most: int = 100_000) -> Any:
        """A length of text in characters."""
        return self.count(default, env, doc, unit="characters", least=least, most=most)

    def tokens(self, default: int, env: Env, doc: str, *, least: int = 1, most: int) -> Any:
        """A length of text in tokens."""
        return self.count(default, env, doc, unit="tokens", least=least, most=most)

    def seconds(self, default: float, env: Env, doc: str, *, most: float, least: float | None = None) -> Any:
        """A time of more than 0 s, or from ``least`` s on."""
        return self.knob(default, env, doc, unit="s", ge=least, gt=0 if least is None else None, le=most)

    def cosine(self, default: float, env: Env, doc: str, *, unit: str = "") -> Any:
        """A cosine, or a score on the scale that ``unit`` names: -1..1."""
        return self.knob(default, env, doc, unit=unit, ge=-1, le=1)

    def share(self, default: float, env: Env, doc: str, *, above: float | None = None) -> Any:
        """A part of a whole, 0..1, or more than ``above``."""
        return self.knob(default, env, doc, ge=0 if above is None else None, gt=above, le=1)

    def percent(self, default: float, env: Env, doc: str) -> Any:
        """A confidence, 0..100."""
        return self.knob(default, env, doc, ge=0, le=100)
