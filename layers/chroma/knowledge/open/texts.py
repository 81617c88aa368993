"""The texts of an index: one blob, memory-mapped, and a table of the ends of the texts.

Chroma stores each document text four times; this is once, in about half of its bytes. Two files in a folder:
``texts.zlib``, the blob, each text UTF-8 and compressed by itself; ``texts.npy``, int64 of shape (2, n): chunk numbers
(ascending) and end offsets.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from knowledge.model.errors import IndexDamaged

if TYPE_CHECKING:
    from numpy.typing import NDArray

TEXTS_NAME = "texts.zlib"
TABLE_NAME = "texts.npy"


def write_texts(folder: Path, texts: Iterable[tuple[int, str]]) -> None:
    """Write ``(number, text)`` pairs as a store in ``folder``; ValueError: the numbers do not strictly ascend."""
    numbers: list[int] = []
    ends: list[int] = []
    end = 0
    with (folder / TEXTS_NAME).open("wb") as blob:
        for number, text in texts:
            if numbers and number <= numbers[-1]:
                raise ValueError(f"chunk number {number} after {numbers[-1]}")
            end += blob.write(zlib.compress(text.encode(), level=9))
            numbers.append(number)
            ends.append(end)
    np.save(folder / TABLE_NAME, np.array([numbers, ends], dtype=np.int64), allow_pickle=False)


class TextStore:
    """An open store. Safe to use from several threads until it is closed."""

    def __init__(self, folder: Path) -> None:
        """Open the store in ``folder``; IndexDamaged: it cannot be used."""
        try:
            table = np.load(folder / TABLE_NAME, allow_pickle=False)
            with (folder / TEXTS_NAME).open("rb") as blob:
                size = blob.seek(0, 2)
                # An empty file cannot be mapped.
                self._blob = mmap.mmap(blob.fileno(), 0, access=mmap.ACCESS_READ) if size else None
        except (OSError, ValueError, EOFError) as exc:
            raise IndexDamaged(f"The index's texts cannot be read: {exc}. Run: ragctl ingest PATH") from exc
        if table.dtype != np.int64 or table.ndim != 2 or table.shape[0] != 2 or table[1, -1:].sum() != size:
            self.close()
            raise IndexDamaged(f"{TABLE_NAME} does not fit {TEXTS_NAME}. Run: ragctl ingest PATH")
        self.numbers: NDArray[np.int64] = table[0]
        """The chunk numbers, ascending."""
        self._ends = table[1]

    def __len__(self) -> int:
        return len(self.numbers)

    def get(self, number: int) -> str:
        """Return the text of chunk ``number``; KeyError: there is no such chunk."""
        row = self.row(number)
        if row is None:
            raise KeyError(number)
        start = int(self._ends[row - 1]) if row else 0
        stored = self._blob[start : int(self._ends[row])] if self._blob is not None else b""
        return zlib.decompress(stored).decode()

    def close(self) -> None:
        """Unmap the blob. Closing twice is allowed; reading afterwards raises ValueError."""
        if self._blob is not None:
            self._blob.close()

    def row(self, number: int) -> int | None:
        """Return the place of chunk ``number`` in the order of the texts, None when there is none."""
        row = int(np.searchsorted(self.numbers, number))
        return row if row < len(self.numbers) and self.numbers[row] == number else None
