"""Read chunks with the embedding model, once each: vector, windows, token codes and quotable units of one run."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from knowledge.cut.chunking import is_markdown
from knowledge.cut.quotable import quotable_units
from knowledge.cut.units import unit_table
from knowledge.embedding import embed_text
from knowledge.model.errors import KnowledgeError, describe_unexpected
from knowledge.search import tokens as token_files
from knowledge.search.arrays import Ragged, save_array, save_ragged
from knowledge.search.tokens import ChunkTokens, Projection

if TYPE_CHECKING:
    from knowledge.model.manifest import Manifest
    from knowledge.model.values import Chunk, TextEncoding, TokenEmbedder, Vector

FIT_CHUNKS = 512
"""Chunks, chosen at random, that fit the projection: about 50,000 token vectors for 384 axes."""

REFIT_FACTOR = 2
"""The projection is kept until the index has grown or shrunk by this factor since it was fitted: its axes are those of
the language and the subject, which a few more documents do not turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkText:
    """The text of a chunk for the model. ``alone``: no other chunk has its title, which then gets a separate window."""

    title: str
    text: str
    markdown: bool
    alone: bool

    def embed_text(self) -> str:
        """Return the text that is embedded."""
        return embed_text(self.title, self.text)

    def digest(self) -> bytes:
        """Return the sha256 of all fields."""
        return hashlib.sha256(json.dumps([self.title, self.text, self.markdown, self.alone]).encode()).digest()


def texts_of(chunks: Sequence[Chunk], shared_titles: Collection[str] = ()) -> list[ChunkText]:
    """Return the texts of ``chunks``, in their order; ``shared_titles`` are those that other chunks have too."""
    titles = Counter(chunk.title for chunk in chunks)
    return [
        ChunkText(
            title=chunk.title,
            text=chunk.text,
            markdown=is_markdown(chunk.path),
            alone=titles[chunk.title] == 1 and chunk.title not in shared_titles,
        )
        for chunk in chunks
    ]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ChunkReadings:
    """Vectors and tokens of chunks, by the digest of a ``ChunkText``, and the projection of the codes.

    ``fitted_on`` is the number of chunks that it was fitted for; None: more than are read now, so that it stays.
    """

    projection: Projection | None = None
    fitted_on: int | None = 0
    chunks: Mapping[bytes, tuple[Vector, ChunkTokens]] = field(default_factory=dict)


def read_chunks(
    texts: Mapping[bytes, ChunkText],
    known: ChunkReadings,
    embedder: TokenEmbedder,
    on_progress: Callable[[int, int], None] | None,
) -> tuple[ChunkReadings, int, Mapping[bytes, str]]:
    """Read the ``texts`` (by digest) that ``known`` lacks, or all if the projection must be fitted again.

    Return the readings of all, the number of model runs, and the reasons for texts that the model cannot read. If it
    can read none there is no projection.
    """
    projection, fitted_on = known.projection, known.fitted_on or len(texts)
    if not is_still_fitted(fitted_on, len(texts)):
        projection = None
    done = {key: known.chunks[key] for key in texts if key in known.chunks} if projection is not None else {}
    pending = [key for key in texts if key not in done]
    sample: dict[bytes, TextEncoding] = {}
    failed: dict[bytes, str] = {}

    def read(key: bytes) -> TextEncoding | str:
        return _attempt(lambda: embedder.read(texts[key].embed_text()))

    with _pool() as pool:
        if projection is None:
            # A sample, read first and held until its tokens have fitted the projection.
            pending = [pending[place] for place in np.random.default_rng(0).permutation(len(pending))]
            chosen = pending[:FIT_CHUNKS]
            for key, result in zip(chosen, pool.map(read, chosen), strict=True):
                _sort(key, result, sample, failed)
            if not sample:
                return ChunkReadings(), 0, failed
            projection = Projection.fit(np.concatenate([reading.tokens for reading in sample.values()]))
            fitted_on = len(texts)
        fitted = projection

        def encode(key: bytes) -> tuple[Vector, ChunkTokens] | str:
            reading = failed.get(key) or sample.get(key) or read(key)
            if isinstance(reading, str):
                return reading
            return _attempt(lambda: (reading.vector, _encode_tokens(texts[key], reading, fitted, embedder)))

        for number, (key, encoded) in enumerate(zip(pending, pool.map(encode, pending), strict=True), start=1):
            _sort(key, encoded, done, failed)
            if on_progress is not None:
                on_progress(number, len(pending))
    fresh = len(pending) - len(failed)
    return ChunkReadings(projection=projection, fitted_on=fitted_on, chunks=done), fresh, failed


