"""ragctl publish: documents into a deployed stack's index, checked, uploaded, switched to; and back to an older one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragctl.console import emit_json, note, show
from ragctl.evaluate_questions import FAIL_UNDER
from ragctl.failures import CommandFailed
from ragctl.ingest_request import IngestRequest
from ragctl.options import Json
from ragctl.publish_build import IndexBuild, go_back, publish_at, server_of

if TYPE_CHECKING:
    from publish.stack import Target
    from publish.versions import Published

StackName = Annotated[str, typer.Option("--stack", metavar="NAME", help="The deployed stack.")]
Region = Annotated[str | None, typer.Option("--region", help="Default: the AWS CLI's own.")]
AllowRemovals = Annotated[
    bool,
    typer.Option(
        "--allow-removals", help="Even if it removes more than 30 % of the documents, or what an emptied place held."
    ),
]


def publish(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH...]", help="As for ingest. Default: what the stack's index was made of."),
    ] = None,
    *,
    stack: StackName,
    questions: Annotated[
        Path | None, typer.Option(metavar="Q.jsonl", help="Golden questions, asked of the new index before anything.")
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            FAIL_UNDER, metavar="NAME=X,...", help="What they must reach, as for evaluate; or nothing happens."
        ),
    ] = None,
    version: Annotated[
        str | None, typer.Option("--version", metavar="KEY", help="Go (back) to this version, without an ingest.")
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="Tell the versions with their dates and counts.")] = False,
    include: Annotated[list[str] | None, typer.Option(metavar="GLOB", help="As for ingest.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(metavar="GLOB", help="As for ingest.")] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", metavar="URL", help="As for ingest.")] = None,
    index: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Chroma's server: chroma://HOST:PORT/TENANT/DATABASE or https://HOST/TENANT/DATABASE. Default: the "
            "stack's own, else an index in a layer.",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Publish nothing when any document failed.")] = False,
    allow_removals: AllowRemovals = False,
    region: Region = None,
    as_json: Json = False,
) -> None:
    """Make a deployed stack answer from the documents in PATH...; the version before answers until the new one does.

    The same content twice publishes nothing. A version that cannot answer is refused by its rehearsal, and the one
    before stays.
    """
    _check_usage(paths or [], questions=questions, fail_under=fail_under, version=version, listing=listing)
    with publishing_errors():
        from publish.publisher import publish as publish_index
        from publish.publisher import switch
        from publish.versions import key_of

        target = open_stack(stack, region)
        if listing:
            _tell_versions(target, as_json=as_json)
            return
        place = server_of(index, target)
        if place is not None and version is not None:
            outcome = go_back(target, place, version)
        elif version is not None:
            key = key_of(version)
            outcome = switch(target, key, target.bucket.facts(key), note)
        else:
            asked = IngestRequest(
                paths=tuple(paths or ()),
                base_url=base_url or "",
                include=tuple(include or ()),
                exclude=tuple(exclude or ()),
            )
            build = IndexBuild(
                asked,
                target.parameters,
                questions=questions,
                fail_under=tuple(fail_under or ()),
                strict=strict,
                may_remove=allow_removals,
            )
            outcome = publish_index(target, build, note) if place is None else publish_at(target, place, build)
    if as_json:
        emit_json(outcome.fields())
    else:
        show(outcome.sentence)


def open_stack(stack: str, region: str | None) -> Target:
    """The stack that is published to.

    Raises:
        PublishFailed: there is none, or AWS refuses.
    """
    import boto3  # type: ignore[import-untyped]

    from publish.errors import aws_errors
    from publish.stack import open_target

    with aws_errors():
        return open_target(boto3.session.Session(region_name=region), stack)


@contextmanager
def publishing_errors() -> Iterator[None]:
    """Raise ``CommandFailed`` for what keeps an index from being published."""
    from publish.errors import PublishFailed

    try:
        yield
    except PublishFailed as exc:
        raise CommandFailed(str(exc), code=exc.code) from exc


def _check_usage(
    paths: list[str], *, questions: Path | None, fail_under: list[str] | None, version: str | None, listing: bool
) -> None:
    if fail_under and questions is None:
        raise typer.BadParameter("it needs --questions", param_hint=FAIL_UNDER)
    kinds = {"--version": version is not None, "--list": listing, "PATH or --questions": bool(paths or questions)}
    if len(chosen := [name for name, given in kinds.items() if given]) > 1:
        raise typer.BadParameter(f"{' and '.join(chosen)} cannot be used together")


def _tell_versions(target: Target, *, as_json: bool) -> None:
    from publish.errors import aws_errors

    with aws_errors():
        versions = target.bucket.versions()
    if as_json:
        emit_json({"stack": target.name, "versions": [_row(one, target.key) for one in versions]})
    elif not versions:
        show(f"{target.name} has no published versions; it answers from the index that was built with it")
    else:
        from rich.table import Table

        table = Table("key", "published", "documents", "chunks", "", box=None)
        for row in (_row(one, target.key) for one in versions):
            counts = str(row["documents"]), str(row["chunks"])
            table.add_row(row["key"], row["published"], *counts, "answers" if row["answers"] else "")
        show(table)


def _row(one: Published, current: str) -> dict[str, Any]:
    counts = {"version": one.facts.version, "documents": one.facts.documents, "chunks": one.facts.chunks}
    published = one.at.isoformat(timespec="seconds")
    return {"key": one.key, "published": published, **counts, "answers": one.key == current}
