"""The index's own words: which of a question's it has, and how it spells one that it has not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from knowledge.model.errors import IndexDamaged
from knowledge.search.lexical import Lexical, write_lexical
from knowledge.search.words import WORDS_NAME, Words

TEXTS = [
    "Demurrage is charged for each day in the terminal. Surcharge GC-409 applies from 999 kg.",
    "The price of the standard plan is what you pay. Policies of Covid-19 differ.",
    "Pierce the seal. The prince of the terminal didn't say.",
]
WHOLE = frozenset(("plane", "fail"))
"""What the embedding model has whole."""


def words(folder: Path, texts: Sequence[str] = TEXTS) -> Words:
    record = write_lexical(folder, range(1, len(texts) + 1), texts)
    return Words(folder, Lexical(folder, record), WHOLE.__contains__)


def named(of: Words, text: str) -> list[str]:
    return [text[start:end] for start, end in of.unknown(text)]


@pytest.mark.parametrize(
    ("question", "unknown"),
    [
        ("What does a policy cost?", ["does", "cost"]),  # "policy" by its stem
        ("What is GC-409?", []),
        ("What is GC-999?", ["GC-999"]),  # although "gc" and "999" are there
        ("gc409, COVID19 and Covid 19", []),
        ("demurage in the pirce", []),  # spelt nearly so
        ("the plane of teh", ["plane"]),  # a word, if another one than "plan"
        ("didn't, couldn't, I'm", []),
        ("", []),
    ],
)
def test_what_the_index_does_not_have(question: str, unknown: list[str], tmp_path: Path) -> None:
    assert named(words(tmp_path), question) == unknown


@pytest.mark.parametrize(
    ("question", "respelt"),
    [
        ("whats the pirce of the standart plan", "whats the price of the standard plan"),
        ("Demurage per dday", "demurrage per day"),
        ("the plane and a tyre", "the plane and a tyre"),
        ("GC-419", "GC-419"),  # no code is another one misspelt
        ("", ""),
    ],
)
def test_misspelt_words_are_spelt_as_the_index_does(question: str, respelt: str, tmp_path: Path) -> None:
    assert words(tmp_path).respelt(question) == respelt


def test_of_several_spellings_the_one_counts_whose_chunk_has_the_other_words(tmp_path: Path) -> None:
    of = words(tmp_path)
    assert of.respelt("prnce of the terminal") == "prince of the terminal"
    assert of.respelt("prnce of the standard plan") == "price of the standard plan"


def test_another_language_is_told_by_the_share_of_known_words(tmp_path: Path) -> None:
    of = words(tmp_path)
    assert not of.foreign("What is the price of demurrage")
    assert of.foreign("Was kostet der Container am Tag?")
    assert not of.foreign("GC-999 GC-998 GC-997")  # codes are of no language
    assert not of.foreign("Kosten Tag")  # too little to tell


CHINESE = ["员工请假需要在系统中提前三天申请，由主管批准。", "费用报销应在一个月内提交发票。"]


def test_a_script_without_blanks_is_known_by_its_pieces(tmp_path: Path) -> None:
    of = words(tmp_path, CHINESE)
    assert not of.foreign("请假需要主管批准")
    assert of.foreign("What is the price of demurrage in the terminal?")
    assert words(tmp_path / "english").foreign("请假需要主管批准")
    assert named(of, "请假需要什么手续？") == []  # pieces are no words to name
    assert of.respelt("请假需要什么手续？") == "请假需要什么手续？"
    assert "员工" not in (tmp_path / WORDS_NAME).read_text(encoding="utf-8")


def test_without_the_file_nothing_is_unknown(tmp_path: Path) -> None:
    of = words(tmp_path)
    (tmp_path / WORDS_NAME).write_bytes(b"\xff")
    lexical = of._lexical
    with pytest.raises(IndexDamaged, match="words"):
        Words(tmp_path, lexical, WHOLE.__contains__)
    (tmp_path / WORDS_NAME).unlink()
    silent = Words(tmp_path, lexical, WHOLE.__contains__)
    assert silent.unknown("GC-999 llama") == ()
    assert silent.respelt("pirce") == "pirce"
