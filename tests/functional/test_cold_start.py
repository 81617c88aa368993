"""The first request of an environment without a snapshot: its caller has waited for the init already."""

from __future__ import annotations

import time

import pytest
from awslambdaric.lambda_runtime_hooks_runner import run_after_restore, run_before_snapshot
from fakes import FakeClock
from fakes_llm import LlmServer, reply
from functional.harness import IN_SCOPE, Start

from cold_start import ColdStart


def test_the_first_request_alone_waited_for_the_init() -> None:
    cold_start = ColdStart(8.0, FakeClock())
    assert [cold_start.waited_s(), cold_start.waited_s()] == [8.0, 0.0]


def test_a_request_that_comes_long_after_the_init_did_not_wait_for_it() -> None:
    clock = FakeClock()
    cold_start = ColdStart(8.0, clock)
    clock.now += 60
    assert cold_start.waited_s() == 0.0


@pytest.mark.parametrize(("restored", "first"), [(False, 503), (True, 200)])
def test_the_init_counts_on_the_first_deadline_unless_a_snapshot_was_taken(
    with_llm: Start, restored: bool, first: int
) -> None:
    with LlmServer([reply("Yes. [Singapore Import Permits and TradeNet]")]) as server:
        api = with_llm(server)
        api.app.cold_start._init_s, api.app.cold_start._done_at = 28.0, time.monotonic() + 3600
        if restored:
            run_before_snapshot()
            run_after_restore()
        assert [api.ask(IN_SCOPE).status, api.ask(IN_SCOPE).status] == [first, 200]
