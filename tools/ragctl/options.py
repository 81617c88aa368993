"""The options that commands share, and the only reader and writer of the environment in this program."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragctl.console import note

if TYPE_CHECKING:
    from rag.config.settings import Settings

DEFAULT_PORT = 3000

Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout; errors too.")]
IndexDir = Annotated[
    str | None, typer.Option("--index", metavar="DIR", help="The index. Default: $INDEX_URI, else .index/<profile>.")
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile", metavar="P", help="Which system. Default: $RAG_PROFILE, else the index's own, else house."
    ),
]


def read_settings(*, index: str | None, profile: str | None, making: bool = False) -> Settings:
    """The service's settings, options first. Options become variables, because the function reads those.

    The profile that nobody gives is the one that the index was made for. ``making`` is for the command that makes the
    index: it looks for no other than the one that is named, or has its usual place.

    Raises:
        ConfigurationError: a variable holds something that is not accepted.
        typer.BadParameter: there is no such profile.
    """
    from rag.config.settings import Settings, load
    from rag.profiles import PROFILES, require_profile

    if profile is not None:
        if profile not in PROFILES:
            raise typer.BadParameter(f"{profile!r} is not one of {', '.join(PROFILES)}", param_hint="--profile")
        os.environ["RAG_PROFILE"] = profile
    if index is not None:
        if not index.strip():
            raise typer.BadParameter("it is empty; name a folder", param_hint="--index")
        os.environ["INDEX_URI"] = index
    _follow_index(making=making)
    settings = load(Settings)
    require_profile(settings.profile)
    return settings


def with_store(settings: Settings) -> tuple[Settings, str]:
    """The settings of a server, whose store is beside the index where nobody names another, and a sentence on it."""
    from knowledge.engines.server.address import is_server
    from knowledge.open.place import folder_of
    from rag.adapters.vendors import NO_STORE
    from rag.config.settings import Settings, load

    if settings.table_name:
        return settings, f"Turns and votes are kept in the table {settings.table_name}"
    if settings.store_path == NO_STORE:
        return settings, f"Nothing is remembered: STORE_PATH={NO_STORE}"
    if not settings.store_path:
        if is_server(settings.index_place):
            return settings, "Nothing is remembered: an index on a server has no place for it. Set STORE_PATH"
        folder = folder_of(settings.index_place).absolute()
        place = folder.with_name(f"{folder.name}.store.sqlite")
        there = next(path for path in (place, *place.parents) if path.exists())
        if not os.access(there, os.W_OK):
            return settings, f"Nothing is remembered: {there} cannot be written. Set STORE_PATH"
        os.environ["STORE_PATH"] = str(place)
        settings = load(Settings)
    return settings, f"Turns and votes are kept in {settings.store_path}"


def _follow_index(*, making: bool) -> None:
    """Without a profile take the one of the index; with another one say so."""
    from knowledge.open.place import made_of
    from rag.config.settings import DEFAULT_PROFILE
    from rag.profiles import PROFILES

    given, place = (os.environ.get(name, "").strip() for name in ("RAG_PROFILE", "INDEX_URI"))
    if not place:
        place = _usual_place(given or (DEFAULT_PROFILE if making else _made_before()))
    own = made_of(place).profile
    if given and own and own != given:
        note(f"Note: the index {place} was made for the profile {own}; --profile or RAG_PROFILE says {given}")
    elif not given and own in PROFILES:
        os.environ["RAG_PROFILE"], os.environ["INDEX_URI"] = own, place


def _made_before() -> str:
    """The only profile that has an index in its usual place; where none or several have one, the default."""
    from rag.config.settings import DEFAULT_PROFILE
    from rag.profiles import PROFILES

    there = [name for name in PROFILES if Path(_usual_place(name)).is_dir()]
    if DEFAULT_PROFILE in there or len(there) != 1:
        return DEFAULT_PROFILE
    note(f"Note: there is no index {_usual_place(DEFAULT_PROFILE)}; {_usual_place(there[0])} is used")
    os.environ["RAG_PROFILE"] = there[0]
    return there[0]


def _usual_place(profile: str) -> str:
    """As ``Settings.index_place`` has it."""
    return f".index/{profile}"


def limit_numpy_threads() -> None:
    """Keep numpy's BLAS, which has nothing to do here, from starting a thread per core; before numpy is imported."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def wants_trace() -> bool:
    """Whether a developer asked (``RAGCTL_TRACE=1``) for the trace of an unexpected failure."""
    return bool(os.environ.get("RAGCTL_TRACE"))


def cores() -> int:
    """Processors that this process may use, >= 1."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
