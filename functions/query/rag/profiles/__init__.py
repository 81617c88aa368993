"""The systems by name, each as numbers (Knobs) and a shape (build)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rag.config.settings import ProfileName

if TYPE_CHECKING:
    from rag.pipeline import Pipeline
    from rag.profiles.inputs import Inputs
    from rag.profiles.service_knobs import ServiceKnobs


@dataclass(frozen=True, slots=True)
class Profile[K: ServiceKnobs]:
    """``knobs`` are read from the environment; ``build`` makes the pipeline of them. ``about`` is one line."""

    about: str
    knobs: type[K]
    build: Callable[[K, Inputs], Pipeline]


def _waypoint() -> Profile[Any]:
    from rag.profiles import waypoint as module

    return Profile(module.__doc__ or "", module.Knobs, module.build)


def _gacounts() -> Profile[Any]:
    from rag.profiles import gacounts as module

    return Profile(module.__doc__ or "", module.Knobs, module.build)


def _clockify() -> Profile[Any]:
    from rag.profiles import clockify as module

    return Profile(module.__doc__ or "", module.Knobs, module.build)


class _OnDemand(Mapping[ProfileName, Profile[Any]]):
    """Imports a profile when it is asked for: all three would cost each cold start 55 ms and 18 modules more."""

    def __init__(self, profiles: Mapping[ProfileName, Callable[[], Profile[Any]]]) -> None:
        self._profiles = profiles

    def __getitem__(self, name: ProfileName) -> Profile[Any]:
        return self._profiles[name]()

    def __iter__(self) -> Iterator[ProfileName]:
        return iter(self._profiles)

    def __len__(self) -> int:
        return len(self._profiles)


PROFILES: Mapping[ProfileName, Profile[Any]] = _OnDemand(
    {"waypoint": _waypoint, "gacounts": _gacounts, "clockify": _clockify}
)
