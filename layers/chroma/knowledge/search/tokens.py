"""The stored tokens of chunks: windows, codes, and the late interaction of codes with a question.

A window is a run of about 40 token vectors, averaged to a unit vector. A chunk about several things has a vector near
none of them; one of its windows is near the question. Stored in half a byte a dimension: a cosine is off by .01 or
less, most often.

A token's code is made of its vector, less the index's mean, through a matrix of 384 x 96 (the main axes of the index's
own token vectors, turned by a fixed random rotation, so that each of the 96 numbers carries about as much); its signs
are the code: 12 bytes. Equal word pieces of a chunk are averaged first. The question's pieces stay numbers. The score
of a chunk is

    sum_i w_i max_j cos(q_i, d_j)        w_i: the share of piece i in the question's idf;  d_j = +-1 / sqrt(96)

(late interaction: Khattab and Zaharia, ColBERT, 2020; here without training and without a second model).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from knowledge.cut.units import COLUMNS
from knowledge.model.values import EncodedQuestion, Match, Matrix, TextEncoding, Vector
from knowledge.search.arrays import Ragged, load_array, save_array

WINDOWS_NAME = "windows"
SCALES_NAME = "window_scales"

WINDOW_TOKENS = 40
STEPS = 7
"""On either side of 0, of the largest number of a window: half a byte."""
BITS = 96
CODES_NAME = "codes"
ORDER_NAME = "token_order"
TITLES_NAME = "title_tokens.npy"
UNITS_NAME = "units"
PIECES_NAME = "pieces"
PROJECTION_NAME = "projection.npy"
IDF_NAME = "idf.npy"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ChunkTokens:
    """The stored tokens of one chunk.

    ``windows`` packed, shape (w, dimensions / 2), with ``scales``, shape (w,). ``pieces`` are its c different word
    pieces, uint16, ``codes`` theirs, shape (c, BITS / 8). ``order`` gives each token's place among them; the first
    ``title_tokens`` are the title's. ``units``: see ``knowledge.cut.units``.
    """

    windows: NDArray[np.uint8]
    scales: NDArray[np.float32]
    pieces: NDArray[np.uint16]
    codes: NDArray[np.uint8]
    order: NDArray[np.uint16]
    title_tokens: int
    units: NDArray[np.uint16]


def window_vectors(tokens: NDArray[np.float32]) -> Matrix:
    """Return the unit vectors of the windows of ``tokens``, shape (tokens >= 1, dimensions)."""
    count = max(1, round(len(tokens) / WINDOW_TOKENS))
    starts = np.arange(count) * len(tokens) // count
    sums = np.add.reduceat(tokens, starts, axis=0)
    return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True), dtype=np.float32)


def pack_windows(vectors: Matrix) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Pack ``vectors``, of an even number of dimensions, in half a byte a dimension; return them with the rows' scales.

    The first half of the dimensions is in the upper four bits, with 8 added.
    """
    scales = np.abs(vectors).max(axis=1) / STEPS
    steps = (np.rint(vectors / scales[:, np.newaxis]) + 8).astype(np.uint8)
    half = vectors.shape[1] // 2
    return (steps[:, :half] << 4 | steps[:, half:]).astype(np.uint8), scales.astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class WindowStore:
    """The windows of chunks, by row: packed ``vectors`` and their ``scales``. Safe to use from several threads."""

    vectors: Ragged
    scales: Ragged

    @classmethod
    def open(cls, folder: Path, *, rows: int, dimensions: int) -> Self:
        """Map the store in ``folder``; IndexDamaged: it cannot be used."""
        return cls(
            vectors=Ragged.open(folder, WINDOWS_NAME, rows=rows, dtype=np.uint8, width=(dimensions // 2,)),
            scales=Ragged.open(folder, SCALES_NAME, rows=rows, dtype=np.float32),
        )

    def best(self, rows: NDArray[np.int64], vector: Vector) -> NDArray[np.float32]:
        """Return the highest cosine of the unit ``vector`` with a window of each of ``rows``, shape (len(rows),)."""
        if not len(rows):
            return np.empty(0, dtype=np.float32)
        values, starts = self.vectors.gather(rows)
        scales, _ = self.scales.gather(rows)
        half = len(vector) // 2
        steps = (values >> 4).astype(np.float32) @ vector[:half] + (values & 15).astype(np.float32) @ vector[half:]
        cosines = (steps - 8 * vector.sum()) * scales
        return np.clip(np.maximum.reduceat(cosines, starts), -1, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """``mean`` of the token vectors, shape (dimensions,), and the ``matrix``, shape (dimensions, BITS)."""

    mean: NDArray[np.float32]
    matrix: NDArray[np.float32]

    @classmethod
    def fit(cls, tokens: NDArray[np.float32]) -> Self:
        """Fit the projection for token vectors like ``tokens``, shape (n, dimensions).

        Of the main axes only the space that they span is certain: their signs, and their directions where two weigh
        about the same, differ between processors. So a fixed random matrix is projected on that space, and the nearest
        orthonormal axes to it (its polar factor) are taken: the same ones whatever axes span it.
        """
        mean = tokens.mean(axis=0, dtype=np.float64).astype(np.float32)
        centred = tokens - mean
        _, axes = np.linalg.eigh((centred.T @ centred).astype(np.float64))
        main = axes[:, -BITS:]
        left, _, right = np.linalg.svd(main.T @ np.random.default_rng(0).standard_normal((len(main), BITS)))
        return cls(mean, (main @ left @ right).astype(np.float32))

    @classmethod
    def load(cls, folder: Path, dimensions: int) -> Self:
        """Load the projection from ``folder``; IndexDamaged: it cannot be read."""
        stored = load_array(folder / PROJECTION_NAME, dtype=np.float32, shape=(dimensions, BITS + 1))
        return cls(np.ascontiguousarray(stored[:, BITS]), np.ascontiguousarray(stored[:, :BITS]))

    def save(self, folder: Path) -> None:
        """Write the projection to ``folder``."""
        save_array(folder / PROJECTION_NAME, np.column_stack([self.matrix, self.mean]))

    def __call__(self, tokens: NDArray[np.float32]) -> NDArray[np.float32]:
        """Project ``tokens``: shape (n, BITS), not normalised."""
        return np.asarray((tokens - self.mean) @ self.matrix, dtype=np.float32)

    def codes(self, tokens: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Return the signs of the projected ``tokens`` in bits: shape (n, BITS / 8)."""
        return np.packbits(self(tokens) > 0, axis=1)


def inverse_frequencies(frequencies: NDArray[np.int64], chunks: int) -> NDArray[np.float32]:
    """Return BM25's idf of word pieces; ``frequencies`` are the numbers of the ``chunks`` with each."""
    return np.log1p((chunks - frequencies + 0.5) / (frequencies + 0.5)).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class ProjectedQuestion:
    """A question's pieces as the codes are compared with: ``unit`` has shape (m, BITS), each row of unit length."""

    asked: EncodedQuestion
    unit: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class QuestionCodes:
    """The encoding of questions for an index: the ``projection`` of its codes, and the ``idf`` of each word piece."""

    projection: Projection
    idf: NDArray[np.float32]

    @classmethod
    def open(cls, folder: Path, *, dimensions: int, vocabulary: int) -> Self:
        """Map the files in ``folder``; ``vocabulary`` is the number of word pieces; IndexDamaged: one is unusable."""
        idf = load_array(folder / IDF_NAME, dtype=np.float32, shape=(vocabulary,))
        return cls(Projection.load(folder, dimensions), idf)

    def ask(self, text: str, reading: TextEncoding, unknown: tuple[tuple[int, int], ...] = ()) -> ProjectedQuestion:
        """Project the encoded question ``text`` for the comparison with codes; ``unknown``: see ``EncodedQuestion``."""
        idf = self.idf[reading.pieces]
        total = float(idf.sum())
        weights = np.asarray(idf / total if total else idf, dtype=np.float32)
        asked = EncodedQuestion(text=text, vector=reading.vector, spans=reading.spans, weights=weights, unknown=unknown)
        projected = self.projection(reading.tokens)
        lengths = np.linalg.norm(projected, axis=1, keepdims=True)
        unit = projected / np.maximum(lengths, np.finfo(np.float32).tiny)
        return ProjectedQuestion(asked, unit.astype(np.float32))


@dataclass(frozen=True, slots=True, eq=False)
class CodeStore:
    """The codes of chunks by row, the order of their tokens, their units, and how many tokens are the title's.

    Safe to use from several threads.
    """

    codes: Ragged
    order: Ragged
    units: Ragged
    titles: NDArray[np.uint16]

    @classmethod
    def open(cls, folder: Path, *, rows: int) -> Self:
        """Map the store in ``folder``; IndexDamaged: it cannot be used."""
        return cls(
            codes=Ragged.open(folder, CODES_NAME, rows=rows, dtype=np.uint8, width=(BITS // 8,)),
            order=Ragged.open(folder, ORDER_NAME, rows=rows, dtype=np.unsignedinteger),
            units=Ragged.open(folder, UNITS_NAME, rows=rows, dtype=np.uint16, width=(COLUMNS,)),
            titles=load_array(folder / TITLES_NAME, dtype=np.uint16, shape=(rows,)),
        )

    def interact(self, question: ProjectedQuestion, rows: NDArray[np.int64]) -> Interaction:
        """Compare the question with each of ``rows``."""
        codes, starts = self.codes.gather(rows)
        bits = np.unpackbits(codes, axis=1).astype(np.float32)
        scale = np.float32(BITS**-0.5)
        similarities = bits @ (2 * scale * question.unit.T) - scale * question.unit.sum(axis=1)
        return Interaction(similarities, starts, question.asked.weights)

    def match(self, similarities: NDArray[np.float32], row: int) -> Match:
        """Return the match of ``row``, from the ``similarities`` of its codes, shape (codes, m)."""
        return Match(
            similarities=np.ascontiguousarray(similarities[self.order.row(row)].T),
            units=self.units.row(row),
            title_tokens=int(self.titles[row]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Interaction:
    """Cosines of every code of some rows with every piece of a question, shape (codes, m); ``starts`` are the rows'."""

    similarities: NDArray[np.float32]
    starts: NDArray[np.int64]
    weights: NDArray[np.float32]

    def best(self) -> NDArray[np.float32]:
        """Return the best cosine of each piece in each row, shape (rows, m); 0 where a row has no code."""
        best = np.zeros((len(self.starts), len(self.weights)), dtype=np.float32)
        some = np.append(self.starts[1:], len(self.similarities)) > self.starts
        if some.any():
            best[some] = np.maximum.reduceat(self.similarities, self.starts[some], axis=0)
        return best

    def of(self, place: int) -> NDArray[np.float32]:
        """Return the cosines of the codes of row ``place``, shape (codes, m)."""
        end = self.starts[place + 1] if place + 1 < len(self.starts) else None
        return self.similarities[self.starts[place] : end]
