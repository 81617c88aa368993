"""Which questions lean on the conversation: dialogues written for it, and real questions that stand alone."""

from __future__ import annotations

import pytest
from evaluation.rates import REPOSITORY, json_lines, questions, report

from rag.stages.conversation.follow_up import leans_on_history

TURNS = json_lines(REPOSITORY / "tests" / "golden" / "followups.jsonl")
STAND_ALONE = {"clapnq_dev": 0.97, "covid_faq": 0.98, "squad_v11_dev": 0.97}
"""SQuAD's questions were asked beside a passage: most of those that are flagged do lean on it ("this hymn", "he")."""


def test_precision_and_recall_on_the_dialogues() -> None:
    flagged = [turn["followup"] for turn in TURNS if leans_on_history(turn["question"])]
    report("follow-ups, precision", sum(flagged), len(flagged), floor=0.98)
    report("follow-ups, recall", sum(flagged), sum(turn["followup"] for turn in TURNS), floor=0.92)


@pytest.mark.parametrize("name", STAND_ALONE)
def test_real_questions_that_stand_alone_are_left_alone(name: str) -> None:
    asked = questions(name)
    left = sum(not leans_on_history(question) for question in asked)
    report(f"questions of {name} that count as no follow-up", left, len(asked), floor=STAND_ALONE[name])
