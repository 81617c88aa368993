"""knowledge.search.wording: what was taken from one place word for word, numbers and names."""

import numpy as np
import pytest

from knowledge.cut.units import COLUMNS, END, KIND, LEAD_END, LEAD_START, START, UnitKind
from knowledge.search.language import load_stop_words
from knowledge.search.terms import Terms
from knowledge.search.wording import (
    find_names,
    find_numbers,
    find_results,
    is_verbatim,
    nearest_unit,
    other_spellings,
    parse_wording,
    unit_wordings,
)

TERMS = Terms(load_stop_words("English"))
HEAD = "Booking changes\nFees\n"
HEADER = "Carrier, VGM cut-off"
TEXT = (
    "A confirmed ocean booking can be changed free of charge until 72 hours before departure; after that each change"
    " costs SGD 50. Goods are not released, which protects the seller, before he is paid."
    f"\n{HEADER}\nKestrel Feeder, 12 hours\nTessaly Ocean, 36 hours"
)


def row(text: str, kind: UnitKind, lead: str = "") -> list[int]:
    unit = [0] * COLUMNS
    unit[START], unit[KIND] = TEXT.index(text), int(kind)
    unit[END] = unit[START] + len(text)
    if lead:
        unit[LEAD_START] = TEXT.index(lead)
        unit[LEAD_END] = unit[LEAD_START] + len(lead)
    return unit


BOOKING, GOODS = (f"{one.strip()}." for one in TEXT.split("\n", maxsplit=1)[0][:-1].split(". "))
TABLE = np.array(
    [
        row(BOOKING, UnitKind.SENTENCE),
        row(GOODS, UnitKind.SENTENCE),
        row("Kestrel Feeder, 12 hours", UnitKind.ROW, HEADER),
        row("Tessaly Ocean, 36 hours", UnitKind.ROW, HEADER),
    ]
)
PLACES = unit_wordings(parse_wording(HEAD + TEXT, TERMS), len(HEAD), TABLE)


@pytest.mark.parametrize(
    ("statement", "is_taken"),
    [
        ("A confirmed ocean booking can be changed free of charge until 72 hours before departure.", True),
        ("After that, each change costs SGD 50.", True),
        ("Goods are not released before he is paid.", True),  # a clause was left out
        ("No, goods are not released before he is paid.", False),
        ("The VGM cut-off of Kestrel Feeder: 12 hours", False),  # "of" is of nobody
        ("Kestrel Feeder VGM cut-off: 12 hours", True),  # the header gives words in any order
        ("A confirmed ocean booking can be changed free of charge until 48 hours before departure.", False),
        ("After that each change costs SGD 72.", False),  # a number of the same sentence
        ("Goods are released before he is paid.", False),
        ("Tessaly Ocean VGM cut-off: 12 hours", False),  # another row's
        ("A confirmed ocean booking can be changed free of charge from 72 hours before departure.", False),
        ("A confirmed ocean booking can be changed free of charge.", False),  # its condition was left out
        ("A confirmed ocean booking can be changed before goods are released.", False),  # two places
    ],
)
def test_a_statement_is_taken_from_one_place_word_for_word_or_not(statement: str, is_taken: bool) -> None:
    own = parse_wording(statement, TERMS).keys
    assert is_verbatim(own, nearest_unit(own, PLACES)) is is_taken


def test_two_names_that_are_in_the_title_cannot_be_exchanged() -> None:
    head, text = "Freight between Rome and Paris\n\n", "The office in Rome pays the one in Paris for freight."
    unit = [0] * COLUMNS
    unit[END], unit[KIND] = len(text), int(UnitKind.SENTENCE)
    (place,) = unit_wordings(parse_wording(head + text, TERMS), len(head), np.array([unit]))
    exchanged = "The office in Paris pays the one in Rome for freight."
    assert [is_verbatim(parse_wording(said, TERMS).keys, place) for said in (text, exchanged)] == [True, False]


# Wordings


FEW_STOP_WORDS = Terms(["the", "is", "are", "of", "not", "no", "a", "in", "for"])


def test_negations_are_one_stem_stop_words_part_nothing_and_pairs_reach_as_far_as_asked() -> None:
    texts = ("The permit is not needed for samples", "Permit isn't needed: samples")
    one, other = (parse_wording(text, FEW_STOP_WORDS) for text in texts)
    assert one.pairs() == other.pairs() == {("permit", "need"), ("need", "sampl")}
    assert [stem for stem in one.stems if stem] == [stem for stem in other.stems if stem]
    far = parse_wording("permits for small samples", FEW_STOP_WORDS)
    assert [("permit", "sampl") in far.pairs(reach) for reach in (1, 2)] == [False, True]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It costs 1,200.50 dollars", {"1200.5"}),
        ("Kept for five years from 2019", {"5", "2019"}),
        ("from 09:30 on 24.12.2025", {"9:30", "24.12.2025"}),
        ("until 6 pm", {"18"}),
        ("until 18:00", {"18"}),
        ("from 12:30 a.m. to 12 p.m.", {"0:30", "12"}),
        ("do this: 1. open it [2]", set()),
        ("$62 and thirty cents", {"62", "30"}),
    ],
)
def test_numbers_have_one_spelling(text: str, found: set[str]) -> None:
    assert find_numbers(text, FEW_STOP_WORDS) == found


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Yes. However, Dr. Kestrel of Jakarta asked the Shipping. They waited",
         [("dr",), ("kestrel",), ("jakarta",), ("shipping", "ship")]),
        ("Fees: Market Fluctuations: it may follow Jakarta prices", [("jakarta",)]),
    ],
)  # fmt: skip
def test_a_name_begins_no_sentence_is_in_no_label_and_comes_with_its_stem(
    text: str, names: list[tuple[str, ...]]
) -> None:
    assert find_names(text, FEW_STOP_WORDS) == set(map(frozenset, names))


def test_a_date_may_be_spelt_in_words_or_figures_and_one_in_either() -> None:
    assert {"january", "1"} <= other_spellings("Since 2026-01-05 one page")
    assert "1" in other_spellings("on 5 January 2026")
    assert other_spellings("on 25 pages") == set()


@pytest.mark.parametrize(
    ("text", "results"),
    [
        ("Three days cost 3 × 36 EUR = 108 EUR.", {"108"}),
        ("Three days cost 3 x 36 = 118 EUR.", set()),
        ("From 21 to 14 days, that is 21 - 14 = 7 days fewer.", {"7"}),
        ("With stacking 40 or 42 fit (2 × 20 = 40, 2 * 21 = 42).", {"40", "42"}),
        ("A year costs 12 × 9.50 = 114 US dollars, 1,200 + 2 × 300 = 1,800 in all.", {"114", "1800"}),
        ("Set limit=20 and size = 5.", set()),
        ("Version 1.2.3 × 2 = 4, and 3 × 36 tax = 108.", set()),
    ],
)
def test_the_result_of_a_right_calculation_is_told(text: str, results: set[str]) -> None:
    assert find_results(text) == results
