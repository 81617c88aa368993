"""An index on a server that is slow, frozen, cut, refusing, restarting, half-written or damaged: bounded, and told."""

import hashlib
import logging
import shutil
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import chroma_server
import pytest
import real_model
from chroma_server import ChromaServer
from desks import desk, desks
from fakes_embedding import ReadingEmbedder
from faulty_proxy import Fault, FaultyProxy, cut, frozen, once, page, passing, proxied, slow, trickling
from web_server import self_signed

from knowledge.build import server_writer
from knowledge.build.server_ingest import ingest_to_server
from knowledge.engines.server import connection as connection_module
from knowledge.engines.server import database as database_module
from knowledge.engines.server.address import ServerAddress
from knowledge.engines.server.connection import AT_ONCE, WAITING, CallPolicy, Connection
from knowledge.engines.server.database import Database
from knowledge.model.errors import (
    IndexDamaged,
    IndexMismatch,
    IndexMissing,
    IndexUnavailable,
    IndexUnreachable,
    SearchFailed,
)
from knowledge.model.values import Document, View
from knowledge.model.waiting import limit_waiting
from knowledge.open.server_index import ServerIndex, open_server_index

pytestmark = pytest.mark.slow

KEY = "ck-a-key-that-nobody-may-see"
BOUNDED_S = 20
"""Nothing here takes longer, on however busy a machine: it ends at all."""
QUICK = CallPolicy(seconds=1.0, tries=2)
DOCUMENTS = desks(30)


