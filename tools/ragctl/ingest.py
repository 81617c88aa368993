"""ragctl ingest: put folders, files and web pages into the index, once or whenever a file changes."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import documents
from ragctl.console import FAILED, INTERRUPTED, describe_error, note
from ragctl.ingest_request import MAX_PAGES, IngestRequest, parse_paths, split_base
from ragctl.options import AllowRemovals, IndexDir, Json, Profile, read_settings

if TYPE_CHECKING:
    from rag.config.settings import Settings

LOOK_MS = 500
"""The time of one wait for changes. The first wait ends before anything is read, so that no later change is missed."""


def ingest(
    context: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH...]",
            help="Folders, files, a BEIR corpus.jsonl, or http(s) addresses of a page or a sitemap. "
            "Default: the paths that the index was made from.",
        ),
    ] = None,
    *,
    include: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Read only matching files (gitignore rules). Repeatable.")
    ] = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Leave out matching files, as a .ragignore file does.")
    ] = None,
    base_url: Annotated[
        list[str] | None,
        typer.Option(
            "--base-url",
            metavar="[PATH=]URL",
            help="The address of the pages on the web, for links. With PATH= for that folder alone. Repeatable.",
        ),
    ] = None,
    keep_suffix: Annotated[
        bool,
        typer.Option(
            "--keep-suffix/--no-keep-suffix", help="Keep file suffixes in links, as below a repository's address."
        ),
    ] = False,
    read_as: Annotated[
        list[str] | None,
        typer.Option("--as", metavar="SUFFIX=FORMAT", help="Read .SUFFIX as .FORMAT: --as qmd=md. Repeatable."),
    ] = None,
    drafts: Annotated[bool, typer.Option("--drafts/--no-drafts", help="Read drafts and expired pages too.")] = False,
    follow_links: Annotated[
        bool, typer.Option("--follow-links/--no-follow-links", help="Follow links out of the folder.")
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="Fetch from this host although it is in a private network."),
    ] = None,
    max_pages: Annotated[int, typer.Option("--max-pages", metavar="N", min=1, help="Fetch at most N pages.")] = (
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
            metavar="seed", help="Cut at ## and into 1,600 characters with an overlap of 200, as Clockify's seed."
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if a file failed or lost words.")] = False,
    allow_removals: AllowRemovals = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report what would change, and change nothing.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Ingest again whenever a file changes, until Ctrl-C.")] = False,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> None:
    """Make the index mirror the documents in PATH...: new ones are embedded, missing ones are removed.

    The index remembers the options for the next ingest of the same PATH.
    """
    settings = read_settings(index=index, profile=profile, for_ingest=True)
    request = IngestRequest(
        **parse_paths(paths or (), base_url or ()),
        keep_suffix=keep_suffix,
        read_as=tuple(filter(None, read_as or ())),
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
    request = _restore_options(request, settings, context)
    _check_request(request)

    from ragctl.ingest_job import IngestJob, work_folder

    job = IngestJob(request, settings, dry_run=dry_run, may_remove=allow_removals, as_json=as_json)
    if watch:
        watch_files(request.local_paths, job.run, index=work_folder(settings))
    else:
        read, report = job.run()
        if has_failed(report, strict=strict or not read):
            raise typer.Exit(FAILED)


def has_failed(report: Mapping[str, Any], *, strict: bool) -> bool:
    """Return whether an ingest with this report ends with an error."""
    return bool(report["emptied"] or (strict and (report["failed"] or report["losses"])))


def _restore_options(request: IngestRequest, settings: Settings, context: typer.Context) -> IngestRequest:
    """Return ``request`` with the paths and options that the index remembers, except those on the command line."""
    from knowledge.open.place import read_provenance

    provenance = read_provenance(settings.index_place)
    if not request.paths and not provenance.paths:
        raise typer.BadParameter("name a folder, a file or an address", param_hint="PATH...")
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source and source.name == "COMMANDLINE"}
    if "base_url" in given or request.base_urls:
        given |= {"base_url", "base_urls"}
    complete = request.restore(provenance, given=given)
    last = IngestRequest().restore(provenance, given=()).options
    if dropped := {name: value for name, value in last.items() if name not in complete.options}:
        note(f"No longer: {shlex.join(_command_line(dropped))}")
    if restored := {name: value for name, value in complete.options.items() if request.options.get(name) != value}:
        note(f"As the last time: {shlex.join(_command_line(restored))}")
    return complete


def _command_line(options: Mapping[str, object]) -> Iterator[str]:
    """Yield ``options`` as arguments of the command line."""
    for name, value in options.items():
        for one in value if isinstance(value, tuple) else (value,):
            yield {"read_as": "--as", "base_urls": "--base-url"}.get(name, f"--{name.replace('_', '-')}")
            if one is not True:
                yield str(one)


def _check_request(request: IngestRequest) -> None:
    from knowledge.read.loading import SUFFIXES

    if request.cut not in {"", "seed"}:
        raise typer.BadParameter(f"{request.cut!r} is not seed", param_hint="--cut")
    for url in (request.base_url, *(split_base(pair)[1] for pair in request.base_urls)):
        check_base_url(url)
    known = sorted({*SUFFIXES, *documents.SUFFIXES})
    for pair, (end, format_) in zip(request.read_as, request.formats.items(), strict=False):
        if end == "." or format_ not in known:
            accepted = ", ".join(known)
            raise typer.BadParameter(f"{pair!r} is not SUFFIX=FORMAT with a format of {accepted}", param_hint="--as")
    check_patterns(*request.include, *request.exclude)


def check_base_url(url: str) -> None:
    """Raise ``BadParameter`` if ``url`` is neither an address nor empty."""
    from knowledge.read.fields import is_web_url

    if url and (not is_web_url(url) or any(char.isspace() for char in url)):
        raise typer.BadParameter(f"{url!r} is no address such as https://docs.example.com", param_hint="--base-url")


def check_patterns(*patterns: str) -> None:
    """Raise ``BadParameter`` for an invalid gitignore pattern."""
    from pathspec import GitIgnoreSpec

    for pattern in patterns:
        try:
            GitIgnoreSpec.from_lines([pattern])
        except ValueError as exc:
            raise typer.BadParameter(f"{pattern!r} is no gitignore pattern", param_hint="--include/--exclude") from exc


def watch_files(paths: Sequence[Path], run: Callable[[], object], *, index: Path | None = None) -> None:
    """Call ``run`` now and after every change below ``paths``; its errors are printed, and watching goes on.

    Changes of hidden files, which are not read, and below ``index``, which ``run`` writes, do not count.

    Raises:
        OSError: one of ``paths`` does not exist.
        CommandFailed: ``run`` was interrupted.
    """
    from watchfiles import watch

    if not paths:
        raise typer.BadParameter("only folders and files can be watched", param_hint="--watch")
    for path in paths:
        path.stat()
    places = [Path(os.path.realpath(path)) for path in paths]
    counts = document_filter(places, index)
    waits = watch(*places, watch_filter=counts, rust_timeout=LOOK_MS, yield_on_timeout=True, raise_interrupt=False)
    for number, changed in enumerate(waits):
        if number == 0:
            _run_once(run)
            note(f"Watching {', '.join(map(str, paths))}. Ctrl-C ends it")
        if changed:
            _run_once(run)


def document_filter(places: Sequence[Path], index: Path | None) -> Callable[[object, str], bool]:
    """Return a watch filter that accepts paths of documents; ``places`` must be resolved."""
    from knowledge.read.walk import IGNORE_NAME

    written = Path(os.path.realpath(index)) if index else None

    def accepts(_: object, changed: str) -> bool:
        path = Path(changed)
        inside = next((path.relative_to(place) for place in places if path.is_relative_to(place)), path)
        is_hidden = any(part.startswith(".") and part != IGNORE_NAME for part in inside.parts)
        return not is_hidden and not (written and path.is_relative_to(written))

    return accepts


def _run_once(run: Callable[[], object]) -> None:
    try:
        run()
    except Exception as exc:
        message = describe_error(exc)
        if message is None or message.exit_status == INTERRUPTED:
            raise
        note(f"Error: {message.sentence}")
