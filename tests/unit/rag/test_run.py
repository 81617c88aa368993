"""rag.run: what a request gathers."""

from __future__ import annotations

import pytest
from fakes import FakeClock, deadline

from rag.errors import StoreUnavailable
from rag.run import Run


def run(step: float = 1.0) -> Run:
    return Run(FakeClock(step=step), deadline())


def fail() -> int:
    raise StoreUnavailable("down")


def test_times_add_up_by_slot() -> None:
    this = run()
    assert this.time("query", int, "11", base=2) == 3
    this.time("query", int)
    this.time("gate", int)
    assert this.timings == {"query": 2000.0, "gate": 1000.0}


def test_what_raises_is_timed_too() -> None:
    this = run()
    with pytest.raises(StoreUnavailable):
        this.time("query", fail)
    assert this.timings == {"query": 1000.0}


def test_an_optional_stage_that_fails_gives_the_default_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    this = run()
    assert this.soft("cache", fail, 7) == 7
    assert this.soft("cache", lambda: 8, 7) == 8
    assert (this.skipped, this.timings) == (["cache"], {"cache": 2000.0})
    assert "cache is skipped: StoreUnavailable: down" in caplog.text


def test_whatever_it_raises() -> None:
    assert run().soft("cache", lambda: 1 // 0, 7) == 7


def test_an_interrupt_is_not_caught() -> None:
    def stop() -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run().soft("cache", stop, 7)
