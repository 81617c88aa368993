"""The table of a chunk's quotable units: their places in its text and in its tokens.

One row a unit, uint16: characters ``START`` to ``END``; those of its lead (``LEAD_START`` to ``LEAD_END``, equal where
it has none); its ``KIND``; its tokens from ``FIRST_TOKEN`` to ``END_TOKEN``, and its lead's. Tokens count from the
first one of the title on, as in ``Match.similarities``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from knowledge.cut.quotable import QuotableUnit

START, END, LEAD_START, LEAD_END, KIND, FIRST_TOKEN, END_TOKEN, LEAD_FIRST_TOKEN, LEAD_END_TOKEN = range(9)
COLUMNS = 9


class UnitKind(IntEnum):
    """The kind of a unit. A heading is never quoted; it stands above the units after it."""

    SENTENCE = 0
    ITEM = 1
    ROW = 2
    CODE = 3
    HEADING = 4


ITEM_MARKER = re.compile(r"(?:[-*+]|\d+[.)])\s+")
"""The marker at the beginning of an item."""

LARGEST = np.iinfo(np.uint16).max


def unit_table(units: Sequence[QuotableUnit], spans: NDArray[np.int32], offset: int) -> NDArray[np.uint16]:
    """Return the rows of ``units``, shape (units, COLUMNS), without units that end beyond ``LARGEST`` characters.

    ``spans`` are the characters of each token in the embedded text, shape (tokens, 2), where the chunk's text begins at
    ``offset``.
    """
    starts = spans[:, 0] - offset
    rows = []
    for unit in units:
        if unit.end > LARGEST:
            break
        tokens = np.searchsorted(starts, (unit.start, unit.end, unit.lead_start, unit.lead_end))
        rows.append([unit.start, unit.end, unit.lead_start, unit.lead_end, int(unit.kind), *tokens.tolist()])
    return np.array(rows, dtype=np.uint16).reshape(-1, COLUMNS)
