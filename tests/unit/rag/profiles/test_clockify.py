"""rag.profiles.clockify: what its numbers become."""

from __future__ import annotations

import pytest

from rag.profiles.clockify import Knobs
from rag.settings import load


@pytest.mark.parametrize("address", ["http://ollama:11434", "http://ollama:11434/", "http://ollama:11434/v1/"])
def test_ollamas_address_with_and_without_v1(address: str) -> None:
    knobs = load(Knobs, {"RAG_OLLAMA_URL": address})
    assert (knobs.llm_base_url, knobs.llm_chosen) == ("http://ollama:11434/v1", True)


@pytest.mark.parametrize(
    ("environ", "count"),
    [
        ({}, 2),
        ({"DEFAULT_PACK_TOP": "1"}, 1),
        ({"DEFAULT_TOP_K": "1"}, 1),
        ({"MIN_COVERING_CHUNKS": "3"}, 3),
        ({"MIN_COVERING_CHUNKS": "9"}, 8),
    ],
)
def test_the_gate_asks_for_no_more_chunks_than_there_can_be(environ: dict[str, str], count: int) -> None:
    assert load(Knobs, environ).gate_count == count
