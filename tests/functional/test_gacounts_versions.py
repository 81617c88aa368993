"""What GaCounts says without an LLM where two editions of a guide contradict each other: what the newer one says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from functional.gacounts_service import lines, served
from functional.harness import Api

NEW = "The GaCounts reporting deadline is the 10th of the following month"
OLD = "The GaCounts reporting deadline is the 15th of the following month"
GUIDE_2025 = "https://ga.example.edu/gacounts/docs/reporting-guide-2025"


@pytest.fixture(scope="module")
def api(gacounts_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with served(gacounts_index, tmp_path_factory.mktemp("versions") / "s.sqlite") as api:
        yield api


@pytest.mark.parametrize(
    "question", ["What is the GaCounts reporting deadline?", "What is the deadline for reporting in GaCounts?"]
)
def test_the_newer_guide_s_deadline_is_the_answer(api: Api, question: str) -> None:
    body = api.ask(question).json
    assert body["relatedDocs"][0]["docId"] == "DOC-001"
    assert body["answer"].startswith(NEW)
    assert body["answer"].split("(Source: ")[1].startswith(f"{GUIDE_2025})")
    assert OLD not in body["answer"]


def test_so_it_is_in_the_conversation(api: Api) -> None:
    """The turns before "And the deadline?" as the sample's dialogue has them."""
    session: dict[str, Any] = {}
    for turn in lines("dialogue.jsonl"):
        body = api.ask(turn["question"], **session).json
        session = {"sessionId": body["sessionId"]}
        if turn["question"] == "And the deadline?":
            break
    assert body["answer"].startswith(NEW)
    assert OLD not in body["answer"]


def test_the_older_guide_is_quoted_to_who_asks_for_its_year(api: Api) -> None:
    assert OLD in api.ask("What was the GaCounts reporting deadline in 2023?").json["answer"]
