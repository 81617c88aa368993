"""The first request of an environment without a snapshot: its caller has waited for the init already."""

from __future__ import annotations

from fakes import FakeClock

from cold_start import ColdStart


def test_the_first_request_alone_waited_for_the_init() -> None:
    cold_start = ColdStart(8.0, FakeClock())
    assert [cold_start.waited_s(), cold_start.waited_s()] == [8.0, 0.0]


def test_a_request_that_comes_long_after_the_init_did_not_wait_for_it() -> None:
    clock = FakeClock()
    cold_start = ColdStart(8.0, clock)
    clock.now += 60
    assert cold_start.waited_s() == 0.0
