"""ragctl ingest: files and folders into the index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragctl.console import emit_json, note, progress, show
from ragctl.failures import INTERRUPTED, CommandFailed
from ragctl.options import IndexDir, Json, Profile, read_settings

if TYPE_CHECKING:
    from knowledge.build.ingest import Summary
    from knowledge.read.documents import Reading
    from knowledge.types import Failure
    from rag.config.settings import Settings

COUNTS = ("documents", "chunks", "added", "changed", "removed", "unchanged")
LABELS_OLDER = "what labels gave the documents before was kept: run ragctl calibrate --questions again"


def ingest(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Folders, files, or a BEIR corpus.jsonl.")],
    *,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> None:
    """Make the index mirror the documents in PATH...: what is new is embedded, what is gone is removed."""
    settings = read_settings(index=index, profile=profile)
    try:
        reading, summary = _ingest(paths, settings)
    except KeyboardInterrupt as exc:
        sentence = "Interrupted; the index is as it was"
        raise CommandFailed(sentence, code="interrupted", exit_status=INTERRUPTED) from exc
    failed, warnings = failures(*reading.failed, *summary.failed), _warnings(reading, summary)
    if as_json:
        counts = {name: getattr(summary, name) for name in COUNTS}
        seconds = round(summary.seconds, 3)
        older = {"note": LABELS_OLDER} if summary.labels_older else {}
        emit_json({**counts, "failed": failed, "warnings": warnings, "seconds": seconds, **older})
    else:
        _report(failed, warnings)
        _print_summary(summary, settings.index_place, failed=len(failed))
        if summary.labels_older:
            note(f"Note: {LABELS_OLDER}")


def _ingest(paths: list[Path], settings: Settings) -> tuple[Reading, Summary]:
    from knowledge.build.ingest import ingest as build
    from knowledge.errors import SourceUnreadable
    from knowledge.open.source import folder_of
    from knowledge.read.documents import read
    from rag.errors import EmbeddingFailed, EmbeddingUnavailable
    from ragctl.converters import readers
    from ragctl.embedders import for_documents

    reading = read(paths, readers=readers())
    target = folder_of(settings.index_place)
    try:
        with for_documents(settings, target) as embedder, progress("Embedding") as on_progress:
            summary = build(
                reading.documents,
                target=target,
                embedder=embedder,
                collection=settings.collection,
                on_progress=on_progress,
            )
    except SourceUnreadable as exc:
        failed = failures(*reading.failed, *exc.failed)
        _report(failed, _warnings(reading))
        raise CommandFailed(str(exc), code=exc.code, failed=failed) from exc
    except (EmbeddingFailed, EmbeddingUnavailable) as exc:
        # Its message holds statuses and error classes, no vendor's words.
        sentence = f"{exc}. The index is as it was; the same command goes on where this one stopped"
        raise CommandFailed(sentence, code=exc.code) from exc
    return reading, summary


def failures(*failed: Failure) -> list[dict[str, str]]:
    """``failed`` for JSON: ``{path, error}`` each."""
    return [{"path": failure.path, "error": failure.error} for failure in failed]


def _warnings(reading: Reading, summary: Summary | None = None) -> list[dict[str, str]]:
    return failures(*reading.warnings) + [
        {"path": path, "error": "holds no text"} for path in (summary.empty if summary else ())
    ]


def _report(failed: list[dict[str, str]], warnings: list[dict[str, str]]) -> None:
    for what, problems in (("Failed", failed), ("Warning", warnings)):
        for problem in problems:
            note(f"{what}: {problem['path']}: {problem['error']}")


def _print_summary(summary: Summary, place: str, *, failed: int) -> None:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    rows: dict[str, Any] = {name: getattr(summary, name) for name in COUNTS}
    for name, value in {**rows, "failed": failed, "seconds": f"{summary.seconds:.1f}"}.items():
        table.add_row(name, str(value))
    show(f"Index {place}", table)
