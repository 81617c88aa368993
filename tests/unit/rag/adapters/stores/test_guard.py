"""rag.adapters.stores.guard: how long a question waits for its stores, and when it does not even try."""

import threading
from collections.abc import Callable

import pytest
from fakes import Machine

from rag.adapters.stores.guard import COOL_OFF_S, MAX_ABANDONED, VOTE_BUDGET_S, WRITE_BUDGET_S, StoreGuard
from rag.errors import StoreOutOfReach, StoreUnavailable

WAIT_S = 0.1


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def cold(machine: Machine) -> StoreGuard:
    """That of an environment which has called nobody yet."""
    return StoreGuard(WAIT_S, clock=machine.clock, wall=machine.clock, run=machine.run)


@pytest.fixture
def guard(cold: StoreGuard, machine: Machine) -> StoreGuard:
    assert ask(cold) == "answered"
    machine.limits.clear()
    return cold


def answer() -> str:
    return "answered"


def out_of_reach() -> str:
    raise StoreOutOfReach("no connection")


def refuse() -> str:
    raise StoreUnavailable("access denied")


def ask(guard: StoreGuard, call: Callable[[], str] = answer) -> str:
    """What a question reads, or why it does not."""
    with guard.question():
        try:
            return guard.read(call)
        except StoreUnavailable as exc:
            return str(exc).partition(",")[0]


NOT_TRIED = "not tried"
TOO_LONG = "the store took longer than 100 ms"


def test_making_the_client_is_not_the_store_s_slowness(machine: Machine) -> None:
    """Without a snapshot the first question imports and makes it, which takes longer than a question may wait."""

    def make() -> None:
        machine.clock.now += 10 * WAIT_S

    guard = StoreGuard(WAIT_S, clock=machine.clock, wall=machine.clock, run=machine.run, prepare=make)
    with guard.question():
        assert [guard.read(answer), guard.write(answer)] == ["answered", "answered"]


def test_what_a_question_reads_shares_one_budget_and_what_it_writes_another(
    guard: StoreGuard, machine: Machine
) -> None:
    machine.takes_s = 0.04
    with guard.question():
        assert [guard.read(answer), guard.read(answer)] == ["answered", "answered"]
        with pytest.raises(StoreUnavailable, match="longer than 20 ms"):
            guard.read(answer)
        machine.finish()
        with pytest.raises(StoreUnavailable, match="time for stores is spent"):
            guard.read(answer)
        assert guard.write(answer) == "answered"
        machine.takes_s = 60.0
        with pytest.raises(StoreUnavailable, match="longer than 960 ms"):
            guard.write(answer)
    assert machine.limits == pytest.approx([WAIT_S, 0.06, 0.02, WRITE_BUDGET_S, WRITE_BUDGET_S - 0.04])
    assert machine.clock.now == pytest.approx(1000.0 + WAIT_S + WRITE_BUDGET_S), "and not a moment more"


def test_the_first_call_of_an_environment_may_be_slow_and_shuts_nothing(cold: StoreGuard, machine: Machine) -> None:
    for _ in range(2):
        machine.takes_s = 0.5
        with cold.question():
            with pytest.raises(StoreUnavailable, match="longer than"):
                cold.read(answer)
            assert cold.write(answer) == "answered"
        cold.reset()


def test_the_second_that_takes_too_long_shuts_it_until_it_is_restored_elsewhere(
    cold: StoreGuard, machine: Machine
) -> None:
    machine.takes_s = 60.0
    assert [ask(cold), ask(cold), ask(cold)] == [TOO_LONG, TOO_LONG, NOT_TRIED]
    cold.reset()
    machine.takes_s = 0.0
    assert ask(cold) == "answered"


