"""GaCounts with its store out of reach: the question is answered, and the reply and a metric say what was skipped."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from functional.gacounts_service import COLORS, TOMATOES, cached, counted, gacounts
from functional.harness import Api, Start, starting

SKIPPED = ["recall", "cache", "feedback", "memory"]


@pytest.fixture
def fresh(gacounts_index: Path) -> Iterator[Start]:
    """Starts the profile, by default without a store."""
    with starting(gacounts_index) as start:
        yield start


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """What boto3 wants before it calls anybody."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)


def answered(api: Api) -> None:
    reply = api.ask(COLORS)
    assert reply.status == 200
    assert not reply.json["refused"]
    assert reply.json["citations"]
    assert reply.json["metadata"]["skipped"] == SKIPPED
    assert {stage: counted(reply, "SoftFailures", stage=stage) for stage in set(SKIPPED)} == dict.fromkeys(SKIPPED, 1)
    assert len(reply.json["sessionId"]) >= 22
    assert api.ask(TOMATOES).json["refused"]


def refuses_votes(api: Api) -> None:
    vote = api.vote("any-response", True)
    assert (vote.status, vote.json["code"]) == (503, "store_unavailable")
    assert "Traceback" not in vote.text


@pytest.mark.parametrize("kind", ["a folder", "no database", "below a file"])
def test_an_unusable_file(fresh: Start, tmp_path: Path, kind: str) -> None:
    place = tmp_path / "s.sqlite"
    if kind == "a folder":
        place.mkdir()
    else:
        place.write_bytes(b"this is no database " * 100)
    api = fresh(**gacounts(place / "deeper.sqlite" if kind == "below a file" else place))
    answered(api)
    refuses_votes(api)


@pytest.mark.usefixtures("credentials")
def test_a_table_that_refuses_connections(fresh: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    api = fresh(**gacounts(None, TABLE_NAME="rag", TABLE_ENDPOINT=f"http://127.0.0.1:{port}"))
    answered(api)
    refuses_votes(api)


@pytest.mark.usefixtures("credentials")
def test_a_table_that_never_answers(fresh: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        api = fresh(**gacounts(None, TABLE_NAME="rag", TABLE_ENDPOINT=f"http://127.0.0.1:{port}"))
        answered(api)


def test_it_recovers_when_the_file_does(fresh: Start, tmp_path: Path) -> None:
    place = tmp_path / "s.sqlite"
    place.mkdir()
    api = fresh(**gacounts(place))
    answered(api)
    place.rmdir()
    reply = api.ask(COLORS)
    assert reply.json["metadata"]["skipped"] == []
    assert cached(api.ask(COLORS))
    assert api.vote(reply.json["responseId"], True).status == 202
