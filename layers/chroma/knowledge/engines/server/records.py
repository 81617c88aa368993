"""A chunk as a record of Chroma's server: its text, vector and metadata, and the data of late interaction.

That data is one blob: the vector in a byte a dimension, windows, codes, token order and units, as the files of an
embedded index have them (``knowledge.search``). The metadata hold it in base64, in pieces below Chroma Cloud's limit of
a value: ``late_0``, ``late_1``, ... Text fields beyond that limit are stored as one JSON object in ``late_text_0``,
``late_text_1``, ...
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from knowledge.cut.units import COLUMNS
from knowledge.engines.metadata import to_chunk, to_metadata
from knowledge.model.errors import SearchFailed
from knowledge.model.values import Chunk, Scalar
from knowledge.search.arrays import Ragged
from knowledge.search.candidates import StoredTokens
from knowledge.search.tokens import BITS, ChunkTokens, CodeStore, WindowStore
from knowledge.search.vectors import quantise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.model.values import Vector

LATE, LONG = "late_", "late_text_"
_RESERVED_KEY = re.compile(rf"(?:{LATE}|{LONG})\d+")
VALUE_CHARS = 4000
"""Chroma Cloud takes 4,096 bytes in a metadata value."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredChunk:
    """A chunk as the server has it: ``vector`` to a byte a dimension, ``tokens`` None without token vectors."""

    chunk: Chunk
    vector: Vector
    tokens: ChunkTokens | None


def to_record(chunk: Chunk, vector: Vector, tokens: ChunkTokens | None) -> dict[str, Scalar]:
    """Return the metadata of ``chunk``'s record."""
    short: dict[str, Scalar] = {}
    long: dict[str, str] = {}
    for key, value in to_metadata(chunk).items():
        if _RESERVED_KEY.fullmatch(key):
            continue
        if isinstance(value, str) and len(value.encode()) > VALUE_CHARS:
            long[key] = value
        else:
            short[key] = value
    blob = base64.b64encode(_pack(vector, tokens)).decode()
    return {**short, **_split(LATE, blob), **_split(LONG, json.dumps(long) if long else "")}


def from_record(record_id: str, metadata: Mapping[str, object] | None, document: str | None) -> StoredChunk:
    """Return the chunk of a record. SearchFailed: the record is not one of ours, or not whole."""
    fields = dict(metadata or {})
    try:
        number = int(record_id.removeprefix("id_"))
        vector, tokens = _unpack(base64.b64decode(_pop_pieces(LATE, fields), validate=True))
        fields |= json.loads(_pop_pieces(LONG, fields) or "{}")
    except (KeyError, ValueError, IndexError) as exc:
        raise SearchFailed(
            f"The record {record_id!r} on Chroma's server is not whole. Run: ragctl ingest PATH"
        ) from exc
    return StoredChunk(to_chunk(fields, number=number, text=document or ""), vector, tokens)


def token_stores(chunks: Sequence[StoredChunk], dimensions: int) -> StoredTokens:
    """Return the token vectors of ``chunks``, in their order. SearchFailed: a chunk has none."""
    tokens = [chunk.tokens for chunk in chunks if chunk.tokens is not None]
    if len(tokens) != len(chunks):
        raise SearchFailed("The index on Chroma's server has no token vectors. Run: ragctl ingest PATH")
    return StoredTokens(
        CodeStore(
            codes=Ragged.of([one.codes for one in tokens], dtype=np.uint8, width=(BITS // 8,)),
            order=Ragged.of([one.order for one in tokens], dtype=np.uint16),
            units=Ragged.of([one.units for one in tokens], dtype=np.uint16, width=(COLUMNS,)),
            titles=np.array([one.title_tokens for one in tokens], dtype=np.uint16),
        ),
        WindowStore(
            Ragged.of([one.windows for one in tokens], dtype=np.uint8, width=(dimensions // 2,)),
            Ragged.of([one.scales for one in tokens], dtype=np.float32),
        ),
        np.arange(len(tokens)),
    )


def _split(name: str, text: str) -> dict[str, Scalar]:
    """Split ``text`` into values below the limit."""
    starts = range(0, len(text), VALUE_CHARS)
    return {f"{name}{number}": text[start : start + VALUE_CHARS] for number, start in enumerate(starts)}


def _pop_pieces(name: str, fields: dict[str, object]) -> str:
    """Remove the pieces that ``_split`` made from ``fields`` and join them. KeyError: one is missing."""
    count = sum(1 for key in fields if re.fullmatch(rf"{name}\d+", key))
    return "".join(str(fields.pop(f"{name}{number}")) for number in range(count))


def _pack(vector: Vector, tokens: ChunkTokens | None) -> bytes:
    """Return the blob: six numbers (``_unpack`` names them), then the arrays, little-endian."""
    steps, scale = quantise(vector[np.newaxis])
    arrays: list[NDArray[Any]] = [scale.astype("<f4"), steps]
    header = [len(vector), 0, 0, 0, 0, 0]
    if tokens is not None:
        by_piece = (tokens.pieces, tokens.order, tokens.units)
        header[1:] = [len(tokens.windows), *map(len, by_piece), tokens.title_tokens]
        arrays += [tokens.scales.astype("<f4"), tokens.windows, tokens.codes]
        arrays += [values.astype("<u2") for values in by_piece]
    return np.array(header, "<u2").tobytes() + b"".join(array.tobytes() for array in arrays)


def _unpack(blob: bytes) -> tuple[Vector, ChunkTokens | None]:
    """Reverse ``_pack``. ValueError: the blob is too short or too long."""
    place = 0

    def take(dtype: str, *shape: int) -> NDArray[Any]:
        nonlocal place
        values = np.frombuffer(blob, dtype, int(np.prod(shape)), place).reshape(shape)
        place += values.nbytes
        return values

    dimensions, windows, pieces, order, units, title_tokens = take("<u2", 6).tolist()
    scale = float(take("<f4", 1)[0])
    vector = take("i1", dimensions).astype(np.float32) * np.float32(scale)
    if not windows:
        return vector, None
    tokens = ChunkTokens(
        scales=take("<f4", windows),
        windows=take("u1", windows, dimensions // 2),
        codes=take("u1", pieces, BITS // 8),
        pieces=take("<u2", pieces),
        order=take("<u2", order),
        units=take("<u2", units, COLUMNS),
        title_tokens=title_tokens,
    )
    if place != len(blob):
        raise ValueError(f"{len(blob) - place} bytes too many")
    return vector, tokens