@pytest.fixture(scope="module", autouse=True)
def few_background_questions() -> Iterator[None]:
    """Four: each costs a call of the server, and no bar is looked at here."""
    with real_model.few_background_questions(100):
        yield


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that wait a second where they wait for four."""
    defaults: Any = Connection.call.__kwdefaults__
    monkeypatch.setitem(defaults, "policy", QUICK)
    monkeypatch.setattr(database_module, "WRITE_POLICY", QUICK)
    monkeypatch.setattr(connection_module, "PAUSE_S", 0.01)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, chroma: ChromaServer) -> str:
    """The name of an index that is whole, and that no test changes."""
    return make(chroma, tmp_path_factory.mktemp("made"))


@pytest.fixture
def proxy(chroma: ChromaServer) -> Iterator[FaultyProxy]:
    with proxied(chroma.port) as running:
        yield running


@pytest.fixture
def index(proxy: FaultyProxy, made: str) -> Iterator[ServerIndex]:
    """That index, asked through the proxy, which does nothing yet."""
    with closing(opened(proxy.port, made)) as index:
        yield index


def make(server: ChromaServer, work: Path, documents: list[Document] = DOCUMENTS, **options: Any) -> str:
    name = options.pop("collection", None) or chroma_server.new_name()
    options = {"embedder": ReadingEmbedder(), **options}
    ingest_to_server(documents, uri=server.uri, work=work, collection=name, **options)
    return name


def opened(port: int, name: str, version: str = "") -> ServerIndex:
    uri = chroma_server.uri_of(port) + (f"?version={version}" if version else "")
    return open_server_index(uri, embedder=ReadingEmbedder(), collection=name)


def best(index: ServerIndex, text: str = "What is fee7?") -> str:
    return index.search([View(text)], k=1).hits[0].chunk.doc_id


@contextmanager
def database(server: ChromaServer, name: str) -> Iterator[Database]:
    with closing(Connection(ServerAddress.parse(server.uri))) as connection:
        yield Database(connection, name)


@contextmanager
def bounded() -> Iterator[None]:
    started = time.monotonic()
    yield
    assert time.monotonic() - started < BOUNDED_S


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (frozen, "did not answer in time"),
        (trickling, "did not answer in time"),
        (cut, "cannot be reached"),
        (page(429), "cannot answer now"),
        (page(500), "cannot answer now"),
        (page(200), "cannot answer now"),
        (page(403), "refuses the key"),
    ],
    ids=["frozen", "trickling", "cut", "429", "500", "page", "403"],
)
@pytest.mark.usefixtures("quick")
def test_a_fault_is_bounded_told_and_passes(
    proxy: FaultyProxy, made: str, index: ServerIndex, fault: Fault, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert best(index) == "d7"

    proxy.fault = fault
    wait_s = 0.5 if said == "did not answer in time" else BOUNDED_S  # nothing else is to be waited for
    told = rf"Chroma's server at 127\.0\.0\.1:\d+ {said}"
    with bounded(), limit_waiting(wait_s), pytest.raises(IndexUnreachable, match=told):
        best(index, "What is fee12?")
    with bounded(), limit_waiting(wait_s), pytest.raises(IndexUnreachable, match=said):
        opened(proxy.port, made)

    proxy.over.set()
    proxy.fault = passing
    assert best(index, "What is fee12?") == "d12"
    assert "html" not in caplog.text


@pytest.mark.parametrize("fault", [cut, page(429), page(500)], ids=["cut", "429", "500"])
def test_a_fault_that_passes_is_not_seen(proxy: FaultyProxy, index: ServerIndex, quick: None, fault: Fault) -> None:
    proxy.fault = once(fault)
    assert best(index, "What is fee3?") == "d3"


def test_a_refused_key_is_not_tried_twice(proxy: FaultyProxy, index: ServerIndex) -> None:
    proxy.fault, before = page(401), len(proxy.asked)
    with pytest.raises(IndexUnreachable, match="INDEX_SECRET_NAME"):
        index.fetch([1])
    assert len(proxy.asked) == before + 1


def test_whoever_asks_says_how_long_it_waits(proxy: FaultyProxy, index: ServerIndex) -> None:
    proxy.fault = frozen
    with bounded(), limit_waiting(0.3), pytest.raises(IndexUnreachable, match="did not answer in time"):
        best(index)
    proxy.fault = slow(0.6)  # later calls have their own time: one that was short does not bind them
    assert best(index) == "d7"


def test_a_server_is_never_asked_more_than_ten_things_at_once(proxy: FaultyProxy, index: ServerIndex) -> None:
    proxy.fault, proxy.most = slow(0.05), 0
    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(lambda number: best(index, f"What is fee{number}?"), range(20)))
    assert found == [f"d{number}" for number in range(20)]
    assert 2 <= proxy.most <= AT_ONCE


def test_more_than_can_wait_are_refused_at_once_and_the_others_answered(proxy: FaultyProxy, made: str) -> None:
    with closing(Connection(ServerAddress.parse(chroma_server.uri_of(proxy.port)))) as connection:
        connection.call(lambda api: api.heartbeat())
        held, begun = threading.Event(), threading.Semaphore(0)

        def wait(_: object) -> str:
            begun.release()
            held.wait(BOUNDED_S)
            return "done"

        patient = CallPolicy(seconds=BOUNDED_S, tries=1)
        with ThreadPoolExecutor(AT_ONCE + WAITING) as pool:
            calls = [pool.submit(connection.call, wait, policy=patient) for _ in range(AT_ONCE + WAITING)]
            for _ in range(AT_ONCE):
                begun.acquire()
            until = time.monotonic() + BOUNDED_S
            while connection._waiting._value and time.monotonic() < until:
                time.sleep(0.01)
            with pytest.raises(IndexUnreachable, match="Too many questions wait"):
                connection.call(wait, policy=patient)
            held.set()
            assert [call.result() for call in calls] == ["done"] * (AT_ONCE + WAITING)
        assert connection.call(lambda api: api.heartbeat()) > 0


@pytest.mark.parametrize("fault", [frozen, trickling])
def test_calls_that_overran_give_their_turns_back(proxy: FaultyProxy, index: ServerIndex, fault: Fault) -> None:
    proxy.fault = fault

    def fetch_quickly(number: int) -> object:
        with limit_waiting(0.5):
            return index.fetch([number])

    with bounded(), ThreadPoolExecutor(AT_ONCE + 2) as pool:
        for one in [pool.submit(fetch_quickly, number) for number in range(1, AT_ONCE + 3)]:
            with pytest.raises(IndexUnreachable):
                one.result()

    proxy.fault = passing  # those that are kept waiting still are: nobody released them
    with bounded():
        until, found = time.monotonic() + BOUNDED_S, ""
        while not found and time.monotonic() < until:
            with suppress(IndexUnreachable):
                found = index.fetch([8])[0].doc_id
    assert found == "d7"


def test_a_server_that_restarts_answers_again_by_itself(tmp_path: Path, quick: None) -> None:
    for server in chroma_server.running(tmp_path):
        with closing(opened(server.port, make(server, tmp_path / "work"))) as index:
            assert best(index) == "d7"

            server.stop()
            with bounded(), pytest.raises(IndexUnreachable, match="cannot be reached"):
                best(index, "What is fee9?")
            server.start()

            assert best(index, "What is fee9?") == "d9"
            index.disconnect()
            assert best(index, "What is fee11?") == "d11"


def test_a_half_written_version_is_not_read_and_the_one_before_answers(chroma: ChromaServer, tmp_path: Path) -> None:
    name = make(chroma, tmp_path)
    with database(chroma, name) as db:
        old, _ = db.current()
        make(chroma, tmp_path, [*DOCUMENTS, desk(99)], collection=name, switch=False)
        (new,) = set(db.versions()) - {old}
        assert db.current() == (old, "")
        db.connection.call(lambda api: api.delete_collection(db.facts(new)))

        with closing(opened(chroma.port, name)) as index:
            assert (index.version, index.chunks) == (old, 30)
        with pytest.raises(IndexMissing, match="Run: ragctl ingest PATH"):
            opened(chroma.port, name, new)


def test_both_versions_can_be_opened_until_the_next(chroma: ChromaServer, tmp_path: Path) -> None:
    name, versions = chroma_server.new_name(), []
    for count in (5, 6, 7):
        make(chroma, tmp_path, DOCUMENTS[:count], collection=name)
        with database(chroma, name) as db:
            versions.append(db.current()[0])
            assert db.versions() == sorted(versions[-2:])
            assert db.current()[1] == (versions[-2] if count > 5 else "")

    for count, version in ((6, versions[1]), (7, versions[2]), (7, "")):
        with closing(opened(chroma.port, name, version)) as index:
            assert index.chunks == count
    with pytest.raises(IndexMissing):
        opened(chroma.port, name, versions[0])


type Damage = Callable[[Database, str], None]


def damage_facts(db: Database, version: str) -> None:
    record = dict(db.raw(db.facts(version), ids=["f0"])["metadatas"][0])
    db.put(db.facts(version), ["f0"], [[1.0, 0.0]], [record | {"p00": "A" * len(record["p00"])}], None)


def other_kind_of_facts(db: Database, version: str) -> None:
    db.delete(db.facts(version), ["f0"])
    db.put(db.facts(version), ["f0"], [[1.0, 0.0]], [{"p00": "YW5vdGhlciBraW5k"}], None)
    digest = hashlib.sha256(b"YW5vdGhlciBraW5k").hexdigest()
    db.set_metadata(db.facts(version), {"sha256": digest, "records": "1"})


@pytest.fixture(scope="module")
def repaired(tmp_path_factory: pytest.TempPathFactory, chroma: ChromaServer) -> str:
    """The name of an index that is whole before and after each test."""
    return make(chroma, tmp_path_factory.mktemp("repaired"))


@pytest.mark.parametrize(
    ("damage", "error", "said"),
    [
        (
            lambda db, version: db.delete(db.chunks(version), ["id_3", "id_4"]),
            IndexDamaged,
            "28 of the index's 30 chunks",
        ),
        (damage_facts, IndexDamaged, "are damaged"),
        (lambda db, version: db.delete(db.facts(version), ["f0"]), IndexDamaged, "are damaged"),
        (other_kind_of_facts, IndexMismatch, "another kind"),
    ],
    ids=["lost chunks", "damaged facts", "lost facts", "another kind of facts"],
)
def test_damage_is_told_and_an_ingest_repairs_it(
    chroma: ChromaServer, repaired: str, tmp_path: Path, damage: Damage, error: type[Exception], said: str
) -> None:
    with database(chroma, repaired) as db:
        damage(db, db.current()[0])
    with pytest.raises(error, match=f"{said}.*Run: ragctl ingest PATH"):
        opened(chroma.port, repaired)
    make(chroma, tmp_path, collection=repaired)
    with closing(opened(chroma.port, repaired)) as index:
        assert best(index) == "d7"


def test_a_damaged_record_fails_the_question_and_not_the_program(chroma: ChromaServer, tmp_path: Path) -> None:
    name = make(chroma, tmp_path)
    with closing(opened(chroma.port, name)) as index:
        with database(chroma, name) as db:
            found = db.raw(db.chunks(index.version), ids=["id_8"])
            short = dict(found["metadatas"][0]) | {"late_0": "AAAA"}
            db.put(db.chunks(index.version), ["id_8"], found["embeddings"], [short], found["documents"])

        with pytest.raises(SearchFailed, match="'id_8' on Chroma's server is not whole"):
            best(index)
        assert index.fetch([1])[0].doc_id == "d0"


def test_an_index_of_another_model_is_refused(chroma: ChromaServer, made: str) -> None:
    with pytest.raises(IndexMismatch, match="other"):
        open_server_index(chroma.uri, embedder=ReadingEmbedder(model="other"), collection=made)
    with pytest.raises(IndexMissing, match=r"no index 'nothing' at chroma://.*ragctl ingest PATH --index"):
        opened(chroma.port, "nothing")


def test_a_disk_without_room_is_told(chroma: ChromaServer, made: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tarfile.TarFile, "extractall", full)
    with pytest.raises(IndexUnavailable, match="No place to open the index in: No space left on device"):
        opened(chroma.port, made)


def test_a_killed_ingest_goes_on_and_ends_as_one_in_one_go(
    chroma: ChromaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_writer, "SLAB", 3)
    monkeypatch.setattr(server_writer, "CHECKPOINT_SLABS", 2)
    name, put, written = chroma_server.new_name(), Database.put, []

    def dying(self: Database, to: str, ids: Any, *rest: Any) -> None:
        written.append(to)
        if len(written) > 7:
            raise KeyboardInterrupt
        put(self, to, ids, *rest)

    monkeypatch.setattr(Database, "put", dying)
    with pytest.raises(KeyboardInterrupt):
        make(chroma, tmp_path / "killed", collection=name)
    monkeypatch.setattr(Database, "put", put)
    with pytest.raises(IndexMissing):
        opened(chroma.port, name)

    never = tmp_path / "killed" / "0123456789ab"  # of a version that nobody will ever ask for
    shutil.copytree(next((tmp_path / "killed").iterdir()), never)
    embedder = ReadingEmbedder()
    make(chroma, tmp_path / "killed", collection=name, embedder=embedder)
    assert list((tmp_path / "killed").iterdir()) == []
    texts = [f"{one.title}\n{one.text}" for one in DOCUMENTS]
    twice = [text for text in texts if embedder.texts.count(text) > 1]  # once for the projection's sample, as ever
    assert 12 <= len(twice) <= 24

    whole = make(chroma, tmp_path / "whole")
    with closing(opened(chroma.port, whole)) as one, closing(opened(chroma.port, name)) as other:
        assert list(other.iter_chunks()) == list(one.iter_chunks())
        assert dict(other.fields) == dict(one.fields)
        for question in ("What is fee7?", "noon", "nothing known"):
            hits, others = (index.search([View(question)], k=30).hits for index in (one, other))
            assert [hit.chunk.number for hit in others] == [hit.chunk.number for hit in hits]
            assert [hit.score for hit in others] == pytest.approx([hit.score for hit in hits], abs=1e-6)


def test_a_killed_update_leaves_the_version_before_and_goes_on(
    chroma: ChromaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = make(chroma, tmp_path)
    changed = [*DOCUMENTS[:5], desk(5, "A zebra crosses."), *DOCUMENTS[6:29]]
    with monkeypatch.context() as patch:
        patch.setattr("knowledge.build.server_ingest.write_facts", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            make(chroma, tmp_path, changed, collection=name)
    with closing(opened(chroma.port, name)) as index:
        assert (best(index, "What is fee5?"), index.chunks) == ("d5", 30)

    embedder = ReadingEmbedder()
    make(chroma, tmp_path, changed, collection=name, embedder=embedder)
    assert not [text for text in embedder.texts if text.startswith("Desk ")]
    with closing(opened(chroma.port, name)) as index:
        assert (best(index, "zebra"), index.chunks) == ("d5", 29)


@pytest.mark.parametrize("fault", [cut, page(429)], ids=["cut", "429"])
def test_an_ingest_outlives_faults_that_pass(
    proxy: FaultyProxy, chroma: ChromaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    monkeypatch.setattr(connection_module, "PAUSE_S", 0.01)
    count = iter(range(10**6))
    proxy.fault = lambda exchange: (fault if next(count) % 4 == 3 else passing)(exchange)
    name = chroma_server.new_name()

    uri, embedder = chroma_server.uri_of(proxy.port), ReadingEmbedder()
    made = ingest_to_server(DOCUMENTS, uri=uri, work=tmp_path, collection=name, embedder=embedder)

    assert (made.chunks, made.failed) == (30, ())
    with closing(opened(chroma.port, name)) as index:
        assert sorted(chunk.doc_id for chunk in index.iter_chunks()) == sorted(one.doc_id for one in DOCUMENTS)


@pytest.mark.usefixtures("quick")
def test_a_key_goes_over_tls_alone_and_into_no_log(
    chroma: ChromaServer, made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[BaseException] = []

    def refused(uri: str) -> None:
        with pytest.raises(IndexUnavailable) as caught:
            open_server_index(uri, embedder=ReadingEmbedder(), collection=made, token=lambda: KEY)
        error: BaseException | None = caught.value
        while error is not None:
            told.append(error)
            error = error.__cause__ or error.__context__

    with proxied(chroma.port) as plain:
        refused(chroma_server.uri_of(plain.port))
        assert plain.asked == []
    with proxied(chroma.port, self_signed(tmp_path)) as proxy:
        uri = f"https://127.0.0.1:{proxy.port}/default_tenant/default_database"
        refused(uri)  # by us: nobody vouches for its certificate
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
        for fault in (page(401), page(500), cut):
            proxy.fault = fault
            refused(uri)
        proxy.fault = passing
        with closing(open_server_index(uri, embedder=ReadingEmbedder(), collection=made, token=lambda: KEY)) as index:
            assert best(index) == "d7"
        assert {headers["x-chroma-token"] for headers in proxy.asked} == {KEY}

    assert KEY not in caplog.text
    assert not [error for error in told if KEY in f"{error} {error!r}"]
