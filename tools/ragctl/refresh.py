"""ragctl refresh: keep a deployed stack up to date with a bucket of documents; infra/refresh.yaml runs it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragctl.console import CommandFailed, describe_error, emit_json, note, print_rich
from ragctl.evaluate_questions import FAIL_UNDER
from ragctl.ingest_request import IngestRequest, is_address
from ragctl.options import Json
from ragctl.publish import IndexBuild, Region, StackName, open_stack, publish_build

if TYPE_CHECKING:
    from publish.stack import Target

MINUTES = 10.0
QUESTIONS_KEY = "refresh/questions.jsonl"
"""In the bucket of versions: the golden questions, which are optional."""


def refresh(
    sources: Annotated[
        list[str] | None, typer.Argument(metavar="[ADDRESS...]", help="Sitemaps and pages beside the bucket.")
    ] = None,
    *,
    stack: StackName,
    documents: Annotated[str, typer.Option("--documents", metavar="s3://BUCKET/FOLDER", help="The documents.")],
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder to mirror them in: the same each time, so that an emptied bucket is noticed."
        ),
    ] = None,
    minutes: Annotated[
        float, typer.Option("--minutes", min=0, max=1440, help="Publish at most once in this time.")
    ] = MINUTES,
    always: Annotated[
        bool, typer.Option("--always", help="Read the sources even if the bucket has not changed.")
    ] = False,
    base_url: Annotated[str, typer.Option("--base-url", metavar="URL", help="As for ingest.")] = "",
    fail_under: Annotated[
        str, typer.Option(FAIL_UNDER, metavar="NAME=X,...", help=f"Limits for the figures of {QUESTIONS_KEY}.")
    ] = "",
    region: Region = None,
    as_json: Json = False,
) -> None:
    """Publish a bucket's documents to a stack, and again if the bucket changed meanwhile.

    Each round writes a report, refresh/report.json in the stack's bucket of versions, and metrics in
    RagRefresh/<stack>. An empty bucket publishes nothing.
    """
    if wrong := [source for source in sources or () if not is_address(source)]:
        raise typer.BadParameter(f"{wrong[0]!r} is no http(s) address", param_hint="ADDRESS...")
    if folder is not None and folder.is_dir() and any(folder.iterdir()):
        raise typer.BadParameter(
            f"{folder} is not empty, and would hold what the bucket does not", param_hint="--folder"
        )
    mirror = nullcontext(str(folder)) if folder else tempfile.TemporaryDirectory(prefix="ragctl-documents-")
    with mirror as name:
        from publish.errors import aws_errors
        from publish.refresh import DocumentBucket, Refresh, ReportStore

        mirrored = Path(name)
        target = open_stack(stack, region)
        request = IngestRequest(paths=(str(mirrored), *(sources or ())), base_url=base_url)
        s3 = target.aws.client("s3")
        job = Refresh(
            documents=DocumentBucket.at(s3, documents),
            reports=ReportStore(s3, target.aws.client("cloudwatch"), target.outputs["IndexBucket"], stack),
            folder=mirrored,
            publish_once=lambda: _publish_once(open_stack(stack, region), request, fail_under),
            minutes=minutes,
            failure=_describe_failure,
            tell=note,
        )
        with aws_errors():
            rounds = job.run(always=always)
    reports = [asdict(one) for one in rounds]
    if rounds and rounds[-1].outcome == "failed":
        raise CommandFailed(rounds[-1].error, code=rounds[-1].code, rounds=reports)
    if as_json:
        emit_json({"stack": stack, "rounds": reports})
    else:
        print_rich(*(f"{one.at} {one.outcome} {one.version}, {one.documents} documents" for one in rounds))


def _publish_once(target: Target, request: IngestRequest, fail_under: str) -> Mapping[str, Any]:
    from publish.errors import aws_errors
    from publish.publisher import server_address

    with tempfile.TemporaryDirectory(prefix="ragctl-questions-") as temporary:
        questions = Path(temporary) / "questions.jsonl"
        with aws_errors():
            is_there = target.bucket.download(QUESTIONS_KEY, questions)
        build = IndexBuild(
            request,
            target.parameters,
            questions=questions if is_there else None,
            fail_under=(fail_under,) if is_there and fail_under else (),
        )
        return publish_build(target, build, server_address(target)).fields()


def _describe_failure(error: Exception) -> tuple[str, str] | None:
    """Return the sentence and the code for a report, or None for an unexpected error."""
    message = describe_error(error)
    return (message.sentence, message.code) if message else None
