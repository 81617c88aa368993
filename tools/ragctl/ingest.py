"""ragctl ingest: folders, files and web pages into the index, once or whenever a file changes."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import documents
from ragctl.console import note
from ragctl.failures import FAILED, INTERRUPTED, describe
from ragctl.ingest_job import IngestJob
from ragctl.ingest_request import MAX_PAGES, IngestRequest, bases_of, is_address, split_base
from ragctl.options import IndexDir, Json, Profile, read_settings
from ragctl.places import work_folder

if TYPE_CHECKING:
    from rag.config.settings import Settings


CUTS = ("", "seed")


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
        list[str] | None,
        typer.Option(
            "--base-url",
            metavar="[PATH=]URL",
            help="Where the pages are on the web: for their links. With PATH= for that folder alone. Repeatable.",
        ),
    ] = None,
    keep_suffix: Annotated[
        bool,
        typer.Option(
            "--keep-suffix/--no-keep-suffix",
            help="Links end with the files' own names, as they do below a repository's address.",
        ),
    ] = False,
    read_as: Annotated[
        list[str] | None,
        typer.Option("--as", metavar="SUFFIX=FORMAT", help="Read .SUFFIX as .FORMAT: --as qmd=md. Repeatable."),
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
        **bases_of(paths or (), base_url or ()),
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
    asked = _as_last_time(asked, settings, context)
    check_request(asked)
    job = IngestJob(asked, settings, dry_run=dry_run, may_remove=allow_removals, as_json=as_json)
    if watch:
        watch_files(_local_paths(asked), job.run, index=work_folder(settings))
    else:
        done = job.run()
        if done.emptied or (done.failed and (strict or not done.read)):
            raise typer.Exit(FAILED)


def _local_paths(asked: IngestRequest) -> list[Path]:
    local = [Path(path) for path in asked.paths if not is_address(path)]
    if not local:
        raise typer.BadParameter("only folders and files can be watched", param_hint="--watch")
    return local


def _as_options(remembered: Mapping[str, object]) -> Iterator[str]:
    """What is remembered, as it would be written on the command line."""
    for name, value in remembered.items():
        for one in value if isinstance(value, tuple) else (value,):
            yield {"read_as": "--as", "base_urls": "--base-url"}.get(name, f"--{name.replace('_', '-')}")
            if one is not True:
                yield str(one)


def check_request(asked: IngestRequest) -> None:
    """Refuse what is wrong in ``asked``, each with a sentence."""
    from knowledge.read.loading import SUFFIXES

    if asked.cut not in CUTS:
        raise typer.BadParameter(f"{asked.cut!r} is not seed", param_hint="--cut")
    for url in (asked.base_url, *(split_base(pair)[1] for pair in asked.base_urls)):
        check_base_url(url)
    known = sorted({*SUFFIXES, *documents.SUFFIXES})
    for pair, (end, format_) in zip(asked.read_as, asked.formats.items(), strict=False):
        if end == "." or format_ not in known:
            accepted = ", ".join(known)
            raise typer.BadParameter(f"{pair!r} is not SUFFIX=FORMAT with a format of {accepted}", param_hint="--as")
    check_patterns(*asked.include, *asked.exclude)


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


def _as_last_time(asked: IngestRequest, settings: Settings, context: typer.Context) -> IngestRequest:
    """With the paths and options that the index remembers, but for those on the command line."""
    from knowledge.open.place import made_of

    made = made_of(settings.index_place)
    if not asked.paths and not made.paths:
        raise typer.BadParameter("name a folder, a file or an address", param_hint="PATH...")
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source and source.name == "COMMANDLINE"}
    if "base_url" in given:
        given.add("base_urls")
    last = asked.as_last_time(made, given=given if not asked.base_urls else {*given, "base_urls", "base_url"})
    before = IngestRequest().as_last_time(made, given=()).options
    if dropped := {name: value for name, value in before.items() if name not in last.options}:
        note(f"No longer: {shlex.join(_as_options(dropped))}")
    if remembered := {name: value for name, value in last.options.items() if asked.options.get(name) != value}:
        note(f"As the last time: {shlex.join(_as_options(remembered))}")
    return last


LOOK_MS = 500
"""How long one wait for changes lasts; the first is over before anything is read, so that nothing is missed since."""


def watch_files(paths: Sequence[Path], again: Callable[[], object], *, index: Path | None = None) -> None:
    """Call ``again`` now and after every change below ``paths``; what it fails with is said, and watching goes on.

    Changes of hidden files, which are not read, and below ``index``, which ``again`` writes, do not count.

    Raises:
        OSError: one of ``paths`` does not exist.
        CommandFailed: ``again`` was interrupted.
    """
    from watchfiles import watch

    for path in paths:
        path.stat()
    places = [Path(os.path.realpath(path)) for path in paths]
    keep = of_documents(places, index)
    waits = watch(*places, watch_filter=keep, rust_timeout=LOOK_MS, yield_on_timeout=True, raise_interrupt=False)
    for number, changed in enumerate(waits):
        if number == 0:
            _run_once(again)
            note(f"Watching {', '.join(map(str, paths))}. Ctrl-C ends it")
        if changed:
            _run_once(again)


def of_documents(places: Sequence[Path], index: Path | None) -> Callable[[object, str], bool]:
    """Tells of a changed file's path whether it may be a document's; ``places`` are without links."""
    from knowledge.read.selection import IGNORE_NAME

    written = Path(os.path.realpath(index)) if index else None

    def keep(_: object, changed: str) -> bool:
        path = Path(changed)
        inside = next((path.relative_to(place) for place in places if path.is_relative_to(place)), path)
        hidden = any(part.startswith(".") and part != IGNORE_NAME for part in inside.parts)
        return not hidden and not (written and path.is_relative_to(written))

    return keep


def _run_once(again: Callable[[], object]) -> None:
    try:
        again()
    except Exception as exc:
        problem = describe(exc)
        if problem is None or problem.exit_status == INTERRUPTED:
            raise
        note(f"Error: {problem.sentence}")
