"""A chunk as a record of Chroma's server: its text, its vector, its metadata, and what late interaction needs of it.

The last is one blob: the vector in a byte a dimension, windows, codes, the order of tokens and units, as the files of
an embedded index have them (``knowledge.search``). It stands in the metadata in base64, in pieces below the limit of a
value in Chroma Cloud: ``late_0``, ``late_1``, ... Texts among the fields that are beyond that limit stand in
``late_text_0``, ``late_text_1``, ..., as one JSON object in pieces.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from knowledge.cut.quote_spans import COLUMNS
from knowledge.engines.metadata import to_chunk, to_metadata
from knowledge.model.errors import SearchFailed
from knowledge.model.values import Chunk, Scalar
from knowledge.search.arrays import Ragged
from knowledge.search.codes import BITS, CodeStore
from knowledge.search.pool import StoredTokens
from knowledge.search.tokens import ChunkTokens
from knowledge.search.vectors import to_steps
from knowledge.search.windows import WindowStore

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.model.values import Vector

LATE, LONG = "late_", "late_text_"
_IS_OURS = re.compile(rf"(?:{LATE}|{LONG})\d+").fullmatch
VALUE_CHARS = 4000
"""Chroma Cloud takes 4,096 bytes in a metadata value."""
_HEAD = 6


@dataclass(frozen=True, slots=True, eq=False)
class StoredChunk:
    """A chunk as the server has it: ``vector`` to a byte a dimension, ``tokens`` None where the embedder tells none."""

    chunk: Chunk
    vector: Vector
    tokens: ChunkTokens | None


def to_record(chunk: Chunk, vector: Vector, tokens: ChunkTokens | None) -> dict[str, Scalar]:
    """The metadata of ``chunk``'s record."""
    fields = {key: value for key, value in to_metadata(chunk).items() if not _IS_OURS(key)}
    long = {key: value for key, value in fields.items() if isinstance(value, str) and len(value.encode()) > VALUE_CHARS}
    packed = base64.b64encode(_packed(vector, tokens)).decode()
    texts = json.dumps(long) if long else ""
    short = {key: value for key, value in fields.items() if key not in long}
    return {**short, **_cut(LATE, packed), **_cut(LONG, texts)}


def from_record(record_id: str, metadata: Mapping[str, object] | None, document: str | None) -> StoredChunk:
    """The chunk of a record.

    Raises:
        SearchFailed: it is not one of ours, or not whole.
    """
    held = dict(metadata or {})
    try:
        number = int(record_id.removeprefix("id_"))
        vector, tokens = _unpacked(base64.b64decode(_joined(LATE, held), validate=True))
        held |= json.loads(_joined(LONG, held) or "{}")
    except (KeyError, ValueError, IndexError) as exc:
        raise SearchFailed(
            f"The record {record_id!r} on Chroma's server is not whole. Run: ragctl ingest PATH"
        ) from exc
    return StoredChunk(to_chunk(held, number=number, text=document or ""), vector, tokens)


def _cut(name: str, text: str) -> dict[str, Scalar]:
    """``text`` in values that are short enough."""
    starts = range(0, len(text), VALUE_CHARS)
    return {f"{name}{i}": text[start : start + VALUE_CHARS] for i, start in enumerate(starts)}


def _joined(name: str, held: dict[str, object]) -> str:
    """What ``_cut`` made of a text, taken out of ``held``. KeyError: a piece is missing."""
    count = sum(1 for key in held if re.fullmatch(rf"{name}\d+", key))
    return "".join(str(held.pop(f"{name}{i}")) for i in range(count))


def stored_tokens(chunks: Sequence[StoredChunk], dimensions: int) -> StoredTokens:
    """What is kept of the tokens of ``chunks``, in their order.

    Raises:
        SearchFailed: nothing is kept of one.
    """
    tokens = [chunk.tokens for chunk in chunks]
    some = [one for one in tokens if one is not None]
    if len(some) != len(tokens):
        raise SearchFailed("The index on Chroma's server has no token vectors. Run: ragctl ingest PATH")
    return StoredTokens(
        CodeStore(
            codes=Ragged.of([one.codes for one in some], dtype=np.uint8, width=(BITS // 8,)),
            order=Ragged.of([one.order for one in some], dtype=np.uint16),
            units=Ragged.of([one.units for one in some], dtype=np.uint16, width=(COLUMNS,)),
            titles=np.array([one.title_tokens for one in some], dtype=np.uint16),
        ),
        WindowStore(
            Ragged.of([one.windows for one in some], dtype=np.uint8, width=(dimensions // 2,)),
            Ragged.of([one.scales for one in some], dtype=np.float32),
        ),
        np.arange(len(some)),
    )


def _packed(vector: Vector, tokens: ChunkTokens | None) -> bytes:
    steps, scale = to_steps(vector[np.newaxis])
    parts: list[NDArray[Any]] = [scale.astype("<f4"), steps]
    head = [len(vector), 0, 0, 0, 0, 0]
    if tokens is not None:
        head = [
            len(vector),
            len(tokens.windows),
            len(tokens.pieces),
            len(tokens.order),
            len(tokens.units),
            tokens.title_tokens,
        ]
        parts += [
            tokens.scales.astype("<f4"),
            tokens.windows,
            tokens.codes,
            tokens.pieces.astype("<u2"),
            tokens.order.astype("<u2"),
            tokens.units.astype("<u2"),
        ]
    return np.array(head, "<u2").tobytes() + b"".join(part.tobytes() for part in parts)


def _unpacked(blob: bytes) -> tuple[Vector, ChunkTokens | None]:
    dimensions, windows, pieces, order, units, title = np.frombuffer(blob, "<u2", _HEAD).tolist()
    place = 2 * _HEAD

    def take(dtype: str, *shape: int) -> NDArray[Any]:
        nonlocal place
        values = np.frombuffer(blob, dtype, int(np.prod(shape)), place).reshape(shape)
        place += values.nbytes
        return values

    scale = float(take("<f4", 1)[0])
    vector = take("i1", dimensions).astype(np.float32) * np.float32(scale)
    if not windows:
        return vector, None
    scales, packed = take("<f4", windows), take("u1", windows, dimensions // 2)
    codes, names = take("u1", pieces, BITS // 8), take("<u2", pieces)
    tokens = ChunkTokens(
        windows=packed,
        scales=scales,
        pieces=names,
        codes=codes,
        order=take("<u2", order),
        title_tokens=title,
        units=take("<u2", units, COLUMNS),
    )
    if place != len(blob):
        raise ValueError(f"{len(blob) - place} bytes too many")
    return vector, tokens
