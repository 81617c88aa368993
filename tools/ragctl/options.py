"""The options that commands share, and the only reader and writer of the environment in this program."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rag.config.settings import Settings

DEFAULT_PORT = 3000

Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout; errors too.")]
IndexDir = Annotated[
    str | None, typer.Option("--index", metavar="DIR", help="The index. Default: $INDEX_URI, else .index/<profile>.")
]
Profile = Annotated[
    str | None, typer.Option("--profile", metavar="P", help="Which system. Default: $RAG_PROFILE, else waypoint.")
]


def read_settings(*, index: str | None, profile: str | None) -> Settings:
    """The service's settings, options first. Options become variables, because the function reads those.

    Raises:
        ConfigurationError: a variable holds something that is not accepted.
        typer.BadParameter: there is no such profile.
    """
    from rag.config.settings import PROFILE_NAMES, Settings, load

    if profile is not None:
        if profile not in PROFILE_NAMES:
            raise typer.BadParameter(f"{profile!r} is not one of {', '.join(PROFILE_NAMES)}", param_hint="--profile")
        os.environ["RAG_PROFILE"] = profile
    if index is not None:
        if not index.strip():
            raise typer.BadParameter("it is empty; name a folder", param_hint="--index")
        os.environ["INDEX_URI"] = index
    return load(Settings)


def limit_numpy_threads() -> None:
    """Keep numpy's BLAS, which has nothing to do here, from starting a thread per core; before numpy is imported."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def wants_trace() -> bool:
    """Whether a developer asked (``RAGCTL_TRACE=1``) for the trace of an unexpected failure."""
    return bool(os.environ.get("RAGCTL_TRACE"))


def cores() -> int:
    """Processors that this process may use, >= 1."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
