"""Refresh of a stack from a bucket of documents: publish, list again, and repeat while the listing differs.

Events only trigger a look. A listing decides on what is published, so lost and repeated events do no harm.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from publish.errors import PublishFailed, aws_error_code, aws_errors
from publish.stack import Tell

type Listing = Mapping[str, str]
"""ETags by key."""


@dataclass(frozen=True, slots=True)
class DocumentBucket:
    """The objects below ``prefix`` ("" or with a slash at its end) of a bucket; AWS's errors are raised."""

    client: Any
    name: str
    prefix: str = ""

    @classmethod
    def at(cls, client: Any, address: str) -> DocumentBucket:
        """Return the bucket at ``s3://bucket/prefix``.

        Raises:
            PublishFailed: the address is of another form.
        """
        scheme, _, rest = address.partition("://")
        name, _, prefix = rest.partition("/")
        if scheme != "s3" or not name:
            raise PublishFailed(f"{address!r} is no address such as s3://bucket/folder", code="bad_address")
        return cls(client, name, prefix and prefix.rstrip("/") + "/")

    def listing(self) -> Listing:
        """List the objects now, without those that stand for folders."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=self.prefix)
        found = (one for page in pages for one in page.get("Contents", []))
        return {one["Key"]: one["ETag"] for one in found if not one["Key"].endswith("/")}

    def mirror(self, listing: Listing, folder: Path, before: Listing) -> list[dict[str, str]]:
        """Make ``folder``, which mirrors ``before``, mirror ``listing``; return failures as ``{path, error}``.

        An object whose key can be no file fails. One that was deleted after it was listed is left out: the next
        listing shows it.
        """
        folder.mkdir(parents=True, exist_ok=True)
        failed = []
        for key in sorted(before.keys() - listing.keys()):
            if place := self._place(key, folder):
                place.unlink(missing_ok=True)
        for key in sorted(key for key, tag in listing.items() if before.get(key) != tag):
            place = self._place(key, folder)
            if place is None:
                failed.append({"path": key, "error": "its key is no path of a file"})
                continue
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                self.client.download_file(self.name, key, str(place))
            except ClientError as exc:
                if aws_error_code(exc) not in {"404", "NoSuchKey"}:
                    raise
                place.unlink(missing_ok=True)
            except (FileExistsError, NotADirectoryError, IsADirectoryError):
                failed.append({"path": key, "error": "another object's key is a folder of this one's"})
        return failed

    def _place(self, key: str, folder: Path) -> Path | None:
        """Return the path of the object's file, None where that would be outside of ``folder``."""
        path = PurePosixPath(key.removeprefix(self.prefix))
        inside = not path.is_absolute() and ".." not in path.parts and path.parts and "\x00" not in key
        return folder.joinpath(*path.parts) if inside else None


def hash_listing(listing: Listing) -> str:
    """Return a hash of ``listing``."""
    return hashlib.sha256(json.dumps(sorted(listing.items())).encode()).hexdigest()


