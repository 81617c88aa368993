"""knowledge.search.copied: what was taken from one place, word for word, and what was changed on the way."""

import numpy as np
import pytest

from knowledge.cut.quote_spans import COLUMNS, END, KIND, LEAD_END, LEAD_START, START, Kind
from knowledge.model.claims import Fidelity
from knowledge.search.copied import copied, nearest, places_of
from knowledge.search.language import stop_words_of
from knowledge.search.terms import Terms
from knowledge.search.wording import NOT, names, wording

TERMS = Terms(stop_words_of("English"))
HEAD = "Booking changes\nFees\n"
HEADER = "Carrier, VGM cut-off"
TEXT = (
    "A confirmed ocean booking can be changed free of charge until 72 hours before departure; after that each change"
    " costs SGD 50. Goods are not released, which protects the seller, before he is paid."
    f"\n{HEADER}\nKestrel Feeder, 12 hours\nTessaly Ocean, 36 hours"
)


def row(text: str, kind: Kind, lead: str = "") -> list[int]:
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
        row(BOOKING, Kind.SENTENCE),
        row(GOODS, Kind.SENTENCE),
        row("Kestrel Feeder, 12 hours", Kind.ROW, HEADER),
        row("Tessaly Ocean, 36 hours", Kind.ROW, HEADER),
    ]
)
PLACES = places_of(wording(HEAD + TEXT, TERMS), len(HEAD), TABLE)


@pytest.mark.parametrize(
    ("statement", "how"),
    [
        ("A confirmed ocean booking can be changed free of charge until 72 hours before departure.", Fidelity.SAME),
        ("After that, each change costs SGD 50.", Fidelity.SAME),
        ("Goods are not released before he is paid.", Fidelity.SAME),  # a clause was left out
        ("No, goods are not released before he is paid.", Fidelity.REWORDED),
        ("The VGM cut-off of Kestrel Feeder: 12 hours", Fidelity.REWORDED),  # "of" is of nobody
        ("Kestrel Feeder VGM cut-off: 12 hours", Fidelity.SAME),  # the header gives words in any order
        ("A confirmed ocean booking can be changed free of charge until 48 hours before departure.", Fidelity.CHANGED),
        ("A confirmed ocean booking can be changed free of charge until 72 days before departure.", Fidelity.CHANGED),
        ("After that each change costs SGD 72.", Fidelity.CHANGED),  # a number of the same sentence
        ("Goods are released before he is paid.", Fidelity.CHANGED),
        (
            "A confirmed ocean booking cannot be changed free of charge until 72 hours before departure.",
            Fidelity.CHANGED,
        ),
        ("Tessaly Ocean VGM cut-off: 12 hours", Fidelity.CHANGED),  # another row's
        ("A confirmed ocean booking can be changed free of charge from 72 hours before departure.", Fidelity.REWORDED),
        ("A confirmed ocean booking can be changed free of charge.", Fidelity.REWORDED),  # its condition was left out
        ("A confirmed ocean booking can be changed before goods are released.", Fidelity.REWORDED),  # two places
        ("Change your sailing at no cost up to three days ahead.", Fidelity.REWORDED),
    ],
)
def test_a_statement_is_taken_from_one_place_or_told_by_what_was_changed(statement: str, how: Fidelity) -> None:
    own = wording(statement, TERMS).keys
    assert copied(own, nearest(own, PLACES)) is how


@pytest.mark.parametrize(
    ("statement", "how"),
    [
        ("The office in Rome pays the one in Paris for freight.", Fidelity.SAME),
        ("The office in Paris pays the one in Rome for freight.", Fidelity.REWORDED),
    ],
)
def test_two_names_that_are_in_the_title_cannot_be_exchanged(statement: str, how: Fidelity) -> None:
    head, text = "Freight between Rome and Paris\n\n", "The office in Rome pays the one in Paris for freight."
    unit = [0] * COLUMNS
    unit[END], unit[KIND] = len(text), int(Kind.SENTENCE)
    own, places = wording(statement, TERMS).keys, places_of(wording(head + text, TERMS), len(head), np.array([unit]))
    assert copied(own, places[0]) is how


# Wordings


FEW_STOP_WORDS = Terms(["the", "is", "are", "of", "not", "no", "a", "in", "for"])


def test_negations_are_one_stem_and_stop_words_part_nothing() -> None:
    pairs = wording("The permit is not needed for samples", FEW_STOP_WORDS).pairs()

    assert pairs == {("permit", NOT), (NOT, "need"), ("need", "sampl")}
    assert pairs == wording("Permit isn't needed: samples", FEW_STOP_WORDS).pairs()


def test_pairs_reach_as_far_as_asked() -> None:
    assert ("permit", "sampl") not in wording("permits for small samples", FEW_STOP_WORDS).pairs()
    assert ("permit", "sampl") in wording("permits for small samples", FEW_STOP_WORDS).pairs(2)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It costs 1,200.50 dollars", {"1200.5"}),
        ("Kept for five years from 2019", {"5", "2019"}),
        ("from 9:30 on 24.12.2025", {"9:30", "24.12.2025"}),
        ("nothing to count", set()),
    ],
)
def test_numbers_have_one_spelling(text: str, numbers: set[str]) -> None:
    assert wording(text, FEW_STOP_WORDS).numbers == numbers


def test_a_name_begins_no_sentence_and_comes_with_its_stem() -> None:
    found = names("Yes. However, Dr. Kestrel of Jakarta Shipping asked. They waited", FEW_STOP_WORDS)

    assert found == {
        frozenset(("dr",)),
        frozenset(("kestrel",)),
        frozenset(("jakarta",)),
        frozenset(("shipping", "ship")),
    }


def test_where_a_negation_stands_is_told_in_characters() -> None:
    text = "Samples cannot leave Jakarta."
    (negation,) = wording(text, FEW_STOP_WORDS).negations

    assert (text[negation.start :][:6], negation.after) == ("cannot", "leav")
    assert negation.around == {"sampl", "leav", "jakarta"}
