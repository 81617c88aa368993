"""ragctl ingest: folders, files and web pages into the index."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ragctl.console import emit_json, note, progress
from ragctl.failures import FAILED, INTERRUPTED, CommandFailed
from ragctl.ingest_request import MAX_PAGES, IngestRequest, is_address
from ragctl.options import IndexDir, Json, Profile, read_settings
from ragctl.report import counts, failures, print_problems, print_report, report
from ragctl.sources import CACHE_NAME, emptied_since, gather, run_documents
from ragctl.tables import read_tables

if TYPE_CHECKING:
    from knowledge.build.summary import Summary
    from knowledge.read.documents import Reading
    from rag.config.settings import Settings

CUTS = ("", "seed")
MAX_REMOVED_SHARE = 0.3
"""A run that would remove a larger share of the documents has to be told that it may."""


def ingest(
    context: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH...]",
            help="Folders, files, a BEIR corpus.jsonl, or http(s) addresses of a page or a sitemap. "
            "Default: what the index was made of.",
        ),
    ] = None,
    *,
    include: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Read only what matches (gitignore rules). Repeatable.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Leave out what matches, as a .ragignore file does.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", metavar="URL", help="Where the pages are on the web: for their links.")
    ] = None,
    drafts: Annotated[bool, typer.Option("--drafts/--no-drafts", help="Read drafts and expired pages too.")] = False,
    follow_links: Annotated[
        bool, typer.Option("--follow-links/--no-follow-links", help="Follow links that lead out of the folder.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="Fetch from this host though its network is a private one."),
    ] = None,
    max_pages: Annotated[int, typer.Option("--max-pages", metavar="N", min=1, help="Fetch at most so many pages.")] = (
        MAX_PAGES
    ),
    acronyms: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Acronyms, JSON or CSV. Default: acronyms.json beside the documents."),
    ] = None,
    filters: Annotated[
        str | None, typer.Option(metavar="FILE", help="Filter rules, JSON. Default: filters.json beside the documents.")
    ] = None,
    cut: Annotated[
        str | None,
        typer.Option(
            metavar="seed", help="Cut at ## and in runs of 1,600 characters with 200 repeated, as Clockify's seed."
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 when anything failed.")] = False,
    allow_removals: Annotated[
        bool,
        typer.Option(
            "--allow-removals",
            help="Even if it removes more than 30 % of the documents, or what an emptied file or folder held.",
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Ingest again whenever a file changes, until Ctrl-C.")] = False,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> None:
    """Make the index mirror the documents in PATH...: what is new is embedded, what is gone is removed.

    The index remembers the options for the next ingest of the same PATH.
    """
    settings = read_settings(index=index, profile=profile, making=True)
    asked = IngestRequest(
        paths=tuple(paths or ()),
        base_url=base_url or "",
        include=tuple(filter(None, include or ())),
        exclude=tuple(filter(None, exclude or ())),
        follow_links=follow_links,
        drafts=drafts,
        allow_host=tuple(allow_host or ()),
        max_pages=max_pages,
        acronyms=acronyms or "",
        filters=filters or "",
        cut=cut or "",
    )
    if asked.cut not in CUTS:
        raise typer.BadParameter(f"{asked.cut!r} is not seed", param_hint="--cut")
    asked = _as_last_time(asked, settings, context)
    check_base_url(asked.base_url)
    check_patterns(*asked.include, *asked.exclude)
    job = IngestJob(asked, settings, dry_run=dry_run, may_remove=allow_removals, as_json=as_json)
    if watch:
        _keep_watching(asked, settings, job)
    else:
        done = job.run()
        if done.emptied or (done.failed and (strict or not done.read)):
            raise typer.Exit(FAILED)


def _as_options(remembered: Mapping[str, object]) -> Iterator[str]:
    """What is remembered, as it would be written on the command line."""
    for name, value in remembered.items():
        for one in value if isinstance(value, tuple) else (value,):
            yield f"--{name.replace('_', '-')}"
            if one is not True:
                yield str(one)


def check_base_url(url: str) -> None:
    """Refuse what is no address."""
    from knowledge.read.fields import is_web

    if url and (not is_web(url) or any(char.isspace() for char in url)):
        raise typer.BadParameter(f"{url!r} is no address such as https://docs.example.com", param_hint="--base-url")


def check_patterns(*patterns: str) -> None:
    """Refuse what is no gitignore pattern."""
    from pathspec import GitIgnoreSpec

    for pattern in patterns:
        try:
            GitIgnoreSpec.from_lines([pattern])
        except ValueError as exc:
            raise typer.BadParameter(f"{pattern!r} is no gitignore pattern", param_hint="--include/--exclude") from exc


def _keep_watching(asked: IngestRequest, settings: Settings, job: IngestJob) -> None:
    from knowledge.open.source import folder_of
    from ragctl.watching import watch

    local = [Path(path) for path in asked.paths if not is_address(path)]
    if not local:
        raise typer.BadParameter("only folders and files can be watched", param_hint="--watch")
    watch(local, job.run, index=folder_of(settings.index_place))


def _as_last_time(asked: IngestRequest, settings: Settings, context: typer.Context) -> IngestRequest:
    """With the paths and options that the index remembers, but for those on the command line."""
    from knowledge.open.place import made_of

    made = made_of(settings.index_place)
    if not asked.paths and not made.paths:
        raise typer.BadParameter("name a folder, a file or an address", param_hint="PATH...")
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source and source.name == "COMMANDLINE"}
    last = asked.as_last_time(made, given=given)
    if remembered := {name: value for name, value in last.options.items() if asked.options.get(name) != value}:
        note(f"As the last time: {shlex.join(_as_options(remembered))}")
    return last


class Done(NamedTuple):
    """How many documents were read, how many files or documents failed, and how many places were emptied."""

    read: int
    failed: int
    emptied: int


@dataclass(frozen=True, slots=True)
class IngestJob:
    """One ingest of what was asked for, into the index of the settings."""

    asked: IngestRequest
    settings: Settings
    dry_run: bool
    may_remove: bool
    as_json: bool

    def run(self) -> Done:
        """Ingest once and say what was done."""
        done, found = self.ingest()
        if self.as_json:
            emit_json(found)
        else:
            print_report(found, self.settings.index_place)
        return done

    def ingest(self) -> tuple[Done, dict[str, Any]]:
        """Ingest once; what was done, in figures and as ``ragctl.report.report`` tells it.

        Raises:
            CommandFailed: the index is as it was.
        """
        started = time.perf_counter()
        try:
            reading, summary, reading_s = self._ingest()
        except KeyboardInterrupt as exc:
            sentence = "Interrupted; the index is as it was"
            raise CommandFailed(sentence, code="interrupted", exit_status=INTERRUPTED) from exc
        seconds = time.perf_counter() - started
        found = report(reading, summary, seconds=seconds, reading_s=reading_s, dry_run=self.dry_run)
        done = Done(read=len(reading.documents), failed=len(found["failed"]), emptied=len(found["emptied"]))
        return done, found

    def _ingest(self) -> tuple[Reading, Summary, float]:
        from knowledge.build.ingest import ingest as build
        from knowledge.build.plan import RECIPE
        from knowledge.model.errors import SourceUnreadable
        from knowledge.model.manifest import SEED_RECIPE
        from knowledge.open.scratch import Scratch
        from knowledge.open.source import folder_of
        from rag.errors import EmbeddingFailed, EmbeddingUnavailable
        from ragctl.embedders import for_documents

        target = folder_of(self.settings.index_place)
        started = time.perf_counter()
        with closing(Scratch()) as nowhere:  # which removes those of killed runs
            cache = nowhere.path if self.dry_run else target / CACHE_NAME
            reading = gather(self.asked, cache=cache)
        reading_s = time.perf_counter() - started
        tables = read_tables(self.asked)
        if tables:
            note(f"Kept in the index, for profiles that read them: {', '.join(tables)}")
        try:
            with for_documents(self.settings, target) as embedder, progress("Embedding") as on_progress:
                summary = build(
                    reading.documents,
                    target=target,
                    embedder=embedder,
                    collection=self.settings.collection,
                    lost=reading.lost,
                    emptied={} if self.may_remove else emptied_since(reading, self.settings.index_place),
                    max_removed_share=1.0 if self.may_remove else MAX_REMOVED_SHARE,
                    made=self.asked.made(self.settings.profile, reading.site_title, tables),
                    recipe=SEED_RECIPE if self.asked.cut else RECIPE,
                    dry_run=self.dry_run,
                    run=run_documents,
                    on_progress=on_progress,
                )
        except SourceUnreadable as exc:
            failed = failures(*reading.failed, *exc.failed)
            print_problems(failed, failures(*reading.warnings))
            passed = f". Passed over: {counts(reading.skipped)}" if reading.skipped else ""
            raise CommandFailed(f"{exc}{passed}", code=exc.code, failed=failed) from exc
        except (EmbeddingFailed, EmbeddingUnavailable) as exc:
            # Its message holds statuses and error classes, no vendor's words.
            sentence = f"{exc}. The index is as it was; the same command goes on where this one stopped"
            raise CommandFailed(sentence, code=exc.code) from exc
        return reading, summary, reading_s