@pytest.mark.parametrize(("call", "then"), [(answer, "answered"), (out_of_reach, NOT_TRIED), (refuse, NOT_TRIED)])
def test_after_a_call_that_takes_too_long_nobody_tries_until_it_has_answered(
    guard: StoreGuard, machine: Machine, call: Callable[[], str], then: str
) -> None:
    machine.takes_s = 3.0
    assert [ask(guard, call), ask(guard)] == [TOO_LONG, NOT_TRIED]
    machine.clock.now += 1
    machine.finish()
    machine.takes_s = 0.0
    assert ask(guard) == then


def test_then_one_call_tries_for_all(guard: StoreGuard, machine: Machine) -> None:
    machine.takes_s = 60.0
    assert ask(guard) == TOO_LONG
    machine.clock.now += COOL_OFF_S + 1
    assert [ask(guard), ask(guard)] == [TOO_LONG, NOT_TRIED]
    machine.clock.now += COOL_OFF_S + 1
    machine.takes_s = 0.0
    assert [ask(guard), ask(guard)] == ["answered", "answered"]


def test_a_store_that_never_answers_is_not_given_thread_after_thread(guard: StoreGuard, machine: Machine) -> None:
    machine.takes_s = 60.0
    for _ in range(3 * MAX_ABANDONED):
        ask(guard)
        machine.clock.now += COOL_OFF_S + 1
    assert (len(machine.running), ask(guard)) == (MAX_ABANDONED, NOT_TRIED)
    guard.reset()
    machine.takes_s = 0.0
    assert ask(guard) == "answered", "restored elsewhere, it has no thread of then"


@pytest.mark.parametrize("jump_s", [3600.0, -3600.0], ids=["frozen for long", "clock set back"])
def test_an_outage_of_another_time_does_not_count(guard: StoreGuard, machine: Machine, jump_s: float) -> None:
    assert [ask(guard, out_of_reach), ask(guard)] == ["no connection", NOT_TRIED]
    machine.clock.now += jump_s
    assert ask(guard) == "answered"


def test_what_is_refused_at_once_keeps_nobody_from_trying(guard: StoreGuard) -> None:
    assert [ask(guard, refuse), ask(guard)] == ["access denied", "answered"]


def test_a_vote_waits_longer_and_whatever_questions_found(guard: StoreGuard, machine: Machine) -> None:
    assert ask(guard, out_of_reach) == "no connection"
    machine.takes_s = 3.0
    assert guard.write(answer) == "answered"
    assert machine.limits[-1] == VOTE_BUDGET_S
    machine.takes_s = 0.0
    assert ask(guard) == "answered", "it has shown that the store answers"


@pytest.mark.parametrize(("vote_s", "budget_s"), [(27.0, VOTE_BUDGET_S), (2.0, 2.0)], ids=["its own", "a request's"])
def test_a_vote_s_calls_share_its_time(machine: Machine, vote_s: float, budget_s: float) -> None:
    guard = StoreGuard(WAIT_S, vote_s=vote_s, clock=machine.clock, wall=machine.clock, run=machine.run)
    machine.takes_s = budget_s - 0.75
    with guard.vote():
        assert guard.read(answer) == "answered"
        with pytest.raises(StoreUnavailable, match="longer than 750 ms"):
            guard.write(answer)
        with pytest.raises(StoreUnavailable, match="time for stores is spent"):
            guard.write(answer)
    assert [round(limit, 6) for limit in machine.limits] == [budget_s, 0.75]


def test_in_threads_too_a_late_answer_opens_the_way() -> None:
    """The same with real threads; the limit is one that nothing here can keep."""
    release, ended = threading.Event(), threading.Event()

    def slow() -> str:
        release.wait(600)
        ended.set()
        return "late"

    guard = StoreGuard(0.001)
    with guard.vote():
        guard.read(answer)
    assert [ask(guard, slow), ask(guard)] == ["the store took longer than 1 ms", NOT_TRIED]
    release.set()
    assert ended.wait(600)
    for _ in range(60_000):
        if not guard._is_open():
            break
        threading.Event().wait(0.01)
    assert not guard._is_open()
