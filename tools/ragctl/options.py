"""The options that commands share; the only module of this program that reads and writes environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragctl.console import CommandFailed, note

if TYPE_CHECKING:
    from rag.config.settings import Settings

DEFAULT_PORT = 3000
FAIL_UNDER = "--fail-under"

Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout; errors too.")]
IndexDir = Annotated[
    str | None, typer.Option("--index", metavar="DIR", help="The index. Default: $INDEX_URI, else .index/<profile>.")
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile", metavar="P", help="The service's profile. Default: $RAG_PROFILE, else the index's own, else house."
    ),
]

AllowRemovals = Annotated[
    bool,
    typer.Option(
        "--allow-removals",
        help="Allow removing more than 30 % of the documents, or all documents of an emptied file or folder.",
    ),
]


def read_settings(*, index: str | None, profile: str | None, for_ingest: bool = False) -> Settings:
    """Return the service's settings; options override variables, and become variables that the function reads.

    Without a profile, the one that the index was made for is used. ``for_ingest`` is for the command that makes the
    index: it considers only the named index or the default one.

    Raises:
        ConfigurationError: a variable has a value that is not accepted.
        typer.BadParameter: the profile does not exist.
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
    _adopt_profile_of_index(for_ingest=for_ingest)
    settings = load(Settings)
    require_profile(settings.profile)
    return settings


def _adopt_profile_of_index(*, for_ingest: bool) -> None:
    """Use the profile of the index if none is given; note if another one is given."""
    from knowledge.open.place import read_provenance
    from rag.config.settings import DEFAULT_PROFILE
    from rag.profiles import PROFILES

    given, place = (os.environ.get(name, "").strip() for name in ("RAG_PROFILE", "INDEX_URI"))
    if not place:
        place = _default_place(given or (DEFAULT_PROFILE if for_ingest else _profile_with_index()))
    own = read_provenance(place).profile
    if given and own and own != given:
        note(f"Note: the index {place} was made for the profile {own}; --profile or RAG_PROFILE says {given}")
    elif not given and own in PROFILES:
        os.environ["RAG_PROFILE"], os.environ["INDEX_URI"] = own, place


def _profile_with_index() -> str:
    """Return the only profile with an index in its default place; the default profile if none or several have one."""
    from rag.config.settings import DEFAULT_PROFILE
    from rag.profiles import PROFILES

    indexed = [name for name in PROFILES if Path(_default_place(name)).is_dir()]
    if DEFAULT_PROFILE in indexed or len(indexed) != 1:
        return DEFAULT_PROFILE
    note(f"Note: there is no index {_default_place(DEFAULT_PROFILE)}; {_default_place(indexed[0])} is used")
    os.environ["RAG_PROFILE"] = indexed[0]
    return indexed[0]


def _default_place(profile: str) -> str:
    """Return the same path as ``Settings.index_place``."""
    return f".index/{profile}"


def choose_store(settings: Settings) -> tuple[Settings, str]:
    """Return a server's settings, with the store beside the index if none is named, and a sentence that names it."""
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
        existing = next(path for path in (place, *place.parents) if path.exists())
        if not os.access(existing, os.W_OK):
            return settings, f"Nothing is remembered: {existing} cannot be written. Set STORE_PATH"
        os.environ["STORE_PATH"] = str(place)
        settings = load(Settings)
    return settings, f"Turns and votes are kept in {settings.store_path}"


def require_folder(settings: Settings, *, instead: str) -> Path:
    """Return the folder of the index, for work that cannot be done to an index on a server.

    Raises:
        CommandFailed: the index is on a server; ``instead`` is the advice in its message.
    """
    from knowledge.engines.server.address import is_server
    from knowledge.open.place import folder_of

    if is_server(settings.index_place):
        sentence = f"This needs an index in a folder, and {settings.index_place} is on Chroma's server. {instead}"
        raise CommandFailed(sentence, code="index_on_server")
    return folder_of(settings.index_place)


def require_at_most_one(options: Mapping[str, object]) -> list[str]:
    """Return the name of the given option, if any is given; raise ``BadParameter`` for two."""
    given = [name for name, value in options.items() if value not in (None, False)]
    if len(given) > 1:
        raise typer.BadParameter(f"{' and '.join(given)} cannot be used together")
    return given


def limit_numpy_threads() -> None:
    """Keep numpy's BLAS, which is not used here, from starting a thread per core; call it before numpy is imported."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def wants_trace() -> bool:
    """Whether the trace of an unexpected failure is printed (``RAGCTL_TRACE=1``)."""
    return bool(os.environ.get("RAGCTL_TRACE"))


def count_cores() -> int:
    """Return the number of processors that this process may use, >= 1."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
