"""BM25 from counts alone, beside the table that bm25s makes of the same texts."""

from pathlib import Path

import numpy as np
import pytest

from knowledge.model.errors import IndexDamaged
from knowledge.search.lexical import Lexical, write_lexical
from knowledge.search.term_counts import HOLDERS_NAME, TermCounts, write_term_counts

TEXTS = [
    "Import permits take five working days.",
    "The harbour office issues permits, and permits only.",
    "Tariffs of the harbour: class 3, class 8, C++ and C#.",
    "Fees are paid at the customs desk of the harbour.",
    "A permit for a vessel costs 40 euro; a vessel's permit lasts a year.",
    "!",
    "Straße, naïve and ｆｕｌｌ width, once more.",
] + [f"Number{n} of the customs rules, {'and more ' * n}tariffs" for n in range(20)]
QUESTIONS = [
    "harbour permits", "vessel vessel permit", "class 8", "tariff number7", "nothing known", "the", "", "straße C#",
]  # fmt: skip


@pytest.fixture
def both(tmp_path: Path) -> tuple[Lexical, TermCounts]:
    table = write_lexical(tmp_path / "table", list(range(1, len(TEXTS) + 1)), TEXTS)
    counts = write_term_counts(tmp_path / "counts", TEXTS, iter(TEXTS))
    return Lexical(tmp_path / "table", table), TermCounts(tmp_path / "counts", counts)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_scores_are_those_of_the_table(both: tuple[Lexical, TermCounts], question: str) -> None:
    table, counts = both
    assert counts.scores(question, TEXTS) == pytest.approx(table.scores(question), abs=1e-5)
    assert counts.attainable(question) == pytest.approx(table.attainable(question), abs=1e-5)
    assert counts.best_score(question) >= table.best_score(question)
    assert (counts.best_score(question) > 0) == (table.best_score(question) > 0)


def test_both_know_the_same_words(both: tuple[Lexical, TermCounts]) -> None:
    table, counts = both
    assert (counts.vocabulary_size, counts.language) == (table.vocabulary_size, table.language)
    for word in ("permits", "permit", "vessel", "nothing", "zebra", "the"):
        assert counts.has(word) == table.has(word)
        for term in table.terms(word):
            assert counts.terms(word) == table.terms(word)
            assert counts.idf(term) == pytest.approx(table.idf(term), abs=1e-5)


def test_the_moments_are_near_those_of_all_scores(both: tuple[Lexical, TermCounts]) -> None:
    table, counts = both
    for question in ("harbour permits", "tariff number7", "customs rules"):
        scores = table.scores(question)
        mean, deviation = counts.moments(question)
        assert mean == pytest.approx(scores.mean(), rel=0.5)
        assert deviation == pytest.approx(scores.std(), rel=0.5)
    assert counts.moments("nothing known") == (0, 0)


def test_damage_is_told(tmp_path: Path) -> None:
    record = write_term_counts(tmp_path / "counts", TEXTS, TEXTS)
    with pytest.raises(IndexDamaged, match="not whole"):
        TermCounts(tmp_path / "counts", {key: value for key, value in record.items() if key != "length"})
    np.save(tmp_path / "counts" / HOLDERS_NAME, np.zeros(3, dtype=np.uint32))
    with pytest.raises(IndexDamaged, match=HOLDERS_NAME):
        TermCounts(tmp_path / "counts", record)
