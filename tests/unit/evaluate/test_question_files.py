"""Files of queries, of what answers them and of labelled questions, and drafts of these."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaluate.drafting import DraftedQuestion, draft_by_template, parse_draft, spread_evenly
from evaluate.question_files import LabelledQuestion, UnusableFile, read_qrels, read_queries, read_questions
from knowledge.model.values import Chunk


def write(folder: Path, text: str) -> Path:
    path = folder / "file"
    path.write_text(text, encoding="utf-8")
    return path


def test_queries_are_read_in_order_and_blank_lines_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, '{"_id": 7, "text": "na\\u00efve"}\n\n{"_id": "b", "text": "two", "metadata": {}}\n')
    assert read_queries(path) == [("7", "naïve"), ("b", "two")]
    with pytest.raises(UnusableFile, match=r"nowhere\.jsonl cannot be read: No such file"):
        read_queries(tmp_path / "nowhere.jsonl")


@pytest.mark.parametrize(
    "line", ["nonsense", "[]", '{"_id": "a"}', '{"_id": "a", "text": 5}', '{"_id": "a\\tb", "text": "c"}']
)
def test_a_line_that_is_no_query_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(UnusableFile, match=r"line 2: not a query"):
        read_queries(write(tmp_path, '{"_id": "a", "text": "b"}\n' + line))


@pytest.mark.parametrize(
    ("text", "judgements"),
    [
        ("query-id\tcorpus-id\tscore\r\nq1\ta\t1\nq1\tb\t0\n\nq2\ta\t2\n", {"q1": {"a": 1, "b": 0}, "q2": {"a": 2}}),
        ("\ufeffQuery ID\tDocument ID\tRelevance\nq1\td1\t1\n", {"q1": {"d1": 1}}),
        ("topic iteration docno judgement\nq1  Q0   d1\t1.0\r\n", {"q1": {"d1": 1}}),
        ("q1\t0\td1\t2\n", {"q1": {"d1": 2}}),
        ("q1\td1\t-1.00\nq2\td 2\t1", {"q1": {"d1": -1}, "q2": {"d 2": 1}}),
    ],
    ids=["BEIR", "another header", "TREC", "TREC with tabs", "no header"],
)
def test_judgements_are_read_by_query(tmp_path: Path, text: str, judgements: dict[str, dict[str, int]]) -> None:
    assert read_qrels(write(tmp_path, text)) == judgements


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("q1\td1\t0.5\nq1\td1\t1\n", 1),
        ("query-id\tscore\nq1\td1\t1\n", 1),
        ("q1\td1\t1\nq1 d1 1", 2),
        ("q1\td1\t1\nquery-id\tcorpus-id\tscore", 2),
    ],
)
def test_a_line_that_is_neither_judgement_nor_header_is_named(tmp_path: Path, text: str, line: int) -> None:
    with pytest.raises(UnusableFile, match=rf"line {line}: not a judgement"):
        read_qrels(write(tmp_path, text))


def test_what_is_drafted_can_be_read_whatever_the_document_holds(tmp_path: Path) -> None:
    draft = DraftedQuestion(question="What\u2028costs\x85it?", answer="9\u20299", doc_id="fees", section="")
    (read,) = read_questions(write(tmp_path, draft.to_line(by_section=False) + "\r\n\r\n"))
    assert read == LabelledQuestion(
        question=draft.question, expected=("fees",), answer=draft.answer, answerable=True, draft=True
    )


@pytest.mark.parametrize(
    "line",
    [
        *("[]", '{"question": " "}', '{"question": "q", "answer": 7}', '{"question": "q", "answerable": "yes"}'),
        '{"question": "q", "answer": "a", "answerable": false}',
        *('{"question": "q", "expected": [7]}', '{"question": "q", "faithful": 1.1}'),
    ],
)
def test_a_line_that_is_no_question_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(UnusableFile, match=r"file:2 is no question"):
        read_questions(write(tmp_path, '{"question": "Who?"}\n' + line))


# Drafts


def chunk(text: str, number: int = 1, **more: Any) -> Chunk:
    fields = {"title": "Fees", "section": "Release > Telex", "doc_id": "F-1", "chunk_index": 0, "chunk_count": 1}
    return Chunk(number=number, text=text, **{**fields, **more})


def test_a_section_is_asked_about_in_its_own_words_unless_its_heading_asks() -> None:
    text = "See [here](https://a.example). A telex release costs SGD 45 for each set."
    (made,) = draft_by_template(chunk(text))

    assert json.loads(made.to_line(by_section=False)) == {
        "question": "What does 'Fees' say about 'Telex'?",
        "expected": ["F-1"],
        "answer": "A telex release costs SGD 45 for each set",
        "draft": True,
    }
    assert json.loads(made.to_line(by_section=True))["expected"] == ["Release > Telex"]
    (made,) = draft_by_template(chunk(text, section="How do I add time?"))
    assert made.question == "How do I add time?"


def test_rows_of_a_table_are_asked_about_after_the_section() -> None:
    text = "Every release has its price.\n\n| What | Price |\n|---|---|\n| Telex | SGD 45 |\n| Courier | SGD 60 |\n"
    assert [(made.question, made.answer) for made in draft_by_template(chunk(text))] == [
        ("What does 'Fees' say about 'Telex'?", "Every release has its price"),
        ("What does 'Fees' say about 'Telex'?", "SGD 45"),
        ("What does 'Fees' say about 'Courier'?", "SGD 60"),
    ]


def test_drafts_begin_with_every_document_once_and_are_seeded() -> None:
    chunks = [chunk(f"{doc} {n}", number=10 * doc + n, doc_id=f"d{doc}") for doc in range(5) for n in range(4)]
    drawn = spread_evenly(chunks, seed=0)
    for start in range(0, 20, 5):
        assert {one.doc_id for one in drawn[start : start + 5]} == {f"d{doc}" for doc in range(5)}
    assert spread_evenly(chunks, seed=0) == drawn
    assert spread_evenly(chunks, seed=1) != drawn


def test_a_models_question_is_taken_with_words_that_stand_in_the_passage() -> None:
    reply = 'Sure! ```json\n{"question": "what does\\n telex cost", "answer": "SGD 45"}\n```'
    passage = chunk("A telex release costs **SGD 45**.")
    assert parse_draft(reply, passage) == DraftedQuestion("what does telex cost", "SGD 45", "F-1", "Release > Telex")


@pytest.mark.parametrize(
    "reply",
    [
        *("I cannot do that.", "{not json}", '{"question": "what?", "answer": "SGD 99"}'),
        '{"question": ["what?"], "answer": "SGD 45"}',
        json.dumps({"question": "long " * 50, "answer": "SGD 45"}),
    ],
)
def test_anything_else_that_a_model_writes_is_no_question(reply: str) -> None:
    assert parse_draft(reply, chunk("A telex release costs SGD 45.")) is None
