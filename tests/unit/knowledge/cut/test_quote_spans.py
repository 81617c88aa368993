"""The table of quotable units: characters and tokens of the same words."""

from __future__ import annotations

import numpy as np

from knowledge.cut.quotable import Quotable
from knowledge.cut.quote_spans import Kind, unit_table


def test_a_unit_has_the_tokens_whose_first_character_is_in_it() -> None:
    # "Fees\nOne. Two three."  with the title's five characters in front of the text
    spans = np.array([(0, 4), (5, 8), (10, 13), (14, 19)], dtype=np.int32)
    units = (Quotable(0, 4, Kind.SENTENCE), Quotable(5, 15, Kind.ITEM, 0, 4))
    table = unit_table(units, spans, 5).tolist()
    assert table == [[0, 4, 0, 0, 0, 1, 2, 1, 1], [5, 15, 0, 4, 1, 2, 4, 1, 2]]


def test_no_unit_is_no_row() -> None:
    assert unit_table((), np.zeros((0, 2), dtype=np.int32), 0).shape == (0, 9)
