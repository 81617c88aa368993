"""``ragctl forget`` after a conversation with the real handler: nothing of it is left in the store's files."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import real_model
from command_line import Run
from functional.harness import IN_SCOPE, Api, starting
from store_contract import SESSION

pytestmark = pytest.mark.slow

COMMENT = "The comment of one person"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "state" / "index.store.sqlite"


@pytest.fixture
def api(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with starting(real_model.sample_index("waypoint", tmp_path_factory)) as start:
        yield start(STORE_PATH=str(store), ENABLE_RESPONSE_CACHE="true")


def written(store: Path) -> bytes:
    return b"".join(file.read_bytes() for file in store.parent.iterdir())


def test_a_conversation_that_the_service_began_is_forgotten(
    api: Api, store: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = api.ask(IN_SCOPE).json
    session = first["sessionId"]
    second = api.ask("And which of them for plants?", sessionId=session).json
    for reply in (first, second):
        assert api.vote(reply["responseId"], True, comment=COMMENT).status == 202
    assert api.ask(IN_SCOPE).json["metadata"]["cached"] is True
    other = api.ask("What is a reefer container?", sessionId=SESSION).json
    before = written(store)
    assert all(trace in before for trace in (IN_SCOPE.encode(), COMMENT.encode(), session.encode()))

    monkeypatch.setenv("STORE_PATH", "")
    beside = store.with_name("index")
    forgotten = run("forget", session, "--index", beside, "--json")
    counts = {"sessionId": session, "turns": 2, "responses": 2, "votes": 2, "answers": 1}
    assert {name: forgotten[name] for name in counts} == counts
    assert any("without a session" in sentence for sentence in forgotten["notes"])
    after = written(store)
    assert COMMENT.encode() not in after
    assert session.encode() not in after
    assert b"And which of them for plants?" not in after
    assert api.vote(first["responseId"], True).status == 404
    assert api.vote(other["responseId"], True).status == 202
    assert run("forget", session, "--index", beside, "--json")["turns"] == 0


def test_an_id_that_no_session_has_is_bad_usage(run: Run, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORE_PATH", str(store))
    assert run("forget", "too short") == (2, "", "Error: sessionId must be 22-64 characters of A-Z a-z 0-9 _ -\n")


@pytest.mark.parametrize("place", ["none", "{}/not-there.sqlite", ""])
def test_without_a_store_nothing_is_said_to_be_forgotten(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv("STORE_PATH", place.format(tmp_path))
    status, out, _ = run("forget", SESSION, "--index", tmp_path / "index", "--json")
    assert status == 1
    assert '"code": "no_store"' in out
    assert list(tmp_path.iterdir()) == []
