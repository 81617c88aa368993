"""The metadata of an index by field: a chunk's values, and the chunks that a Chroma ``where`` admits.

To name the chunks that a filter admits, of 60,000, Chroma takes 40 ms when they are few and 400 when they are half of
all; a look at one column takes less than one. A field's column holds a code for each chunk, in the order of the texts:
0 where the chunk has no value, otherwise 1 + the position of its value among the field's different values.

Files: ``codes.npy``, int32 of shape (fields, chunks); ``values.bin``, a JSON list of values for each field, read when
it is first asked for; ``fields.json``, the fields' names, each with the place of its list.
"""

from __future__ import annotations

import json
import math
import operator
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knowledge.model.errors import IndexDamaged, SearchFailed
from knowledge.model.values import Scalar, Where
from knowledge.search.arrays import load_array, save_array

COLUMNS_FOLDER = "columns"
FIELDS_NAME = "fields.json"
CODES_NAME = "codes.npy"
VALUES_NAME = "values.bin"

_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_INT64 = 2**63


def write_columns(folder: Path, metadatas: Iterable[Mapping[str, Scalar]]) -> None:
    """Write the ``metadatas`` of all chunks, in the order of the texts, to the new ``folder``; they are read once."""
    folder.mkdir()
    known: dict[str, dict[tuple[type, Scalar], int]] = {}  # in a dict alone 1, 1.0 and True are one key
    columns: dict[str, array[int]] = {}
    rows = 0
    for metadata in metadatas:
        for name, value in metadata.items():
            held, column = known.setdefault(name, {}), columns.setdefault(name, array("i"))
            column.frombytes(bytes(column.itemsize * (rows - len(column))))
            column.append(held.setdefault((type(value), value), len(held) + 1))
        rows += 1
    fields = sorted(columns)
    codes = np.zeros((len(fields), rows), dtype=np.int32)
    places: dict[str, tuple[int, int]] = {}
    blob = bytearray()
    for number, name in enumerate(fields):
        codes[number, : len(columns[name])] = columns[name]
        listed = json.dumps([value for _, value in known[name]], ensure_ascii=False, separators=(",", ":")).encode()
        places[name] = len(blob), len(blob) + len(listed)
        blob += listed
    save_array(folder / CODES_NAME, codes)
    (folder / VALUES_NAME).write_bytes(blob)
    (folder / FIELDS_NAME).write_text(json.dumps(places), encoding="utf-8")


class Columns:
    """Reads what ``write_columns`` wrote. Safe to use from several threads."""

    def __init__(self, folder: Path, *, rows: int) -> None:
        """Map the columns of ``rows`` chunks in ``folder``; IndexDamaged: it cannot be used."""
        try:
            self._places: dict[str, tuple[int, int]] = json.loads((folder / FIELDS_NAME).read_bytes())
            self._blob = np.fromfile(folder / VALUES_NAME, dtype=np.uint8)
        except (OSError, ValueError) as exc:
            raise IndexDamaged(f"The index's columns cannot be read: {exc}. Run: ragctl ingest PATH") from exc
        self._rows = rows
        self._numbers = {name: number for number, name in enumerate(self._places)}
        self._codes = load_array(folder / CODES_NAME, dtype=np.int32, shape=(len(self._places), rows))
        self._values: dict[str, Sequence[Scalar]] = {}

    def rows(self, where: Where) -> NDArray[np.int64] | None:
        """Return the rows, ascending, that ``where`` admits; None if only Chroma can answer it ("$contains").

        SearchFailed: the filter is malformed.
        """
        from chromadb.api.types import validate_where  # late: whoever opened an index has imported it

        try:
            validate_where(dict(where))  # type: ignore[arg-type]
        except ValueError as exc:
            raise SearchFailed(f"The filter is malformed: {exc}") from exc
        mask = self._mask(where)
        return None if mask is None else np.flatnonzero(mask)

    def metadata(self, row: int) -> dict[str, Scalar]:
        """Return the metadata of ``row``."""
        found: dict[str, Scalar] = {}
        for name, code in zip(self._numbers, self._codes[:, row].tolist(), strict=True):
            if code:
                values = self._load_values(name)
                if code > len(values):
                    raise _unfit()
                found[name] = values[code - 1]
        return found

    def values(self, name: str) -> Sequence[Scalar]:
        """Return the different values of the field ``name``, none of an unknown field."""
        return self._load_values(name) if name in self._numbers else ()

    def _mask(self, where: Mapping[str, Any]) -> NDArray[np.bool_] | None:
        ((name, wanted),) = where.items()
        if name in {"$and", "$or"}:
            masks = [mask for part in wanted if (mask := self._mask(part)) is not None]
            join = np.logical_and if name == "$and" else np.logical_or
            return np.asarray(join.reduce(masks)) if len(masks) == len(wanted) else None
        sign, value = next(iter(wanted.items())) if isinstance(wanted, Mapping) else ("$eq", wanted)
        if name.startswith(("#", "$")):
            return None
        if sign in {"$eq", "$in"}:
            return self._matches(name, _among(value if sign == "$in" else [value]))
        if sign in {"$ne", "$nin"}:  # of a chunk without the field both are true
            return ~self._matches(name, _among(value if sign == "$nin" else [value]))
        if (compare := _ORDER.get(sign)) is None or isinstance(value, bool):
            return None
        bounds = _as_stored(value)
        return self._matches(name, lambda stored: type(stored) in bounds and compare(stored, bounds[type(stored)]))

    def _matches(self, name: str, admits: Callable[[Scalar], bool]) -> NDArray[np.bool_]:
        number = self._numbers.get(name)
        if number is None:
            return np.zeros(self._rows, dtype=np.bool_)
        found = np.array([False, *map(admits, self._load_values(name))])
        if int(self._codes[number].max(initial=0)) >= len(found):
            raise _unfit()
        return np.asarray(found[self._codes[number]])

    def _load_values(self, name: str) -> Sequence[Scalar]:
        if (values := self._values.get(name)) is None:
            start, end = self._places[name]
            try:
                values = self._values[name] = json.loads(self._blob[start:end].tobytes())
            except ValueError as exc:
                raise _unfit() from exc
        return values


def _among(wanted: Iterable[Scalar]) -> Callable[[Scalar], bool]:
    sets: dict[type, set[Scalar]] = defaultdict(set)
    for value in wanted:
        for kind, form in _as_stored(value).items():
            sets[kind].add(form)
    return lambda stored: stored in sets.get(type(stored), ())


def _as_stored(value: Scalar) -> Mapping[type, Scalar]:
    """Return ``value`` as Chroma 1.5.9 compares it, by the type of the stored value; other types never match.

    It compares text with text, booleans with booleans, numbers with numbers. Of a fraction whole numbers see only what
    is before the point (``rag.ask.filters`` makes up for that).
    """
    if isinstance(value, str | bool):
        return {type(value): value}
    return {float: float(value), int: math.trunc(max(-_INT64, min(_INT64 - 1, value)))}


def _unfit() -> IndexDamaged:
    return IndexDamaged("The index's columns do not fit each other. Run: ragctl ingest PATH")
