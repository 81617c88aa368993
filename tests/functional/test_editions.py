"""Two editions of one page, which differ: the newer is read first, and who goes by the older is told."""

import re

import pytest
import real_model
from fakes_llm import LlmServer
from functional.gacounts_service import of_llm
from functional.harness import Json, Reply, starting

HOLIDAYS = re.compile(r"^\[(\d)\] Holidays and leave \((.*)\)$", re.MULTILINE)


def answered(factory: pytest.TempPathFactory, wanted: str) -> Reply:
    """Ask a model that copies the sentence with ``wanted`` days and cites the passage that has it."""

    def write(request: Json) -> str:
        context: str = request["messages"][0]["content"]
        dates[:] = HOLIDAYS.findall(context)
        sentence = re.search(rf"Full-time staff have {wanted} working days of holiday a year", context)
        assert sentence is not None
        return f"{sentence[0]} [{HOLIDAYS.findall(context[: sentence.start()])[-1][0]}]."

    dates: list[tuple[str, str]] = []
    with LlmServer(answer=write) as server, starting(real_model.sample_index("house", factory)) as start:
        reply = start(RAG_PROFILE="house", **of_llm(server.url)).ask("How many days of holiday do I get?")
    assert dates[:2] == [("1", "2026-01-05"), ("2", "2025-01-07")]
    return reply


def test_a_statement_of_the_older_edition_is_medium_and_says_so(tmp_path_factory: pytest.TempPathFactory) -> None:
    newer, older = (answered(tmp_path_factory, days).json for days in ("27", "25"))
    assert newer["answer"] == "Full-time staff have 27 working days of holiday a year [1]."
    assert newer["confidence"]["level"] == "High"
    assert older["answer"] == "Full-time staff have 25 working days of holiday a year [1]."
    assert (older["confidence"]["level"], older["confidence"]["score"]) == ("Medium", 74.0)
    assert older["confidence"]["reason"].endswith("a newer edition differs")
