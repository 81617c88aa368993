"""Arrays of an index: plain .npy files, memory-mapped, never pickled; also rows of different lengths."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from knowledge.model.errors import IndexDamaged


def load_array(path: Path, *, dtype: DTypeLike, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Map the array in ``path``, read-only; the file stays mapped as long as the array lives.

    ``None`` in ``shape`` stands for any length, ``np.unsignedinteger`` for unsigned numbers of any size.
    IndexDamaged: it cannot be read, or is of another kind or shape.
    """
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as exc:
        raise IndexDamaged(f"{path.name} cannot be read: {exc}. Run: ragctl ingest PATH") from exc
    fits = array.ndim == len(shape) and all(want in (None, have) for want, have in zip(shape, array.shape, strict=True))
    if not (array.dtype == dtype or (dtype is np.unsignedinteger and array.dtype.kind == "u")) or not fits:
        raise IndexDamaged(f"{path.name} is {array.dtype} {array.shape}, not {dtype} {shape}. Run: ragctl ingest PATH")
    return np.asarray(array)  # a plain view of the map: np.memmap's own slicing is several times slower


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write ``array`` to ``path``."""
    np.save(path, array, allow_pickle=False)


def save_ragged(folder: Path, name: str, rows: Sequence[NDArray[Any]]) -> None:
    """Write ``rows``, at least one, of any lengths but the same further dimensions, as ``name`` in ``folder``."""
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    save_array(folder / f"{name}.npy", np.concatenate(rows))
    save_array(folder / f"{name}.starts.npy", starts.astype(np.uint32))


class Ragged:
    """Rows of different lengths. Safe to use from several threads."""

    def __init__(self, starts: NDArray[np.uint32], values: NDArray[Any]) -> None:
        """``values`` one after the other; row ``i`` is from ``starts[i]`` to ``starts[i + 1]``."""
        self._starts = starts
        self._values = values

    @classmethod
    def open(cls, folder: Path, name: str, *, rows: int, dtype: DTypeLike, width: tuple[int, ...] = ()) -> Self:
        """Map the rows ``name`` in ``folder``, of further dimensions ``width``; IndexDamaged: they cannot be used."""
        starts = load_array(folder / f"{name}.starts.npy", dtype=np.uint32, shape=(rows + 1,))
        return cls(starts, load_array(folder / f"{name}.npy", dtype=dtype, shape=(int(starts[-1]), *width)))

    @classmethod
    def of(cls, rows: Sequence[NDArray[Any]], *, dtype: DTypeLike, width: tuple[int, ...] = ()) -> Self:
        """Join ``rows``, perhaps none, in memory."""
        values = np.concatenate(rows) if rows else np.empty((0, *width), dtype=dtype)
        return cls(np.cumsum([0, *map(len, rows)], dtype=np.uint32), values)

    def row(self, row: int) -> NDArray[Any]:
        """Return the values of ``row``, a view of the map."""
        values: NDArray[Any] = self._values[self._starts[row] : self._starts[row + 1]]
        return values

    def gather(self, rows: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the values of ``rows``, concatenated, and the start of each row in them, shape (len(rows),)."""
        first = self._starts[rows].astype(np.int64)
        lengths = self._starts[rows + 1] - first
        starts = np.cumsum(lengths) - lengths
        places = np.repeat(first - starts, lengths) + np.arange(int(lengths.sum()))
        return self._values[places], starts
