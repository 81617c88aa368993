"""ragctl publish: ingest documents into a deployed stack's index, check it, upload it and switch to it.

ragctl refresh does so for a bucket of documents, as often as that changes; infra/refresh.yaml runs it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from publish.errors import aws_errors
from ragctl.console import CommandFailed, describe_error, emit_json, note, print_rich
from ragctl.ingest import check_base_url, check_patterns
from ragctl.ingest_request import IngestRequest, is_address
from ragctl.options import FAIL_UNDER, AllowRemovals, Json, read_settings, require_at_most_one

if TYPE_CHECKING:
    from knowledge.engines.server.address import ServerAddress
    from publish.publisher import Outcome, ServerPublisher
    from publish.stack import Target
    from rag.config.settings import Settings

MINUTES = 10.0
QUESTIONS_KEY = "refresh/questions.jsonl"
"""In the bucket of versions: the golden questions of ``refresh``, which are optional."""

StackName = Annotated[str, typer.Option("--stack", metavar="NAME", help="The deployed stack.")]
Region = Annotated[str | None, typer.Option("--region", help="Default: the AWS CLI's own.")]


def publish(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH...]", help="As for ingest. Default: the paths of the stack's index."),
    ] = None,
    *,
    stack: StackName,
    questions: Annotated[
        Path | None, typer.Option(metavar="Q.jsonl", help="Golden questions for the new index, before it is used.")
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            FAIL_UNDER,
            metavar="NAME=X,...",
            help="Limits for the questions' figures, as for evaluate. Below them nothing is published.",
        ),
    ] = None,
    version: Annotated[
        str | None, typer.Option("--version", metavar="KEY", help="Go (back) to this version, without an ingest.")
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the versions with their dates and counts.")] = False,
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
    strict: Annotated[bool, typer.Option("--strict", help="Publish nothing if any document failed.")] = False,
    allow_removals: AllowRemovals = False,
    region: Region = None,
    as_json: Json = False,
) -> None:
    """Make a deployed stack answer from the documents in PATH...; the old version answers until the new one does.

    Unchanged content publishes nothing. A version that fails its rehearsal is refused, and the old one stays.
    """
    if fail_under and questions is None:
        raise typer.BadParameter("it needs --questions", param_hint=FAIL_UNDER)
    require_at_most_one({"--version": version, "--list": listing, "PATH or --questions": paths or questions})
    from knowledge.engines.server.address import ServerAddress
    from publish.publisher import server_address, switch
    from publish.versions import version_key

    target = open_stack(stack, region)
    if listing:
        _print_versions(target, as_json=as_json)
        return
    server = ServerAddress.parse(index) if index else server_address(target)
    if server is not None and version is not None:
        outcome = _server_publisher(target, server).go_back(version)
    elif version is not None:
        key = version_key(version)
        outcome = switch(target, key, target.bucket.facts(key), note, {})
    else:
        request = IngestRequest(
            paths=tuple(paths or ()),
            base_url=base_url or "",
            include=tuple(include or ()),
            exclude=tuple(exclude or ()),
        )
        build = IndexBuild(
            request,
            target.parameters,
            questions=questions,
            fail_under=fail_under or (),
            strict=strict,
            may_remove=allow_removals,
        )
        outcome = publish_build(target, build, server)
    if as_json:
        emit_json(outcome.fields())
    else:
        print_rich(outcome.sentence)


def open_stack(stack: str, region: str | None) -> Target:
    """Return the stack that is published to.

    Raises:
        PublishFailed: there is no such stack, or AWS refuses.
    """
    import boto3  # type: ignore[import-untyped]

    from publish.stack import open_target

    with aws_errors():
        return open_target(boto3.session.Session(region_name=region), stack)


def _print_versions(target: Target, *, as_json: bool) -> None:
    with aws_errors():
        versions = target.bucket.versions()
    rows = [
        {
            "key": key,
            "published": at.isoformat(timespec="seconds"),
            **asdict(facts),
            "answers": key == target.key,
        }
        for key, at, facts in versions
    ]
    if as_json:
        emit_json({"stack": target.name, "versions": rows})
    elif not rows:
        print_rich(f"{target.name} has no published versions; it answers from the index that was built with it")
    else:
        table = Table("key", "published", "documents", "chunks", "", box=None)
        for row in rows:
            cells = (str(row[name]) for name in ("key", "published", "documents", "chunks"))
            table.add_row(*cells, "answers" if row["answers"] else "")
        print_rich(table)


@dataclass(frozen=True, slots=True)
class IndexBuild:
    """Update of an index as ``ragctl ingest`` does, with the same refusals, and a check by the golden questions.

    ``parameters`` belong to the stack that will answer from the index.
    """

    request: IngestRequest
    parameters: Mapping[str, str]
    questions: Path | None = None
    fail_under: Sequence[str] = ()
    strict: bool = False
    may_remove: bool = False

    def __call__(self, index: Path | str) -> dict[str, Any]:
        """Ingest into ``index``, a folder or the address of a server; return the report.

        A server goes on answering from the version before.

        Raises:
            CommandFailed: the index must not be published.
        """
        from knowledge.open.place import read_provenance
        from ragctl.evaluate_questions import check_questions
        from ragctl.ingest_job import IngestJob

        profile = self.parameters["Profile"]
        settings = read_settings(index=str(index), profile=profile, for_ingest=True)
        wanted = self.parameters.get("EmbedModel", "")
        if settings.embed_model != wanted:
            sentence = f"The stack has EmbedModel={wanted!r}, and EMBED_MODEL is {settings.embed_model!r} here"
            raise CommandFailed(sentence, code="index_mismatch")
        last = read_provenance(settings.index_place)
        if not self.request.paths and not last.paths:
            raise typer.BadParameter("name a folder, a file or an address", param_hint="PATH...")
        request = self.request.restore(last, given=set(self.request.options))
        check_base_url(request.base_url)
        check_patterns(*request.include, *request.exclude)
        job = IngestJob(request, settings, dry_run=False, may_remove=self.may_remove, as_json=True, switch=False)
        read, report = job.ingest()
        failed = report["failed"]
        for problem in (*failed, *report["emptied"]):
            note(f"Failed: {problem['path']}: {problem['error']}")
        if report["emptied"]:
            sentence = (
                "Not published: what emptied files and folders held is kept. If it is to go, add --allow-removals"
            )
            raise CommandFailed(sentence, code="removals_refused", **report)
        if failed and (self.strict or not read):
            raise CommandFailed(f"Not published: {len(failed)} documents failed", code="documents_failed", **report)
        place = _rehearse(settings, report)
        if self.questions:
            figures = check_questions(self.questions, self.fail_under, profile=profile, index=place)
            return {**report, "questions": figures}
        return report


def _rehearse(settings: Settings, report: Mapping[str, Any]) -> str:
    """Return the place of the new version; on a server, it must first answer one of its headings.

    A version in a layer is rehearsed when its function starts.
    """
    from knowledge.engines.server.address import ServerAddress, is_server

    if not is_server(settings.index_place):
        return settings.index_place
    from rag.wiring.application import build_application
    from rag.wiring.rehearsal import answer_own_heading

    place = str(ServerAddress.parse(settings.index_place).at_version(report["version"]))
    service = build_application(settings.model_copy(update={"index_uri": place}))
    try:
        answer_own_heading(service)
    finally:
        service.index.handle.close()
    return place


def publish_build(target: Target, build: IndexBuild, server: ServerAddress | None) -> Outcome:
    """Publish the version that ``build`` makes on ``server``, or in a layer without one; raises as ``build``."""
    from publish.publisher import publish as publish_index

    if server is None:
        return publish_index(target, build, note)
    return _server_publisher(target, server).publish(server, build)


def _server_publisher(target: Target, server: ServerAddress) -> ServerPublisher:
    from publish.publisher import ServerPublisher
    from rag.adapters.secrets import index_key

    settings = read_settings(index=str(server.at_version("")), profile=target.parameters["Profile"], for_ingest=True)
    return ServerPublisher(target, note, settings.collection, index_key(settings))


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

    def failure(error: Exception) -> tuple[str, str] | None:
        message = describe_error(error)
        return (message.sentence, message.code) if message else None

    mirror = nullcontext(str(folder)) if folder else tempfile.TemporaryDirectory(prefix="ragctl-documents-")
    with mirror as name:
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
            failure=failure,
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
