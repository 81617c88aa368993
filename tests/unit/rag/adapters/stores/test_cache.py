"""rag.adapters.stores.cache: the contract of a cache, and what its two layers make of failures."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from fakes import FakeClock
from fakes_stores import InMemoryAnswerCache
from store_contract import KEY, START, AnswerCacheContract, make_answer

from rag.adapters.stores import cache as cache_module
from rag.adapters.stores.cache import MAX_ENTRIES, MAX_ENTRY_CHARS, LayeredCache
from rag.errors import StoreUnavailable
from rag.ports import AnswerCache
from rag.values.stored import CacheHit


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(now=START)


class TestLayeredCache(AnswerCacheContract):
    @pytest.fixture
    def cache(self, clock: FakeClock) -> AnswerCache:
        return LayeredCache(InMemoryAnswerCache(clock=clock), clock=clock)


class TestLayeredCacheOfAnotherProcess(AnswerCacheContract):
    """What one process put is read by another one, whose own layer fills by reading."""

    @pytest.fixture
    def cache(self, clock: FakeClock) -> AnswerCache:
        l2 = InMemoryAnswerCache(clock=clock)
        reader = LayeredCache(l2, clock=clock)
        reader.put = l2.put  # type: ignore[method-assign]
        return reader


class SharedLayer(InMemoryAnswerCache):
    """``during_get`` runs between its read and its return."""

    during_get: Callable[[], object] = object

    def get(self, key: str) -> CacheHit | None:
        hit = super().get(key)
        self.during_get()
        return hit

    def break_down(self) -> None:
        def fail(*_: object, **__: object) -> None:
            raise StoreUnavailable("scripted")

        self.get = self.put = self.evict = fail  # type: ignore[method-assign]


@pytest.fixture
def l2(clock: FakeClock) -> SharedLayer:
    return SharedLayer(clock=clock)


@pytest.fixture
def layered(l2: SharedLayer, clock: FakeClock) -> LayeredCache:
    return LayeredCache(l2, clock=clock)


def layer(cache: AnswerCache, key: str = KEY) -> str | None:
    hit = cache.get(key)
    return hit.layer if hit else None


def test_a_hit_says_which_layer_had_it_and_clear_empties_this_process_s_alone(
    layered: LayeredCache, l2: SharedLayer
) -> None:
    assert layer(layered) is None
    l2.put(KEY, make_answer(), ttl_s=60)
    assert [layer(layered), layer(layered)] == ["l2", "l1"]
    layered.clear()
    assert layer(layered) == "l2"


def test_both_layers_have_what_was_put_and_lose_what_is_evicted(layered: LayeredCache, l2: SharedLayer) -> None:
    layered.put(KEY, make_answer(), ttl_s=60)
    assert [layer(layered), layer(l2)] == ["l1", "l2"]
    layered.evict(KEY)
    assert [layer(layered), layer(l2)] == [None, None]


@pytest.mark.parametrize("filled_by", ["put", "get"])
@pytest.mark.parametrize("later_s", [2, -1800], ids=["a minute", "clock set back"])
def test_an_eviction_elsewhere_holds_here_after_a_minute(
    layered: LayeredCache, l2: SharedLayer, clock: FakeClock, filled_by: str, later_s: float
) -> None:
    (layered if filled_by == "put" else l2).put(KEY, make_answer(), ttl_s=3600)
    layered.get(KEY)
    l2.evict(KEY)
    clock.now += 59
    assert layer(layered) == "l1"  # reading it does not prolong its life
    clock.now += later_s
    assert layer(layered) is None


def test_what_is_evicted_while_it_is_read_does_not_come_back(layered: LayeredCache, l2: SharedLayer) -> None:
    l2.put(KEY, make_answer(), ttl_s=60)
    l2.during_get = lambda: layered.evict(KEY)
    layered.get(KEY)
    assert layer(layered) is None


def test_with_the_shared_layer_down_this_process_still_has_its_own_and_evicts_it(
    layered: LayeredCache, l2: SharedLayer
) -> None:
    l2.break_down()
    with pytest.raises(StoreUnavailable):
        layered.put(KEY, make_answer(), ttl_s=60)
    assert layer(layered) == "l1"
    with pytest.raises(StoreUnavailable):
        layered.evict(KEY)
    with pytest.raises(StoreUnavailable):  # not from this process's layer
        layered.get(KEY)


def test_this_process_keeps_a_bounded_number(layered: LayeredCache, l2: SharedLayer) -> None:
    for number in range(MAX_ENTRIES + 1):
        layered.put(str(number), make_answer(str(number)), ttl_s=60)
    l2.break_down()
    assert [layer(layered, str(number)) for number in (1, MAX_ENTRIES)] == ["l1", "l1"]
    with pytest.raises(StoreUnavailable):
        layered.get("0")


def test_large_answers_stay_in_the_shared_layer(layered: LayeredCache) -> None:
    layered.put(KEY, make_answer("small"), ttl_s=60)
    layered.put(KEY, make_answer("x" * MAX_ENTRY_CHARS), ttl_s=60)
    assert [layer(layered), layer(layered)] == ["l2", "l2"]


def test_threads_may_share_it(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "MAX_ENTRIES", 4)
    cache = LayeredCache(InMemoryAnswerCache(clock=clock), clock=clock)
    start = threading.Barrier(8)

    def work(number: int) -> bool:
        start.wait()
        texts = set()
        for step in range(200):
            key = str((number + step) % 6)
            cache.put(key, make_answer(key), ttl_s=60)
            hit = cache.get(key)
            texts.add(hit is None or hit.answer.answer.text == key)
            if step % 50 == 0:
                cache.evict(key)
        return texts == {True}

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(8)))
