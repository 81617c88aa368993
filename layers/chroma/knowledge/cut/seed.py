"""Cut as Clockify's seed does: at each ``##``, then in runs of so many characters, each repeating the one before.

Blocks, sentences and words are cut where a run ends; a ``##`` in a block of code counts as a heading.
"""

from __future__ import annotations

import re

from knowledge.cut.chunking import Piece

_HEADING = re.compile(r"^##[ \t]+(.*?)[ \t#]*$", re.MULTILINE)


def split_seed(text: str, *, max_chars: int, overlap: int) -> tuple[Piece, ...]:
    """``text`` in pieces of at most ``max_chars`` characters, in its order.

    A piece that goes on with its section begins with the last ``overlap`` characters of the one before.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    headings = list(_HEADING.finditer(text))
    starts = [0, *(heading.start() for heading in headings), len(text)]
    names = ["", *(heading[1] for heading in headings)]
    pieces: list[Piece] = []
    for name, start, end in zip(names, starts, starts[1:], strict=False):
        section = text[start:end].strip()
        last = max(1, len(section) - overlap)
        runs = (section[first : first + max_chars].strip() for first in range(0, last, max_chars - overlap))
        pieces += [Piece(name, run) for run in runs if run]
    return tuple(pieces)
