"""The table of ratios, and how the rival is asked."""

from __future__ import annotations

import io

from bench.ratios import EMBEDDING, RETRIEVAL, report
from bench.rival import Rival


def test_times_are_told_in_those_of_embedding_the_question() -> None:
    embedding = [1.0] * 98 + [2.0] * 2
    retrieval = [3.0] * 98 + [8.0] * 2
    assert report({EMBEDDING: embedding, RETRIEVAL: retrieval}).splitlines()[2:] == [
        f"| {EMBEDDING} | 1.0 | 2.0 | 1.0 | 2.0 | 1.0 |",
        f"| {RETRIEVAL} | 3.0 | 8.0 | 3.0 | 8.0 | 4.0 |",
    ]


def test_the_rival_is_asked_a_line_and_answers_a_time() -> None:
    questions = io.StringIO()
    rival = Rival(questions, io.StringIO("12.5\n0.25\n"))
    assert (rival.ask('What is\n"x"?'), rival.ask("é")) == (12.5, 0.25)
    assert questions.getvalue() == '"What is\\n\\"x\\"?"\n"\\u00e9"\n'
