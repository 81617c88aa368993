"""The handle: no index is a state, a swap waits for nobody, and nobody's index is closed under them."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from knowledge.model.errors import IndexDamaged, IndexMissing, KnowledgeError
from knowledge.open import handle as handle_module
from knowledge.open.handle import POLL_S, RETRY_AFTER_S, IndexHandle, watch
from knowledge.open.index import EmbeddedIndex


class FakeIndex:
    def __init__(self, version: str) -> None:
        self.version = version
        self.closed = 0

    def search(self) -> str:
        if self.closed:
            raise AssertionError("searched after close")
        return self.version

    def close(self) -> None:
        self.closed += 1


class Shelf:
    """Where the indexes come from: counts how often one is opened; ``now`` is what is there."""

    def __init__(self, now: FakeIndex | KnowledgeError) -> None:
        self.now = now
        self.state: object = 0
        self.opened = 0
        self.time_s = 0.0

    def put(self, now: FakeIndex | KnowledgeError) -> None:
        self.now = now
        self.state = object()

    def open(self) -> EmbeddedIndex:
        self.opened += 1
        if isinstance(self.now, KnowledgeError):
            raise self.now
        return cast(EmbeddedIndex, self.now)

    def handle(self, *, watched: bool = True) -> IndexHandle:
        changed: Callable[[], object] | None = (lambda: self.state) if watched else None
        return IndexHandle(self.open, changed=changed, clock=lambda: self.time_s)


def version(handle: IndexHandle) -> str:
    with handle.lease() as index:
        return cast(FakeIndex, index).search()


def test_nothing_is_opened_before_the_first_request_then_once_and_again_only_after_a_change() -> None:
    old = FakeIndex("one")
    shelf = Shelf(old)
    handle = shelf.handle()

    assert shelf.opened == 0
    assert [version(handle), version(handle), version(handle)] == ["one"] * 3
    assert not handle.refresh()
    assert shelf.opened == 1
    shelf.put(FakeIndex("two"))

    assert handle.refresh()
    assert version(handle) == "two"
    assert old.closed == 1


def test_no_index_is_a_state_that_ends_when_one_appears() -> None:
    shelf = Shelf(IndexMissing("No index"))
    handle = shelf.handle()
    depths = []
    for _ in range(5):
        with pytest.raises(IndexMissing, match="No index") as caught:
            version(handle)
        depths.append(len(caught.traceback))

    assert len(set(depths[1:])) == 1  # the stored error does not grow with every request
    shelf.put(FakeIndex("one"))
    assert handle.refresh()
    assert version(handle) == "one"
    assert handle.last_error is None


def test_when_the_new_index_does_not_open_the_old_one_stays_and_the_error_is_kept() -> None:
    old = FakeIndex("one")
    shelf = Shelf(old)
    handle = shelf.handle()
    handle.refresh()
    shelf.put(IndexDamaged("broken"))

    assert not handle.refresh()
    assert isinstance(handle.last_error, IndexDamaged)
    assert version(handle) == "one"
    assert old.closed == 0


def test_a_failed_opening_is_tried_again_after_a_pause_only() -> None:
    shelf = Shelf(IndexDamaged("half copied"))
    handle = shelf.handle()
    handle.refresh()
    shelf.now = FakeIndex("one")  # the files arrived, the manifest is the same

    shelf.time_s = RETRY_AFTER_S - 0.1
    assert not handle.refresh()
    shelf.time_s = RETRY_AFTER_S
    assert handle.refresh()
    assert (version(handle), shelf.opened) == ("one", 2)


def test_a_bug_in_opening_is_not_hidden() -> None:
    def broken() -> EmbeddedIndex:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        IndexHandle(broken).refresh()


def test_without_a_watch_only_a_swap_replaces_the_index() -> None:
    handle = Shelf(FakeIndex("one")).handle(watched=False)
    assert [handle.refresh(), handle.refresh()] == [True, False]
    handle.swap(cast(EmbeddedIndex, FakeIndex("two")))
    assert version(handle) == "two"


def test_a_leased_index_is_closed_when_its_last_lease_ends_also_by_a_failure() -> None:
    old, new = FakeIndex("one"), FakeIndex("two")
    handle = Shelf(old).handle()

    with handle.lease() as first:
        with handle.lease():
            handle.swap(cast(EmbeddedIndex, new))
            assert version(handle) == "two"
            assert old.closed == 0
        assert old.closed == 0
        assert cast(FakeIndex, first).search() == "one"
    assert old.closed == 1
    with pytest.raises(RuntimeError), handle.lease():
        raise RuntimeError
    handle.close()
    assert new.closed == 1
    with pytest.raises(IndexMissing):
        version(handle)


def test_sixteen_threads_search_while_the_index_is_swapped_under_them() -> None:
    made = [FakeIndex(str(n)) for n in range(80)]
    handle = Shelf(made[0]).handle()
    done = threading.Event()

    def requests() -> None:
        while not done.is_set():
            version(handle)

    with ThreadPoolExecutor(16) as pool:
        running = [pool.submit(requests) for _ in range(16)]
        handle.refresh()
        for index in made[1:]:
            handle.swap(cast(EmbeddedIndex, index))
        done.set()

    assert [future.exception() for future in running] == [None] * 16
    assert [index.closed for index in made] == [1] * 79 + [0]


def test_threads_that_arrive_first_together_open_one_index_and_all_get_it() -> None:
    entered = threading.Barrier(8)
    shelf = Shelf(FakeIndex("one"))
    handle = shelf.handle()

    def request(_: int) -> str:
        entered.wait()
        return version(handle)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(request, range(8))) == ["one"] * 8
    assert shelf.opened == 1


def test_while_one_thread_opens_the_others_go_on_with_the_old_index() -> None:
    shelf = Shelf(FakeIndex("one"))
    opening, release = threading.Event(), threading.Event()
    handle = IndexHandle(lambda: slow(), changed=lambda: shelf.state)

    def slow() -> EmbeddedIndex:
        if shelf.opened:
            opening.set()
            release.wait()
        return shelf.open()

    handle.refresh()
    shelf.put(FakeIndex("two"))
    thread = threading.Thread(target=handle.refresh)
    thread.start()
    opening.wait()

    assert not handle.refresh()
    assert version(handle) == "one"
    release.set()
    thread.join()
    assert version(handle) == "two"


def test_the_watch_sees_a_replaced_manifest_of_the_same_size(tmp_path: Path) -> None:
    assert watch(tmp_path)() is None
    assert watch(tmp_path / "absent")() is None
    assert watch("s3://bucket/key")() is None

    (tmp_path / "chroma.sqlite3").write_text("x")
    foreign = watch(tmp_path)()
    (tmp_path / "manifest.json").write_text("1")
    first = watch(tmp_path.as_uri())()
    (tmp_path / "new").write_text("2")
    (tmp_path / "new").replace(tmp_path / "manifest.json")

    assert len({foreign, first, watch(tmp_path)(), None}) == 4


def test_a_server_is_asked_for_its_version_once_in_a_while_and_the_last_one_counts_where_it_cannot_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = [0.0]
    monkeypatch.setattr(handle_module, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    answers: list[str | IndexMissing] = ["one", "two", IndexMissing("away"), "three"]

    def ask() -> str:
        answer = answers.pop(0)
        if isinstance(answer, IndexMissing):
            raise answer
        return answer

    version_now = watch("chroma://host/tenant/database", ask)
    seen = []
    for now_s[0] in (0, POLL_S - 0.1, POLL_S, 2 * POLL_S, 3 * POLL_S - 0.1, 3 * POLL_S):
        seen.append(version_now())
    assert seen == ["one", "one", "two", "two", "two", "three"]
