"""What holds for every integration test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import real_model


@pytest.fixture(scope="module", autouse=True)
def few_background_questions() -> Iterator[None]:
    """The default of this folder."""
    with real_model.few_background_questions():
        yield


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers of this machine are called directly, whatever it sets for others."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