def _sort[T](key: bytes, result: T | str, good: dict[bytes, T], failed: dict[bytes, str]) -> None:
    if isinstance(result, str):
        failed[key] = result
    else:
        good[key] = result


def _attempt[T](read: Callable[[], T]) -> T | str:
    """Return the result of ``read``, or the reason why this one text failed; errors of the model itself are raised."""
    try:
        return read()
    except KnowledgeError:
        raise
    except Exception as exc:  # noqa: BLE001 - the other texts go on
        return describe_unexpected(exc)


@contextmanager
def _pool() -> Iterator[ThreadPoolExecutor]:
    """Give a thread for each processor, so that chunks are prepared and encoded while the model reads another.

    After an error no further call starts.
    """
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def write_tokens(folder: Path, chunks: Sequence[ChunkTokens], projection: Projection, *, vocabulary: int) -> None:
    """Write the tokens of all ``chunks``, in the order of the index, to the new ``folder``."""
    folder.mkdir()
    save_ragged(folder, token_files.WINDOWS_NAME, [chunk.windows for chunk in chunks])
    save_ragged(folder, token_files.SCALES_NAME, [chunk.scales for chunk in chunks])
    save_ragged(folder, token_files.CODES_NAME, [chunk.codes for chunk in chunks])
    save_ragged(folder, token_files.PIECES_NAME, [chunk.pieces for chunk in chunks])
    longest = max(len(chunk.pieces) for chunk in chunks)
    save_ragged(folder, token_files.ORDER_NAME, [chunk.order.astype(np.min_scalar_type(longest)) for chunk in chunks])
    save_ragged(folder, token_files.UNITS_NAME, [chunk.units for chunk in chunks])
    save_array(folder / token_files.TITLES_NAME, np.array([chunk.title_tokens for chunk in chunks], dtype=np.uint16))
    pieces = np.concatenate([chunk.pieces for chunk in chunks])
    frequencies = np.bincount(pieces, minlength=vocabulary)
    save_array(folder / token_files.IDF_NAME, token_files.inverse_frequencies(frequencies, len(chunks)))
    projection.save(folder)


def load_tokens(folder: Path, *, rows: int, dimensions: int) -> tuple[Projection, list[ChunkTokens]]:
    """Map the tokens that ``write_tokens`` wrote, row by row; IndexDamaged: it cannot be used."""
    window = token_files.WindowStore.open(folder, rows=rows, dimensions=dimensions)
    code = token_files.CodeStore.open(folder, rows=rows)
    projection = Projection.load(folder, dimensions)
    pieces = Ragged.open(folder, token_files.PIECES_NAME, rows=rows, dtype=np.uint16)
    return projection, [
        ChunkTokens(
            windows=window.vectors.row(row),
            scales=window.scales.row(row),
            pieces=pieces.row(row),
            codes=code.codes.row(row),
            order=code.order.row(row),
            title_tokens=int(code.titles[row]),
            units=code.units.row(row),
        )
        for row in range(rows)
    ]


def keeps_projection(manifest: Manifest, chunks: int) -> bool:
    """Return whether an index of ``chunks`` keeps the projection of the one with this ``manifest``, if it has one."""
    return manifest.tokens is None or is_still_fitted(int(str(manifest.tokens["fitted_on"])), chunks)


def is_still_fitted(fitted_on: int, chunks: int) -> bool:
    """Return whether a projection fitted for ``fitted_on`` chunks is kept for ``chunks``."""
    return fitted_on <= REFIT_FACTOR * chunks and chunks <= REFIT_FACTOR * fitted_on


def _encode_tokens(
    text: ChunkText, reading: TextEncoding, projection: Projection, embedder: TokenEmbedder
) -> ChunkTokens:
    offset = len(text.embed_text()) - len(text.text)
    vectors = token_files.window_vectors(reading.tokens) if len(reading.tokens) else reading.vector[np.newaxis]
    if text.alone and text.title:
        vectors = np.vstack([vectors, embedder.embed([text.title])])  # by itself: .767 on COVID FAQ, its tokens .759
    packed, scales = token_files.pack_windows(vectors)
    pieces, order = np.unique(reading.pieces, return_inverse=True)
    counts = np.bincount(order, minlength=len(pieces))
    grouped = reading.tokens[np.argsort(order, kind="stable")]
    means = np.add.reduceat(grouped, np.cumsum(counts) - counts, axis=0) / counts[:, np.newaxis]
    return ChunkTokens(
        windows=packed,
        scales=scales,
        pieces=pieces.astype(np.uint16),
        codes=projection.codes(means.astype(np.float32)),
        order=order.astype(np.uint16),
        title_tokens=int(np.searchsorted(reading.spans[:, 0], offset)),
        units=unit_table(quotable_units(text.text, markdown=text.markdown), reading.spans, offset),
    )
