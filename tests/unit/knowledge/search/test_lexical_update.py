"""BM25 of an index that was changed is that of one made anew."""

from pathlib import Path

import numpy as np

from knowledge.search.lexical import Lexical, write_lexical
from knowledge.search.lexical_update import update_lexical
from knowledge.search.words import load_words

BEFORE = {
    1: "The harbour fee is due. The fee of GC-409 is 3 euros.",
    2: "Cats and dogs don't pay a fee, cats never.",
    3: "...",
    5: "The ships of Class 3 wait outside the harbour.",
}
AFTER = {
    1: BEFORE[1],
    3: BEFORE[3],
    5: "The ships of class 4 leave the Harbour by night.",
    6: "The fees of GC-500 are due by night and by the day.",
}
ASKED = ["harbour fee", "cats", "class 4", "night fees gc-500", "", "class 3 ships ships"]


def test_scores_vocabulary_and_words_are_those_of_all_texts_anew(tmp_path: Path) -> None:
    before = write_lexical(tmp_path / "before", list(BEFORE), BEFORE.values())
    anew = write_lexical(tmp_path / "anew", list(AFTER), AFTER.values())

    now = update_lexical(
        tmp_path / "now", tmp_path / "before", before,
        numbers=list(AFTER), fresh={5: AFTER[5], 6: AFTER[6]}, gone=[BEFORE[2], BEFORE[5]],
    )  # fmt: skip

    assert now == anew
    updated, made = Lexical(tmp_path / "now", now), Lexical(tmp_path / "anew", anew)
    assert updated.numbers.tolist() == [1, 3, 5, 6]
    for text in ASKED:
        assert updated.scores(text).tolist() == made.scores(text).tolist()
    assert not updated.has("cats")
    assert np.count_nonzero(updated.scores("night")) == 2
    assert load_words(tmp_path / "now") == load_words(tmp_path / "anew")
    assert "gc409" in load_words(tmp_path / "now")
    assert "cats" not in load_words(tmp_path / "now")
