"""A folder all in German, and one German page among English ones: answers with a confidence, and no odd remarks."""

from pathlib import Path

import pytest
import real_model
from evaluation.rates import report

from knowledge.build.ingest import ingest
from knowledge.read.documents import read
from rag.values.answer import Answer
from rag.values.chat import Deadline
from rag.values.question import Question
from rag.wiring.application import build_application
from ragctl.options import read_settings

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_settings")]

FOLDER = Path(__file__).parent / "german"
"""The rules of a small firm. ``questions.tsv`` has questions in other words with words of the answer, or ``-``."""
ASKED = [tuple(line.split("\t")) for line in (FOLDER / "questions.tsv").read_text(encoding="utf-8").splitlines()]


def answers(index: Path) -> dict[str, Answer]:
    pipeline = build_application(read_settings(index=str(index), profile="house")).pipeline
    deadline = Deadline.after(600.0, pipeline.clock)
    return {question: pipeline.run(Question(text=question), deadline=deadline) for question, _ in ASKED}


def test_right_answers_in_german_are_not_low(tmp_path: Path) -> None:
    ingest(read([FOLDER]).documents, target=tmp_path / "index", embedder=real_model.model())
    found = answers(tmp_path / "index")
    known = {question: words for question, words in ASKED if words != "-"}
    right = [found[question] for question, words in known.items() if words in found[question].text]
    declined = [question for question, words in ASKED if words == "-" and not found[question].citations]
    report("answers in German that are right", len(right), len(known), 0.66)
    report("of them Medium or High", sum(one.confidence.level != "Low" for one in right), len(right), 0.75)
    report("unanswerable in German, declined", len(declined), len(ASKED) - len(known), 0.6)


def test_a_german_page_among_english_ones_is_found_and_nothing_is_said_of_its_grammar(tmp_path: Path) -> None:
    german = read([FOLDER / "urlaub.md"]).documents
    english = read([real_model.SAMPLES / "waypoint"]).documents
    ingest([*german, *english], target=tmp_path / "index", embedder=real_model.model())
    found = answers(tmp_path / "index")
    leave = found["Bis wann muss ich Resturlaub nehmen?"]
    assert "31. März" in leave.text
    assert leave.confidence.level != "Low"
    assert [one.text for one in found.values() if "do not mention" in one.text] == []
    assert all(found[question].confidence.level == "Low" for question, words in ASKED if words == "-")
