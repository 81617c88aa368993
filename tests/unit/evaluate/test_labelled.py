"""evaluate.labelled: a file of questions, as people and --make-questions write it."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluate.drafting import Draft
from evaluate.errors import UnusableFile
from evaluate.labelled import LabelledQuestion, read_questions


def test_what_is_drafted_can_be_read_whatever_the_document_holds(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    draft = Draft(question="What\u2028costs\x85it?", answer="9\u20299", doc_id="fees", section="")
    path.write_text(draft.line(by_section=False) + "\r\n\r\n", encoding="utf-8")

    (read,) = read_questions(path)

    assert read == LabelledQuestion(
        question=draft.question, expected=("fees",), answer=draft.answer, answerable=True, draft=True
    )


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        '{"question": " "}',
        '{"question": "q", "answer": 7}',
        '{"question": "q", "answer": "a", "answerable": false}',
    ],
)
def test_a_line_that_is_no_question_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"question": "Who?"}\n' + line, encoding="utf-8")
    with pytest.raises(UnusableFile, match=r"q\.jsonl:2 is no question"):
        read_questions(path)