REPORT_KEY = "refresh/report.json"
MAX_ROUNDS = 5
"""A limit for a bucket that always changes: the next event or the schedule goes on."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """The result of one round.

    ``outcome`` is published, unchanged or failed; ``published_at`` (Unix seconds) is the last publication's, 0 for
    none. ``failed`` are documents with reasons, ``error`` is the reason why nothing was published.
    """

    at: str
    listing: str
    outcome: str
    published_at: float
    documents: int = 0
    version: str = ""
    key: str = ""
    failed: Sequence[Mapping[str, str]] = ()
    error: str = ""
    code: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ReportStore:
    """Stores the last report in the bucket of versions, which keeps earlier ones, and as metrics."""

    s3: Any
    cloudwatch: Any
    bucket: str
    stack: str

    def read(self) -> RunReport | None:
        """Return the last report; None if there is none, or it is of another program."""
        try:
            body = self.s3.get_object(Bucket=self.bucket, Key=REPORT_KEY)["Body"].read()
            return RunReport(**json.loads(body))
        except ClientError as exc:
            if aws_error_code(exc) != "NoSuchKey":
                raise
            return None
        except (TypeError, ValueError):
            return None

    def write(self, report: RunReport) -> None:
        """Store ``report``, and its counts in the namespace ``RagRefresh/<stack>``."""
        body = json.dumps(asdict(report), indent=1).encode()
        self.s3.put_object(Bucket=self.bucket, Key=REPORT_KEY, Body=body, ContentType="application/json")
        values = {
            "Documents": report.documents,
            "FailedDocuments": len(report.failed),
            "Published": int(report.outcome == "published"),
            "FailedRuns": int(report.outcome == "failed"),
            "Seconds": report.seconds,
        }
        data = [{"MetricName": name, "Value": float(value)} for name, value in values.items()]
        self.cloudwatch.put_metric_data(Namespace=f"RagRefresh/{self.stack}", MetricData=data)


@dataclass(frozen=True, slots=True)
class Refresh:
    """Mirrors ``documents`` in ``folder``, which ``publish_once`` publishes, at most once in ``minutes``.

    ``publish_once`` returns ``publish.publisher.Outcome.fields``. ``failure`` gives the sentence and the code of its
    error, None for an unexpected one.
    """

    documents: DocumentBucket
    reports: ReportStore
    folder: Path
    publish_once: Callable[[], Mapping[str, Any]]
    minutes: float
    failure: Callable[[Exception], tuple[str, str] | None]
    tell: Tell
    clock: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    _mirrored: dict[str, str] = field(default_factory=dict)

    def run(self, *, always: bool = False) -> list[RunReport]:
        """Publish until the bucket is as it was listed; return one report a round, none where nothing has changed.

        ``always`` is for sources that no listing shows: the first round then runs, whatever the listing is. A failed
        round is the last.
        """
        rounds: list[RunReport] = []
        last = self.reports.read()
        while len(rounds) < MAX_ROUNDS:
            listing = self.documents.listing()
            same = last is not None and last.outcome != "failed" and last.listing == hash_listing(listing)
            if same and not (always and not rounds):
                self.tell(f"The bucket {self.documents.name} is as it was at {last.at}" if last else "")
                return rounds
            if last and (wait := last.published_at + 60 * self.minutes - self.clock()) > 0:
                self.tell(f"The last publication was less than {self.minutes:g} minutes ago: waiting {wait:.0f} s")
                self.sleep(wait)
                listing = self.documents.listing()
            last = self._round(listing, last.published_at if last else 0.0)
            self.reports.write(last)
            rounds.append(last)
            if last.outcome == "failed":
                return rounds
        return rounds

    def _round(self, listing: Listing, published_at: float) -> RunReport:
        began = self.clock()
        at = datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds")
        unsafe: list[dict[str, str]] = []
        try:
            if not listing:
                sentence = f"The bucket {self.documents.name} holds no documents; nothing is published"
                raise PublishFailed(sentence, code="bucket_empty")
            with aws_errors():
                unsafe = self.documents.mirror(listing, self.folder, self._mirrored)
            self._mirrored.clear()
            self._mirrored.update(listing)
            published = self.publish_once()
        except Exception as exc:
            failure = self.failure(exc)
            if failure is None:
                raise
            report = RunReport(at, hash_listing(listing), "failed", published_at, error=failure[0], code=failure[1])
        else:
            report = RunReport(
                at=at,
                listing=hash_listing(listing),
                outcome="published" if published["published"] else "unchanged",
                published_at=self.clock() if published["published"] else published_at,
                documents=published["documents"],
                version=published["version"],
                key=published["key"],
                failed=(published["ingest"] or {}).get("failed", ()),
            )
        return replace(report, failed=[*unsafe, *report.failed], seconds=round(self.clock() - began, 1))
