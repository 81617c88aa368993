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
