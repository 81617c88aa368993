"""GaCounts with its store out of reach: the question is answered, and the reply and a metric say what was skipped."""

import socket
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from fakes import Machine
from fakes_dynamodb import EXPIRED, Manner, an_hour_ahead, dripping, empty_table, late, silent
from fakes_stores import sqlite_table
from functional.gacounts_service import COLORS, MEALS, TOMATOES, TRAINING, cached, counted, gacounts
from functional.harness import Api, Start

from rag.adapters import dynamodb as dynamodb_module
from rag.adapters import sqlite as sqlite_module

SKIPPED = ["cache", "feedback", "memory"]


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """What boto3 wants before it calls anybody."""
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION", "AWS_EC2_METADATA_DISABLED")
    for name, value in zip(names, ("x", "x", "eu-central-1", "true"), strict=True):
        monkeypatch.setenv(name, value)


def answered(api: Api) -> None:
    reply = api.ask(COLORS)
    assert (reply.status, reply.json["refused"], reply.json["citations"] != []) == (200, False, True)
    assert reply.json["metadata"]["skipped"] == SKIPPED
    assert [counted(reply, "SoftFailures", stage=stage) for stage in SKIPPED] == [1, 1, 1]
    assert len(reply.json["sessionId"]) >= 22
    assert api.ask(TOMATOES).json["refused"]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the stores' adapters wait for a minute of their own accord."""
    monkeypatch.setattr(sqlite_module, "BUSY_TIMEOUT_S", 60.0)
    monkeypatch.setattr(dynamodb_module, "READ_TIMEOUT_S", 60)


def answered_quickly(api: Api) -> None:
    """It waits for stores for a tenth of a second, and not for their own minute."""
    before = time.monotonic()
    answered(api)
    assert time.monotonic() - before < 30


def refuses_votes(api: Api, response: str = "any-response") -> None:
    vote = api.vote(response, True)
    assert (vote.status, vote.json["code"]) == (503, "store_unavailable")
    assert "Traceback" not in vote.text


@pytest.mark.parametrize("kind", ["a folder", "no database", "below a file"])
def test_an_unusable_file(fresh: Start, tmp_path: Path, kind: str) -> None:
    place = tmp_path / "s.sqlite"
    if kind == "a folder":
        place.mkdir()
    else:
        place.write_bytes(b"this is no database " * 100)
        place.chmod(0o600)
    api = fresh(**gacounts(place / "deeper.sqlite" if kind == "below a file" else place))
    answered(api)
    refuses_votes(api)


