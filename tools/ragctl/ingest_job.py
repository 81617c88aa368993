"""One run of an ingest: read, build, and report on it for people and as JSON."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from rich.table import Table

from knowledge.build.ingest import ingest
from knowledge.build.summary import Summary
from knowledge.engines.server.address import ServerAddress, is_server
from knowledge.model.errors import SourceUnreadable
from knowledge.model.manifest import RECIPE, SEED_RECIPE
from knowledge.model.values import Failure
from knowledge.open.place import folder_of
from knowledge.open.scratch import Scratch
from knowledge.read.documents import ReadResult
from knowledge.read.losses import WordLoss
from knowledge.read.remedies import PassedOver
from knowledge.search.language import language_shares
from rag.adapters.secrets import index_key
from rag.config.settings import Settings
from rag.errors import EmbeddingFailed, EmbeddingUnavailable
from rag.wiring.tables import read_table
from ragctl.console import INTERRUPTED, CommandFailed, emit_json, note, print_rich, progress
from ragctl.embedders import for_documents
from ragctl.ingest_request import IngestRequest
from ragctl.reading_cache import READINGS_NAME
from ragctl.sources import CACHE_NAME, emptied_paths, map_documents, read_sources

MAX_REMOVED_SHARE = 0.3
"""Removing a larger share of the documents needs --allow-removals."""
NAME_CHARS = 12
COUNTS = ("documents", "chunks", "added", "changed", "removed", "unchanged")
LABELS_OLDER = "what labels gave the documents before was kept: run ragctl calibrate --questions again"
NAMED_WARNINGS = 3
"""Files that are named for the same warning; the others are counted. Failed files are all named."""


@dataclass(frozen=True, slots=True)
class IngestJob:
    """One ingest of ``request`` into the index of ``settings``.

    ``switch``: whether an index on a server answers from the new version at once, or the version is only written.
    """

    request: IngestRequest
    settings: Settings
    dry_run: bool
    may_remove: bool
    as_json: bool
    switch: bool = True

    def run(self) -> tuple[int, dict[str, Any]]:
        """Ingest once and print the report; returns as ``ingest``."""
        read, report = self.ingest()
        if self.as_json:
            emit_json(report)
        else:
            _print_report(report, self.settings.index_place)
        return read, report

    def ingest(self) -> tuple[int, dict[str, Any]]:
        """Ingest once; return the number of documents read and the report as JSON.

        Raises:
            CommandFailed: the index is unchanged.
        """
        started = time.perf_counter()
        target = work_folder(self.settings).absolute()
        beside = next(place for place in (target, *target.parents) if place.is_dir())
        try:
            # The documents' texts are in a file without a name, not in memory: on the index's own disk, because the
            # temporary folder may be in memory.
            with tempfile.TemporaryFile(dir=None if self.dry_run else beside) as texts:
                reading, summary, reading_s = self._ingest(texts)
                seconds = time.perf_counter() - started
                has_new = summary.added + summary.changed and not self.settings.embed_model
                shares = language_shares([one.text for one in reading.documents]) if has_new else {}
                times = {"seconds": seconds, "reading_s": reading_s}
                report = _report(reading, summary, **times, dry_run=self.dry_run, language=describe_languages(shares))
        except KeyboardInterrupt as exc:
            sentence = "Interrupted; the index is as it was"
            raise CommandFailed(sentence, code="interrupted", exit_status=INTERRUPTED) from exc
        return len(reading.documents), report

    def _ingest(self, texts: IO[bytes]) -> tuple[ReadResult, Summary, float]:
        target, build = work_folder(self.settings), self._builder()
        started = time.perf_counter()
        with closing(Scratch()) as scratch:  # which also removes the folders of killed runs
            cache = scratch.path if self.dry_run else target / CACHE_NAME
            reading, readings = read_sources(
                self.request, cache=cache, readings_path=target / READINGS_NAME, texts=texts
            )
        reading_s = time.perf_counter() - started
        tables = self._read_tables()
        if tables:
            note(f"Kept in the index, for profiles that read them: {', '.join(tables)}")
        try:
            with for_documents(self.settings, target) as embedder, progress("Embedding") as on_progress:
                summary = build(
                    reading.documents,
                    embedder=embedder,
                    collection=self.settings.collection,
                    lost=reading.lost,
                    emptied={} if self.may_remove else emptied_paths(reading, self.settings.index_place),
                    max_removed_share=1.0 if self.may_remove else MAX_REMOVED_SHARE,
                    provenance=self.request.to_provenance(self.settings.profile, reading.site_title, tables),
                    recipe=SEED_RECIPE if self.request.cut else RECIPE,
                    dry_run=self.dry_run,
                    map_documents=map_documents,
                    on_progress=on_progress,
                )
        except SourceUnreadable as exc:
            failed = failures_as_json(*reading.failed, *exc.failed)
            passed_over = list(map(PassedOver._asdict, reading.passed_over))
            _print_problems(failed, failures_as_json(*reading.warnings), passed_over)
            skipped = f". Passed over: {_format_counts(reading.skipped, {})}" if reading.skipped else ""
            raise CommandFailed(f"{exc}{skipped}", code=exc.code, failed=failed, passedOver=passed_over) from exc
        except (EmbeddingFailed, EmbeddingUnavailable) as exc:
            # Its message holds statuses and error classes, no vendor's words.
            sentence = f"{exc}. The index is as it was; the same command goes on where this one stopped"
            raise CommandFailed(sentence, code=exc.code) from exc
        if not self.dry_run:
            readings.save()
        return reading, summary, reading_s

    def _builder(self) -> Callable[..., Summary]:
        """Return the function that makes the index mirror documents: see ``knowledge.build``."""
        settings, target = self.settings, work_folder(self.settings)
        if is_server(settings.index_place):
            from knowledge.build.server_ingest import ingest_to_server

            token = index_key(settings)
            return partial(ingest_to_server, uri=settings.index_place, work=target, token=token, switch=self.switch)
        return partial(ingest, target=target)

    def _read_tables(self) -> dict[str, str]:
        """Return the text of each table by its name: the option's, with the ending of the file (``acronyms.csv``).

        Raises:
            ConfigurationError: a table cannot be read or used; the message names the file or the entry.
        """
        folders = [path if path.is_dir() else path.parent for path in self.request.local_paths]
        tables = {}
        for option, named in {"acronyms": self.request.acronyms, "filters": self.request.filters}.items():
            beside = [folder / f"{option}.json" for folder in folders if (folder / f"{option}.json").is_file()]
            for place in [Path(named)] if named else beside[:1]:
                name, text = read_table(option, place)
                tables[name] = text
        return tables


def work_folder(settings: Settings) -> Path:
    """Return the index's folder; for an index on a server, a local folder for fetched pages and the ingest's state."""
    if not is_server(settings.index_place):
        return folder_of(settings.index_place)
    place = f"{ServerAddress.parse(settings.index_place).at_version('')} {settings.collection}"
    return Path(".index") / f"server-{hashlib.sha256(place.encode()).hexdigest()[:NAME_CHARS]}"


def _report(
    reading: ReadResult, summary: Summary, *, seconds: float, reading_s: float, dry_run: bool, language: str
) -> dict[str, Any]:
    """Return the report as JSON: counts, ``emptied``, ``failed``, ``warnings`` (``{path, error}``), times by phase.

    ``language`` is the note of ``describe_languages``.
    """
    phases = {"reading": reading_s, **summary.phases}
    urls = [document.url for document in reading.documents if document.url]
    urls *= 2 * len(urls) > len(reading.documents)  # else it is no site, but a folder with some saved pages
    emptied = {failure.path for failure in summary.emptied}
    warnings = [failure for failure in reading.warnings if failure.path not in emptied]
    return {
        **{name: getattr(summary, name) for name in COUNTS},
        "kept": summary.kept,
        "emptied": failures_as_json(*summary.emptied),
        "failed": failures_as_json(*reading.failed, *summary.failed),
        "warnings": failures_as_json(*warnings) + [{"path": path, "error": "holds no text"} for path in summary.empty],
        "skipped": dict(reading.skipped),
        "examples": {kind: example.path for kind, example in reading.examples.items()},
        "passedOver": list(map(PassedOver._asdict, reading.passed_over)),
        "leftOut": dict(reading.left_out),
        "losses": list(map(WordLoss.as_json, reading.losses.values(), reading.losses)),
        **({"version": summary.version} if summary.version else {}),
        # The first, one in the middle and the last: enough to see whether the links of a site are right.
        "links": list(dict.fromkeys([*urls[:1], *urls[len(urls) // 2 :][:1], *urls[-1:]])),
        "seconds": round(seconds, 3),
        "phases": {name: round(value, 3) for name, value in phases.items()},
        **({"dryRun": True} if dry_run else {}),
        **({"note": LABELS_OLDER} if summary.labels_older else {}),
        **({"language": language} if language else {}),
    }


def failures_as_json(*failures: Failure) -> list[dict[str, str]]:
    """Return ``{path, error}`` for each of ``failures``."""
    return [{"path": failure.path, "error": failure.error} for failure in failures]


def _print_problems(
    failed: Iterable[Mapping[str, str]], warnings: Iterable[Mapping[str, str]], passed_over: Iterable[Mapping[str, Any]]
) -> None:
    """Print a line for each failed file, each warning once with its files, and each kind passed over."""
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
    for files in passed_over:
        note(f"Passed over: {PassedOver(**files).describe()}")


def _print_report(report: Mapping[str, Any], place: str) -> None:
    """Print the report for people: problems on stderr, counts on stdout."""
    _print_problems(report["failed"], report["warnings"], report["passedOver"])
    table = Table.grid(padding=(0, 2))
    rows = {name: str(report[name]) for name in COUNTS}
    rows["failed"] = str(len(report["failed"]))
    emptied = "; ".join(f"{one['path']} {one['error']}" for one in report["emptied"])
    rows["kept"] = f"{report['kept']}: {emptied or 'what failed files held before'}" if report["kept"] else ""
    rows["skipped"] = _format_counts(report["skipped"], report["examples"])
    reasons = {problem["error"]: problem["path"] for problem in reversed(report["warnings"])}
    rows["left out"] = _format_counts(report["leftOut"], reasons)
    phases = ", ".join(f"{name} {value:.1f}" for name, value in report["phases"].items())
    rows["links"] = "\n".join(report["links"])
    rows["seconds"] = f"{report['seconds']:.1f} ({phases})"
    for name, value in rows.items():
        if value:
            table.add_row(name, value)
    print_rich(f"Index {place}, if this were not a dry run" if "dryRun" in report else f"Index {place}", table)
    if report["emptied"]:
        note("What emptied files and folders held is kept. If it is to go, add --allow-removals")
    for name in ("note", "language"):
        if name in report:
            note(f"Note: {report[name]}")


def _format_counts(counts: Mapping[str, int], examples: Mapping[str, str]) -> str:
    """Return ``3 .png, 2 is empty (a.md, ...)``; suffixes need no example."""
    shown = {name: f" ({path}{', ...' * (counts[name] > 1)})" for name, path in examples.items() if name in counts}
    return ", ".join(f"{count} {name}{shown.get(name, '') * (name[0] != '.')}" for name, count in counts.items())


SERVED = "English"
"""The language that the default embedding model, all-MiniLM-L6-v2, was trained on."""
MOST = 0.5
"""The note is printed if more than this share of the documents is in other languages."""
NAMED, LEAST = 3, 0.05
"""The number of languages that are named, and the least share of each."""


def describe_languages(shares: Mapping[str, float]) -> str:
    """Return a sentence on the languages of documents if most are not in ``SERVED``, else ``""``.

    ``shares`` are the documents' shares (0..1) by language.
    """
    others = {name: share for name, share in shares.items() if name != SERVED}
    if sum(others.values()) <= MOST:
        return ""
    ranked = [name for name in sorted(others, key=lambda name: -others[name]) if others[name] >= LEAST][:NAMED]
    named = ", ".join(f"{name} ({others[name]:.0%})" for name in ranked) or f"languages other than {SERVED}"
    return (
        f"most of these documents are in {named}: the default embedder, all-MiniLM-L6-v2, knows {SERVED} alone, so they"
        " are found by their words more than by meaning; another embedder is set by EMBED_MODEL and EMBED_BASE_URL"
    )
