"""What tests/attacks counts goes with each test's report; tests/conftest.py prints it, where xdist's workers meet."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from attacks.tally import taken


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    try:
        return (yield)
    finally:
        item.user_properties.extend(taken())
