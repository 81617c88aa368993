"""knowledge.search.copied: what was taken from one place, word for word, and what was changed on the way."""

from __future__ import annotations

import numpy as np
import pytest

from knowledge.cut.quote_spans import COLUMNS, END, KIND, LEAD_END, LEAD_START, START, Kind
from knowledge.model.claims import Fidelity
from knowledge.search.copied import copied, nearest, places_of
from knowledge.search.language import stop_words_of
from knowledge.search.terms import Terms
from knowledge.search.wording import wording

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
