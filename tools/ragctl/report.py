"""What an ingest did, for people and as JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragctl.console import note, show

if TYPE_CHECKING:
    from knowledge.build.summary import Summary
    from knowledge.model.values import Document, Failure
    from knowledge.read.documents import Reading


COUNTS = ("documents", "chunks", "added", "changed", "removed", "unchanged")
LABELS_OLDER = "what labels gave the documents before was kept: run ragctl calibrate --questions again"
NAMED_WARNINGS = 3
"""So many files of which the same is to be said are named, the others counted; failed ones are all named."""


def report(
    reading: Reading, summary: Summary, *, seconds: float, reading_s: float, dry_run: bool, language: str = ""
) -> dict[str, Any]:
    """All of it for JSON: counts, ``emptied``, ``failed`` and ``warnings`` as ``{path, error}``, wall time by phase.

    ``language`` is what is to be said of the documents' language, if anything.
    """
    phases = {"reading": reading_s, **summary.phases}
    urls = [document.url for document in reading.documents if document.url]
    emptied = {failure.path for failure in summary.emptied}
    warnings = [failure for failure in reading.warnings if failure.path not in emptied]
    return {
        **{name: getattr(summary, name) for name in COUNTS},
        "kept": summary.kept,
        "emptied": failures(*summary.emptied),
        "failed": failures(*reading.failed, *summary.failed),
        "warnings": failures(*warnings) + [{"path": path, "error": "holds no text"} for path in summary.empty],
        "skipped": dict(reading.skipped),
        "leftOut": dict(reading.left_out),
        **({"version": summary.version} if summary.version else {}),
        # The first, one in the middle and the last: a look tells whether they are right.
        "links": list(dict.fromkeys(urls[at] for at in (0, len(urls) // 2, -1))) if urls else [],
        "seconds": round(seconds, 3),
        "phases": {name: round(value, 3) for name, value in phases.items()},
        **({"dryRun": True} if dry_run else {}),
        **({"note": LABELS_OLDER} if summary.labels_older else {}),
        **({"language": language} if language else {}),
    }


def failures(*failed: Failure) -> list[dict[str, str]]:
    """``failed`` for JSON: ``{path, error}`` each."""
    return [{"path": failure.path, "error": failure.error} for failure in failed]


def print_problems(failed: Iterable[Mapping[str, str]], warnings: Iterable[Mapping[str, str]]) -> None:
    """Name what failed, each, and what is to be said of others, the same once."""
    for problem in failed:
        note(f"Failed: {problem['path']}: {problem['error']}")
    paths: dict[str, list[str]] = defaultdict(list)
    for problem in warnings:
        paths[problem["error"]].append(problem["path"])
    for error, named in paths.items():
        for path in named[:NAMED_WARNINGS]:
            note(f"Warning: {path}: {error}")
        if len(named) > NAMED_WARNINGS:
            note(f"Warning: {len(named) - NAMED_WARNINGS} more: {error}")


def print_report(found: Mapping[str, Any], place: str) -> None:
    """Print what ``report`` gave for people: problems on stderr, counts on stdout."""
    from rich.table import Table

    print_problems(found["failed"], found["warnings"])
    table = Table.grid(padding=(0, 2))
    rows = {name: str(found[name]) for name in COUNTS}
    rows["failed"] = str(len(found["failed"]))
    told = "; ".join(f"{place['path']} {place['error']}" for place in found["emptied"])
    rows["kept"] = (f"{found['kept']}: {told}" if told else str(found["kept"])) if found["kept"] else ""
    rows["skipped"] = counts(found["skipped"])
    rows["left out"] = counts(found["leftOut"])
    phases = ", ".join(f"{name} {value:.1f}" for name, value in found["phases"].items())
    rows["links"] = "\n".join(found["links"])
    rows["seconds"] = f"{found['seconds']:.1f} ({phases})"
    for name, value in rows.items():
        if value:
            table.add_row(name, value)
    show(f"Index {place}, if this were not a dry run" if "dryRun" in found else f"Index {place}", table)
    if found["emptied"]:
        note("What emptied files and folders held is kept. If it is to go, add --allow-removals")
    for name in ("note", "language"):
        if name in found:
            note(f"Note: {found[name]}")


def counts(found: Mapping[str, int]) -> str:
    """``3 .png, 1 hidden``."""
    return ", ".join(f"{count} {name}" for name, count in found.items())


SERVED = "English"
"""What the default embedding model, all-MiniLM-L6-v2, was trained on."""
MOST = 0.5
"""It is said where more than this share of the documents is in other languages."""
NAMED, LEAST = 3, 0.05
"""So many languages are named, of at least this share."""


def unserved(documents: Sequence[Document]) -> str:
    """A sentence on the languages of ``documents``, where most are not in ``SERVED``; else ``""``."""
    from knowledge.search.language import language_shares

    return sentence(language_shares([document.text for document in documents]))


def sentence(shares: Mapping[str, float]) -> str:
    """See ``unserved``; ``shares`` are those of the documents by language."""
    others = {name: share for name, share in shares.items() if name != SERVED}
    if sum(others.values()) <= MOST:
        return ""
    ranked = [name for name in sorted(others, key=lambda name: -others[name]) if others[name] >= LEAST][:NAMED]
    named = ", ".join(f"{name} ({others[name]:.0%})" for name in ranked) or f"languages other than {SERVED}"
    return (
        f"most of these documents are in {named}: the default embedder, all-MiniLM-L6-v2, knows {SERVED} alone, so they"
        " are found by their words more than by meaning; another embedder is set by EMBED_MODEL and EMBED_BASE_URL"
    )
