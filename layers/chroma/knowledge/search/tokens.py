"""What an index keeps of one chunk's tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ChunkTokens:
    """What is kept of one chunk's tokens.

    ``windows`` packed, shape (w, dimensions / 2), with ``scales``, shape (w,). ``pieces`` are its c different word
    pieces, uint16, ``codes`` theirs, shape (c, BITS / 8). ``order`` gives each token's place among them; the first
    ``title_tokens`` are the title's. ``units``: see ``knowledge.cut.quote_spans``.
    """

    windows: NDArray[np.uint8]
    scales: NDArray[np.float32]
    pieces: NDArray[np.uint16]
    codes: NDArray[np.uint8]
    order: NDArray[np.uint16]
    title_tokens: int
    units: NDArray[np.uint16]