def test_a_table_that_refuses_connections(fresh: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    api = fresh(**gacounts(None, TABLE_NAME="rag", TABLE_ENDPOINT=f"http://127.0.0.1:{port}"))
    answered(api)
    refuses_votes(api)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("manner", [silent, dripping])
def test_a_table_that_never_answers_costs_a_moment(fresh: Start, manner: Manner) -> None:
    with empty_table(manner) as table:
        api = fresh(**gacounts(None, TABLE_NAME="rag", TABLE_ENDPOINT=table.url, STORE_WAIT_S="0.1"))
        answered_quickly(api)
        assert len(table.calls) <= 2, "the first call shuts nothing, and nobody waits for a third"


def test_a_table_whose_clock_is_an_hour_ahead_of_the_function_s(fresh: Start) -> None:
    """AWS refuses each request then, and botocore does not correct what it signs with."""
    with empty_table(an_hour_ahead) as table:
        api = fresh(**gacounts(None, TABLE_NAME="rag", TABLE_ENDPOINT=table.url))
        answered(api)
        refuses_votes(api)
        table.calls.clear()
        reply = api.ask(COLORS)
    told = [line["message"] for line in reply.logs if line["level"] == "WARNING"]
    assert {message.partition(" is skipped")[0] for message in told} == set(SKIPPED)
    assert len(told) == len(table.calls), "each refusal is logged once, and asked for once"
    assert all("InvalidSignatureException" in message for message in told)
    assert EXPIRED not in reply.text


def test_a_table_that_answers_late_is_used_as_soon_as_it_has(fresh: Start) -> None:
    with empty_table(late) as table:
        api = fresh(**gacounts(None, TABLE_NAME="rag", TABLE_ENDPOINT=table.url, STORE_WAIT_S="0.1"))
        assert api.ask(COLORS).json["metadata"]["skipped"] == SKIPPED
        api.app.service.stores.guard.question_s = 60.0  # this machine may be busy
        assert api.ask(COLORS).json["metadata"]["skipped"] == SKIPPED, "though there is time: it has not answered yet"
        assert len(table.calls) <= 2
        table.released.set()
        before = time.monotonic()
        while skipped := api.ask(COLORS).json["metadata"]["skipped"]:
            assert skipped == SKIPPED or time.monotonic() - before < 600
        assert table.calls[-1] == "PutItem"


@pytest.mark.usefixtures("patient")
def test_a_file_that_others_lock_costs_a_moment(fresh: Start, tmp_path: Path) -> None:
    """By one who keeps readers and writers out."""
    place = tmp_path / "s.sqlite"
    with sqlite_table(place) as made, made.writing():
        pass
    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        answered_quickly(fresh(**gacounts(place, STORE_WAIT_S="0.1")))


def test_a_question_spends_on_all_its_stores_no_more_than_it_may(fresh: Start, tmp_path: Path) -> None:
    """By a clock that only the stores move."""
    api = fresh(**gacounts(tmp_path / "s.sqlite", STORE_WAIT_S="0.1"))
    guard, machine = api.app.service.stores.guard, Machine()
    guard.clock, guard.wall, guard.run = machine.clock, machine.clock, machine.run
    machine.takes_s = 0.01
    assert api.ask(COLORS).json["metadata"]["skipped"] == []
    assert machine.clock.now == pytest.approx(1000.07), "seven calls"
    machine.takes_s, machine.clock.now = 0.06, 2000.0
    slow = api.ask(TRAINING)
    assert (slow.json["refused"], slow.json["metadata"]["skipped"]) == (False, ["feedback"])
    assert machine.clock.now == pytest.approx(2000.4), "a tenth before the answer, five writes after it"
    machine.finish()
    machine.takes_s, machine.clock.now = 60.0, 3000.0
    assert api.ask(MEALS).json["metadata"]["skipped"] == SKIPPED
    assert machine.clock.now == pytest.approx(3000.1), "for its reads; what is written comes no more"


def test_a_vote_waits_for_a_file_that_questions_gave_up(fresh: Start, tmp_path: Path) -> None:
    place = tmp_path / "s.sqlite"
    api = fresh(**gacounts(place))
    response = api.ask(COLORS).json["responseId"]
    guard = api.app.service.stores.guard
    with closing(sqlite3.connect(place, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")  # readers may go on, writers wait
        guard.question_s = 0.1
        asked = api.ask(TRAINING)
        assert not asked.json["refused"]
        assert {"memory", "feedback"} <= set(asked.json["metadata"]["skipped"])
        assert guard._is_open()
        release = threading.Timer(0.5, lambda: other.execute("ROLLBACK"))
        release.start()
        assert api.vote(response, True).status == 202
        release.join()
    helpful = "SELECT json_extract(attributes, '$.helpful') FROM items WHERE pk LIKE 'voter#%'"
    with closing(sqlite3.connect(place)) as kept:
        assert kept.execute(helpful).fetchall() == [(1,)]


def test_a_vote_that_cannot_be_kept_is_refused(fresh: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_module, "BUSY_TIMEOUT_S", 0.2)
    api = fresh(**gacounts(tmp_path / "s.sqlite"))
    response = api.ask(COLORS).json["responseId"]
    with closing(sqlite3.connect(tmp_path / "s.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        refuses_votes(api, response)


def test_a_vote_waits_no_longer_than_a_request_may_take(fresh: Start, tmp_path: Path) -> None:
    api = fresh(**gacounts(tmp_path / "s.sqlite"), REQUEST_DEADLINE_S="3")
    machine = Machine()
    api.app.service.stores.guard.run = machine.run
    assert api.vote("any-response", True).status == 404
    assert machine.limits == [3.0]


def test_it_goes_on_when_the_file_is_deleted_or_comes_at_last(fresh: Start, tmp_path: Path) -> None:
    place = tmp_path / "s.sqlite"
    place.mkdir()
    api = fresh(**gacounts(place))
    answered(api)
    place.rmdir()
    forgotten = api.ask(COLORS)
    assert forgotten.json["metadata"]["skipped"] == []
    assert cached(api.ask(COLORS))
    assert api.vote(forgotten.json["responseId"], True).status == 202
    place.unlink()
    assert api.vote(forgotten.json["responseId"], True).status == 404
    reply = api.ask(TRAINING)
    assert reply.json["metadata"]["skipped"] == []
    assert api.vote(reply.json["responseId"], True).status == 202
