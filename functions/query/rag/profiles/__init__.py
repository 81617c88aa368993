"""The four systems by name: one row of ``PROFILES`` for each, which imports its module when it is called.

``house`` is the general one; ``waypoint``, ``gacounts`` and ``clockify`` follow three real systems, their seeds
(docs/profiles.md).

Importing all of them would cost each cold start 55 ms and 18 modules. A profile's prompts are in ``prompts/<name>/``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rag.errors import ConfigurationError

if TYPE_CHECKING:
    from rag.profiles.shared.pipeline import Profile


def _import_clockify() -> Profile[Any]:
    from rag.profiles.clockify import PROFILE

    return PROFILE


def _import_gacounts() -> Profile[Any]:
    from rag.profiles.gacounts import PROFILE

    return PROFILE


def _import_house() -> Profile[Any]:
    from rag.profiles.house import PROFILE

    return PROFILE


def _import_waypoint() -> Profile[Any]:
    from rag.profiles.waypoint import PROFILE

    return PROFILE


PROFILES: dict[str, Callable[[], Profile[Any]]] = {
    "clockify": _import_clockify,
    "gacounts": _import_gacounts,
    "house": _import_house,
    "waypoint": _import_waypoint,
}


def load_profile(name: str) -> Profile[Any]:
    """Import the profile of that name.

    Raises:
        ConfigurationError: there is none.
    """
    require_profile(name)
    return PROFILES[name]()


def require_profile(name: str) -> None:
    """Check that there is a profile of that name, without importing it.

    Raises:
        ConfigurationError: there is none; the message lists the profiles.
    """
    if name not in PROFILES:
        raise ConfigurationError(f"There is no profile {name!r}; RAG_PROFILE is one of {', '.join(PROFILES)}")
