"""The systems by name, each as numbers (Knobs) and a shape (build): every module of this package is one.

A profile has ``Knobs`` (an ``EvidenceKnobs``), ``build(knobs, dependencies)``, a first line ``Name: what it is`` and,
where it follows a seed, ``SEED``. Nothing lists it: its name is its file's, and its prompts are in ``prompts/<name>/``.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rag.errors import ConfigurationError

if TYPE_CHECKING:
    from rag.pipeline import Pipeline
    from rag.profiles.shared.dependencies import StageDependencies
    from rag.profiles.shared.evidence import EvidenceKnobs, Seed


@dataclass(frozen=True, slots=True)
class Profile[K: EvidenceKnobs]:
    """``knobs`` are read from the environment; ``build`` makes the pipeline of them. ``about`` is one line.

    ``seed`` is None of a profile that follows none.
    """

    about: str
    knobs: type[K]
    build: Callable[[K, StageDependencies], Pipeline]
    seed: Seed | None = None


class _Found(Mapping[str, Profile[Any]]):
    """Finds a profile when it is asked for: all of them would cost each cold start 55 ms and 18 modules more."""

    def __contains__(self, name: object) -> bool:
        return any(name == found for found in self)

    def __getitem__(self, name: str) -> Profile[Any]:
        if name not in self:
            raise KeyError(name)
        module = import_module(f"{__name__}.{name}")

        def build(knobs: Any, dependencies: StageDependencies) -> Pipeline:
            made: Pipeline = module.build(knobs, dependencies)
            return replace(made, profile=name)

        return Profile(module.__doc__ or "", module.Knobs, build, getattr(module, "SEED", None))

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(found.name for found in pkgutil.iter_modules(__path__) if not found.ispkg))

    def __len__(self) -> int:
        return sum(1 for _ in self)


PROFILES: Mapping[str, Profile[Any]] = _Found()


def profile_named(name: str) -> Profile[Any]:
    """The profile of that name.

    Raises:
        ConfigurationError: there is none.
    """
    require(name)
    return PROFILES[name]


def require(name: str) -> None:
    """Nothing, where there is a profile of that name; it is not imported.

    Raises:
        ConfigurationError: there is none; the message names those that there are.
    """
    if name not in PROFILES:
        raise ConfigurationError(f"There is no profile {name!r}; RAG_PROFILE is one of {', '.join(PROFILES)}")
