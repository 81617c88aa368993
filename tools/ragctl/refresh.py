"""ragctl refresh: a deployed stack follows a bucket of documents; infra/refresh.yaml runs it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragctl.console import emit_json, note, show
from ragctl.evaluate_questions import FAIL_UNDER
from ragctl.failures import CommandFailed, describe
from ragctl.ingest_request import IngestRequest, is_address
from ragctl.options import Json
from ragctl.publish import Region, StackName, open_stack, publishing_errors
from ragctl.publish_build import IndexBuild, publish_at, server_of

if TYPE_CHECKING:
    from publish.stack import Target

MINUTES = 10.0
QUESTIONS_KEY = "refresh/questions.jsonl"
"""In the bucket of versions: golden questions, asked where they are there."""


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
            metavar="DIR", help="Where to mirror them: the same place each time, so that an emptied bucket is noticed."
        ),
    ] = None,
    minutes: Annotated[
        float, typer.Option("--minutes", min=0, max=1440, help="Publish at most once in so many minutes.")
    ] = MINUTES,
    always: Annotated[
        bool, typer.Option("--always", help="Look at the sources even where the bucket has not changed.")
    ] = False,
    base_url: Annotated[str, typer.Option("--base-url", metavar="URL", help="As for ingest.")] = "",
    fail_under: Annotated[
        str, typer.Option(FAIL_UNDER, metavar="NAME=X,...", help=f"What the questions in {QUESTIONS_KEY} must reach.")
    ] = "",
    region: Region = None,
    as_json: Json = False,
) -> None:
    """Publish a bucket's documents to a stack, and again while the bucket differs from what was listed.

    Each round leaves a report, refresh/report.json in the stack's bucket of versions, and metrics in
    RagRefresh/<stack>. A bucket that is empty publishes nothing.
    """
    if wrong := [source for source in sources or () if not is_address(source)]:
        raise typer.BadParameter(f"{wrong[0]!r} is no http(s) address", param_hint="ADDRESS...")
    if folder is not None and folder.is_dir() and any(folder.iterdir()):
        raise typer.BadParameter(
            f"{folder} is not empty, and would hold what the bucket does not", param_hint="--folder"
        )
    mirror = nullcontext(str(folder)) if folder else tempfile.TemporaryDirectory(prefix="ragctl-documents-")
    with publishing_errors(), mirror as name:
        from publish.errors import aws_errors
        from publish.refresh import DocumentBucket, Refresh, ReportStore

        place = Path(name)
        target = open_stack(stack, region)
        asked = IngestRequest(paths=(str(place), *(sources or ())), base_url=base_url)
        s3 = target.aws.client("s3")
        job = Refresh(
            documents=DocumentBucket.at(s3, documents),
            reports=ReportStore(s3, target.aws.client("cloudwatch"), target.outputs["IndexBucket"], stack),
            folder=place,
            publish_once=lambda: _publish_once(open_stack(stack, region), asked, fail_under),
            minutes=minutes,
            failure=_failure,
            tell=note,
        )
        with aws_errors():
            rounds = job.run(always=always)
    told = [asdict(one) for one in rounds]
    if rounds and rounds[-1].outcome == "failed":
        raise CommandFailed(rounds[-1].error, code=rounds[-1].code, rounds=told)
    if as_json:
        emit_json({"stack": stack, "rounds": told})
    else:
        show(*(f"{one.at} {one.outcome} {one.version}, {one.documents} documents" for one in rounds))


def _publish_once(target: Target, asked: IngestRequest, fail_under: str) -> Mapping[str, Any]:
    from publish.errors import aws_errors
    from publish.publisher import publish

    with tempfile.TemporaryDirectory(prefix="ragctl-questions-") as temporary:
        questions = Path(temporary) / "questions.jsonl"
        with aws_errors():
            there = target.bucket.download(QUESTIONS_KEY, questions)
        build = IndexBuild(
            asked,
            target.parameters,
            questions=questions if there else None,
            fail_under=(fail_under,) if there and fail_under else (),
        )
        place = server_of(None, target)
        done = publish(target, build, note) if place is None else publish_at(target, place, build)
        return done.fields()


def _failure(error: Exception) -> tuple[str, str] | None:
    """What a report says of it."""
    from publish.errors import PublishFailed

    if isinstance(error, PublishFailed):
        return str(error), error.code
    problem = describe(error)
    return (problem.sentence, problem.code) if problem else None
