"""rag.text.clauses: an answer cut where a new statement may begin."""

from __future__ import annotations

import pytest

from rag.text.clauses import Clause, split_clauses


def clauses(answer: str) -> list[str]:
    return [clause.text for clause in split_clauses(answer) if clause.text]


@pytest.mark.parametrize(
    ("answer", "texts"),
    [
        ("It says so. It says more!", ["it says so", "it says more"]),
        ("It does not say, but you can see it.", ["it does not say", "you can see it"]),
        ("It says X; however, Y", ["it says x", "y"]),
        ("Answer: it does \u2013 now and then", ["answer", "it does", "now and then"]),
        ("Not said, so I cannot tell, and they do not.", ["not said", "i cannot tell", "they do not"]),
        ("no timers, and no reports", ["no timers, and no reports"]),
        ("Files such as .csv, e.g. reports (see above), count.", ["files such as .csv, reports , count"]),
        ("**I don\u2019t** know", ["i don't know"]),
        ("## Title\n\n1. one\n- two", ["title", "one", "two"]),
        ("\u201cSo\u201d `it` is", ["so it is"]),
    ],
)  # fmt: skip
def test_where_clauses_begin(answer: str, texts: list[str]) -> None:
    assert clauses(answer) == texts


@pytest.mark.parametrize(
    "answer",
    [
        "It is so [id_3].",
        "It is so. [id_3]",
        "It is so \u3010id_3\u3011.",
        "It is so (id_3).",
        "It is so id_3.",
        "It is so [Title > Section].",
        "It is so (Source: Handbook).",
        "It is so https://a.example/x.",
        "It is [so](https://a.example/x).",
    ],
)
def test_every_profiles_citations_are_seen(answer: str) -> None:
    [clause] = [clause for clause in split_clauses(answer) if clause.text]
    assert clause == Clause("it is so", cited=True, asks=False, listed=False)


def test_questions_and_lists() -> None:
    found = list(split_clauses("Is it?\nIt covers:\n- timers\n- reports [id_3]\n\nEnd"))
    assert found == [
        Clause("is it", cited=False, asks=True, listed=False),
        Clause("it covers", cited=False, asks=False, listed=False),
        Clause("timers", cited=False, asks=False, listed=True),
        Clause("reports", cited=True, asks=False, listed=True),
        Clause("end", cited=False, asks=False, listed=False),
    ]
