"""Arrays of an index: plain .npy files, memory-mapped, never pickled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from knowledge.errors import IndexDamaged

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


def load_array(path: Path, *, dtype: DTypeLike, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """The array in ``path``, read-only; the file stays mapped as long as the array lives.

    ``None`` in ``shape`` stands for any length.

    Raises:
        IndexDamaged: it cannot be read, or is of another kind or shape.
    """
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as exc:
        raise IndexDamaged(f"{path.name} cannot be read: {exc}. Run: ragctl ingest PATH") from exc
    fits = array.ndim == len(shape) and all(want in (None, have) for want, have in zip(shape, array.shape, strict=True))
    if array.dtype != dtype or not fits:
        raise IndexDamaged(f"{path.name} is {array.dtype} {array.shape}, not {dtype} {shape}. Run: ragctl ingest PATH")
    return np.asarray(array)  # a plain view of the map: np.memmap's own slicing is several times slower


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write ``array`` to ``path``."""
    np.save(path, array, allow_pickle=False)
