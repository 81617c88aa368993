"""What every test here needs: the build, and the emulator."""

import pytest
from artefacts import require_emulator


@pytest.fixture(scope="session", autouse=True)
def _emulator() -> None:
    require_emulator()
