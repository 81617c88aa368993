"""When a bucket's documents are published: after which listings, how often, and what is left alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from publish.errors import PublishFailed
from publish.refresh import MAX_ROUNDS, DocumentBucket, Listing, Refresh, ReportStore, RunReport, hash_listing

NOW = 1_000_000.0
ONE, TWO = {"a.md": "1"}, {"a.md": "2", "b.md": "1"}


@dataclass
class Bucket:
    """Shows one listing after the other, and the last for ever."""

    listings: list[Listing]
    mirrored: list[Listing] = field(default_factory=list)
    name: str = "documents"

    def listing(self) -> Listing:
        return self.listings.pop(0) if len(self.listings) > 1 else self.listings[0]

    def mirror(self, listing: Listing, folder: Path, before: Listing) -> list[dict[str, str]]:
        self.mirrored.append(listing)
        return []


@dataclass
class Reports:
    """In memory."""

    kept: list[RunReport] = field(default_factory=list)

    def read(self) -> RunReport | None:
        return self.kept[-1] if self.kept else None

    def write(self, report: RunReport) -> None:
        self.kept.append(report)


def last(listing: Listing, *, outcome: str = "published", published_at: float = 0.0) -> RunReport:
    return RunReport("then", hash_listing(listing), outcome, published_at)


def told(*, published: bool = True) -> dict[str, Any]:
    return {"published": published, "documents": 2, "version": "v", "key": "k", "ingest": {"failed": []}}


def failure(error: Exception) -> tuple[str, str] | None:
    return (str(error), error.code) if isinstance(error, PublishFailed) else None


def refresh(
    bucket: Bucket, reports: Reports, slept: list[float] | None = None, publish: Callable[[], dict[str, Any]] = told
) -> Refresh:
    pauses = [] if slept is None else slept
    return Refresh(
        documents=cast(DocumentBucket, bucket),
        reports=cast(ReportStore, reports),
        folder=Path("nowhere"),
        publish_once=publish,
        minutes=10,
        failure=failure,
        tell=lambda _: None,
        clock=lambda: NOW + sum(pauses),
        sleep=pauses.append,
    )


def outcomes(rounds: Sequence[RunReport]) -> list[str]:
    return [one.outcome for one in rounds]


def test_a_bucket_as_it_was_is_left_alone_unless_somebody_asks_for_what_no_listing_shows() -> None:
    bucket, reports = Bucket([ONE]), Reports([last(ONE)])
    assert refresh(bucket, reports).run() == []
    rounds = refresh(bucket, reports, publish=lambda: told(published=False)).run(always=True)
    assert outcomes(rounds) == ["unchanged"]


def test_what_changes_meanwhile_is_published_in_one_more_round_after_the_pause() -> None:
    # Given a bucket that changes while its first listing is published
    bucket, reports, slept = Bucket([ONE, TWO]), Reports(), list[float]()
    rounds = refresh(bucket, reports, slept).run()
    assert outcomes(rounds) == ["published", "published"]
    assert (bucket.mirrored, slept) == ([ONE, TWO], [600])
    assert [one.listing for one in reports.kept] == [hash_listing(ONE), hash_listing(TWO)]


def test_the_pause_counts_publications_and_ends_with_a_new_look() -> None:
    bucket, slept = Bucket([ONE, TWO]), list[float]()
    rounds = refresh(bucket, Reports([last({}, published_at=NOW - 540)]), slept).run()
    assert (outcomes(rounds), bucket.mirrored, slept) == (["published"], [TWO], [60])


def test_a_bucket_that_never_rests_keeps_no_build_for_ever() -> None:
    bucket = Bucket([{"a.md": str(number)} for number in range(3 * MAX_ROUNDS)])
    assert len(refresh(bucket, Reports()).run()) == MAX_ROUNDS


def test_a_refusal_is_reported_once_and_tried_again_by_the_next_build() -> None:
    def refuse() -> dict[str, Any]:
        raise PublishFailed("No.", code="version_refused")

    bucket, reports = Bucket([ONE]), Reports([last({}, published_at=7.0)])
    [report] = refresh(bucket, reports, publish=refuse).run()
    assert (report.outcome, report.error, report.code, report.published_at) == ("failed", "No.", "version_refused", 7.0)
    assert outcomes(refresh(bucket, reports).run()) == ["published"]


def test_an_emptied_bucket_publishes_nothing() -> None:
    [report] = refresh(Bucket([{}]), Reports([last(ONE)]), publish=lambda: pytest.fail("published")).run()
    assert (report.outcome, report.code) == ("failed", "bucket_empty")


def test_what_nobody_expected_is_no_report() -> None:
    def fail() -> dict[str, Any]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        refresh(Bucket([ONE]), Reports(), publish=fail).run()


@dataclass
class Objects:
    """An S3 client that has every object."""

    fetched: list[str] = field(default_factory=list)

    def download_file(self, bucket: str, key: str, place: str) -> None:
        self.fetched.append(key)
        Path(place).write_text(f"{bucket} {key}", encoding="utf-8")


def test_a_folder_mirrors_a_listing_and_keys_that_lead_out_of_it_are_named(tmp_path: Path) -> None:
    client = Objects()
    bucket = DocumentBucket.at(client, "s3://documents/shop")
    folder = tmp_path / "mirror"
    first = {"shop/a.md": "1", "shop/deep/b.md": "1", "shop/../../c.md": "1", "shop/a.md/d.md": "1"}
    failed = bucket.mirror(first, folder, {})
    assert failed == [
        {"path": "shop/../../c.md", "error": "its key is no path of a file"},
        {"path": "shop/a.md/d.md", "error": "another object's key is a folder of this one's"},
    ]
    assert bucket.mirror({"shop/deep/b.md": "2"}, folder, first) == []
    assert [path.relative_to(folder).as_posix() for path in folder.rglob("*.md")] == ["deep/b.md"]
    assert client.fetched == ["shop/a.md", "shop/deep/b.md", "shop/deep/b.md"]


@pytest.mark.parametrize("address", ["documents", "https://documents", "s3:///x"])
def test_an_address_of_another_kind_is_refused(address: str) -> None:
    with pytest.raises(PublishFailed, match="is no address such as"):
        DocumentBucket.at(None, address)
