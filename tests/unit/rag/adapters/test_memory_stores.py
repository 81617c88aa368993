"""The stores in memory keep the contract, and so does the layered cache in front of one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from fakes import FakeClock
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from store_contract import (
    KEY,
    OTHER_KEY,
    START,
    AnswerCacheContract,
    FeedbackContract,
    MemoryContract,
    make_answer,
    make_response,
)

from rag.adapters.layered_cache import MAX_ENTRIES, MAX_ENTRY_CHARS, LayeredCache
from rag.adapters.memory_stores import InMemoryAnswerCache, InMemoryFeedback, InMemoryMemory
from rag.adapters.store_format import decode_answer, decode_response, decode_turn, encode_answer
from rag.errors import StoreUnavailable
from rag.ports import AnswerCache
from rag.values.stored import CacheHit, Layer, Turn, quantise


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(now=START)


class TestInMemoryAnswerCache(AnswerCacheContract):
    @pytest.fixture
    def cache(self, clock: FakeClock) -> AnswerCache:
        return InMemoryAnswerCache(clock=clock)


class TestInMemoryMemory(MemoryContract):
    @pytest.fixture
    def memory(self, clock: FakeClock) -> InMemoryMemory:
        return InMemoryMemory(clock=clock)


class TestInMemoryFeedback(FeedbackContract):
    @pytest.fixture
    def feedback(self, clock: FakeClock) -> InMemoryFeedback:
        return InMemoryFeedback(clock=clock)


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


class BrokenCache(InMemoryAnswerCache):
    """A shared layer that is down while ``down``; ``during_get`` runs between its read and its return."""

    down = False
    during_get: Callable[[], object] | None = None

    def get(self, key: str) -> CacheHit | None:
        self._check()
        hit = super().get(key)
        if self.during_get:
            self.during_get()
        return hit

    def put(self, *args: object, **kwargs: object) -> None:
        self._check()
        super().put(*args, **kwargs)  # type: ignore[arg-type]

    def evict(self, key: str) -> None:
        self._check()
        super().evict(key)

    def _check(self) -> None:
        if self.down:
            raise StoreUnavailable("scripted")


@pytest.fixture
def l2(clock: FakeClock) -> BrokenCache:
    return BrokenCache(clock=clock)


@pytest.fixture
def layered(l2: BrokenCache, clock: FakeClock) -> LayeredCache:
    return LayeredCache(l2, clock=clock)


def layer(cache: AnswerCache, key: str = KEY) -> Layer | None:
    hit = cache.get(key)
    return hit.layer if hit else None


def test_a_hit_says_which_layer_had_it(layered: LayeredCache, l2: BrokenCache) -> None:
    assert layer(layered) is None
    l2.put(KEY, make_answer(), ttl_s=60)
    assert layer(layered) == "l2"
    assert layer(layered) == "l1"


def test_what_is_put_is_in_both_layers(layered: LayeredCache, l2: BrokenCache) -> None:
    layered.put(KEY, make_answer(), ttl_s=60)
    assert layer(layered) == "l1"
    assert layer(l2) == "l2"


def test_a_hit_is_the_same_from_either_layer(layered: LayeredCache, l2: BrokenCache) -> None:
    layered.put(KEY, make_answer(parts={"sources": ("a", "b")}), ttl_s=600)
    near, far = layered.get(KEY), l2.get(KEY)
    assert near
    assert near == replace(far, layer="l1")  # type: ignore[type-var]
    assert near.answer.parts == {"sources": ["a", "b"]}


@pytest.mark.parametrize("filled_by", ["put", "get"])
def test_an_eviction_elsewhere_holds_here_after_a_minute(
    layered: LayeredCache, l2: BrokenCache, clock: FakeClock, filled_by: str
) -> None:
    (layered if filled_by == "put" else l2).put(KEY, make_answer(), ttl_s=3600)
    layered.get(KEY)
    l2.evict(KEY)
    clock.now += 59
    assert layer(layered) == "l1"  # reading it does not prolong its life
    clock.now += 2
    assert layer(layered) is None


def test_a_clock_that_was_set_back_does_not_prolong_an_entry_s_life(
    layered: LayeredCache, l2: BrokenCache, clock: FakeClock
) -> None:
    layered.put(KEY, make_answer(), ttl_s=3600)
    l2.evict(KEY)
    clock.now -= 1800
    assert layer(layered) is None


def test_an_eviction_takes_both_layers(layered: LayeredCache, l2: BrokenCache) -> None:
    layered.put(KEY, make_answer(), ttl_s=60)
    layered.evict(KEY)
    assert layer(layered) is None
    assert layer(l2) is None


def test_what_is_evicted_while_it_is_read_does_not_come_back(layered: LayeredCache, l2: BrokenCache) -> None:
    l2.put(KEY, make_answer(), ttl_s=60)
    l2.during_get = lambda: layered.evict(KEY)
    layered.get(KEY)
    l2.during_get = None
    assert layer(layered) is None


def test_with_the_shared_layer_down_this_process_still_has_its_own(layered: LayeredCache, l2: BrokenCache) -> None:
    l2.down = True
    with pytest.raises(StoreUnavailable):
        layered.put(KEY, make_answer(), ttl_s=60)
    assert layer(layered) == "l1"
    with pytest.raises(StoreUnavailable):
        layered.get(OTHER_KEY)


def test_an_eviction_that_the_shared_layer_missed_is_told_and_holds_here(
    layered: LayeredCache, l2: BrokenCache
) -> None:
    layered.put(KEY, make_answer(), ttl_s=60)
    l2.down = True
    with pytest.raises(StoreUnavailable):
        layered.evict(KEY)
    with pytest.raises(StoreUnavailable):  # not from this process's layer
        layered.get(KEY)


def test_this_process_keeps_a_bounded_number(layered: LayeredCache, l2: BrokenCache) -> None:
    for number in range(MAX_ENTRIES + 1):
        layered.put(str(number), make_answer(str(number)), ttl_s=60)
    l2.down = True
    assert layer(layered, str(MAX_ENTRIES)) == "l1"
    assert layer(layered, "1") == "l1"
    with pytest.raises(StoreUnavailable):
        layered.get("0")


def test_large_answers_stay_in_the_shared_layer(layered: LayeredCache) -> None:
    layered.put(KEY, make_answer("small"), ttl_s=60)
    layered.put(KEY, make_answer("x" * MAX_ENTRY_CHARS), ttl_s=60)
    assert [layer(layered), layer(layered)] == ["l2", "l2"]


def test_clear_empties_this_process_s_layer_only(layered: LayeredCache) -> None:
    layered.put(KEY, make_answer(), ttl_s=60)
    layered.clear()
    assert layer(layered) == "l2"


def test_threads_may_share_it(clock: FakeClock) -> None:
    cache = LayeredCache(InMemoryAnswerCache(clock=clock), clock=clock, max_entries=4)
    start = threading.Barrier(8)

    def work(number: int) -> bool:
        start.wait()
        texts = set()
        for step in range(200):
            key = str((number + step) % 6)
            cache.put(key, make_answer(key), ttl_s=60)
            hit = cache.get(key)
            texts.add(hit is None or hit.answer.text == key)
            if step % 50 == 0:
                cache.evict(key)
        return texts == {True}

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(8)))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"format":99,"text":"from another release"}'])
def test_what_another_release_wrote_reads_as_absent(text: str) -> None:
    assert decode_answer(text) is None
    assert decode_turn(text) is None
    assert decode_response(text) is None


def test_an_answer_s_scores_may_be_numpy_s() -> None:
    body = encode_answer(make_answer(top_score=np.float32(0.5)))
    assert body
    decoded = decode_answer(body)
    assert decoded
    assert decoded.top_score == 0.5


def test_whose_vote_it_is() -> None:
    assert make_response("r1", session_id="s").voter == "s"
    assert make_response("r1", session_id=None).voter == "r1"


@given(st.integers(0, 2**32 - 1), st.sampled_from([384, 3072]), st.floats(-1, 1))
def test_quantised_vectors_keep_their_cosine(seed: int, dimensions: int, mix: float) -> None:
    random = np.random.default_rng(seed)
    first, noise = random.normal(size=(2, dimensions))
    second = mix * first + (1 - abs(mix)) * noise
    stored = [np.frombuffer(quantise(vector), np.int8).astype(np.float64) for vector in (first, second)]
    assert cosine(*stored) == pytest.approx(cosine(first, second), abs=0.01)


@given(arrays.arrays(np.float32, st.integers(0, 8), elements=st.floats(-1, 1, width=32)))
def test_any_vector_is_one_byte_a_dimension(vector: np.ndarray) -> None:
    values = np.frombuffer(quantise(vector), np.int8)
    assert values.shape == vector.shape
    assert not values.size or not vector.any() or int(np.abs(values.astype(int)).max()) == 127


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def test_a_turn_of_before_the_users_own_words_were_kept_is_read() -> None:
    text = '{"format":2,"question":"Which permit?","answer":"TradeNet.","at":1.5,"sources":["u"]}'
    turn = decode_turn(text)
    assert turn == Turn(question="Which permit?", answer="TradeNet.", at=1.5, sources=("u",))
    assert turn.asked == "Which permit?"
