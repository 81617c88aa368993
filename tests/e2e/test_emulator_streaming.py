"""The built function with ``Streaming=on`` under the emulator: our runtime in place of Lambda's, and the same answers.

The emulator hands on a streamed response in one piece; that each piece leaves at once, and what a snapshot asks of a
runtime, is shown in tests/integration/test_streaming_runtime.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from artefacts import ROOT, require_emulator
from fakes_llm import LlmServer, drip
from functional.golden import differences, normalise

from emulator.session import Invocation, Session, built

pytestmark = pytest.mark.build

EVENTS = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "tests/events").glob("*.json"))
}
ON = {"Streaming": "on"}
