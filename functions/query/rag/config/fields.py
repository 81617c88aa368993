"""The parts of a setting: one annotated line with type, unit, variable, bounds, origin and default, and a sentence.

    class Example(EnvironmentSettings):
        wait_s: Annotated[Seconds, env("WAIT_S", le=60), DefaultOrigin("waypoint")] = 5.0
        '''Longest wait.'''

``ragctl docs`` makes docs/configuration.md from these lines. A subclass changes a default by another annotated line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo


class EnvironmentSettings(BaseModel):
    """A frozen set of settings; the alias of each field is its environment variable."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


@dataclass(frozen=True, slots=True)
class UnitName:
    """The unit of a number."""

    name: str


@dataclass(frozen=True, slots=True)
class DefaultOrigin:
    """The seed or the document that fixes a default."""

    name: str


def env(variable: str, *others: str, **constraints: Any) -> Any:
    """Return the annotation that names the environment variable of a setting; of several, the first that is set wins.

    ``constraints`` are arguments of ``pydantic.Field``: ge, gt, le, pattern and others.
    """
    return Field(validation_alias=AliasChoices(variable, *others) if others else variable, **constraints)


def variable_names(field: FieldInfo) -> tuple[str, ...]:
    """Return the environment variables of a setting; the first that is set wins."""
    alias = field.validation_alias
    return tuple(map(str, alias.choices)) if isinstance(alias, AliasChoices) else (str(alias),)


Seconds = Annotated[float, UnitName("s"), Field(gt=0)]
Pause = Annotated[float, UnitName("s"), Field(ge=0)]
Chunks = Annotated[int, UnitName("chunks"), Field(ge=1, le=50)]
Characters = Annotated[int, UnitName("characters")]
Tokens = Annotated[int, UnitName("tokens")]
Cosine = Annotated[float, Field(ge=-1, le=1)]
Share = Annotated[float, Field(ge=0, le=1)]
PositiveShare = Annotated[float, Field(gt=0, le=1)]
Percent = Annotated[float, Field(ge=0, le=100)]

CLOCKIFY, GACOUNTS, WAYPOINT = DefaultOrigin("clockify"), DefaultOrigin("gacounts"), DefaultOrigin("waypoint")
DESIGN = DefaultOrigin("DESIGN.md")
