"""Token codes: late interaction is what the formula says, and every token finds its code."""

from pathlib import Path

import numpy as np
import pytest

from knowledge.build.reading import write_tokens
from knowledge.model.values import TextEncoding
from knowledge.search.arrays import Ragged, save_ragged
from knowledge.search.tokens import (
    BITS,
    SCALES_NAME,
    WINDOWS_NAME,
    ChunkTokens,
    CodeStore,
    Projection,
    QuestionCodes,
    WindowStore,
    inverse_frequencies,
    pack_windows,
    window_vectors,
)

DIMENSIONS = 128
RANDOM = np.random.default_rng(1)
START = RANDOM.bit_generator.state


@pytest.fixture(autouse=True)
def _same_draws_in_any_order() -> None:
    RANDOM.bit_generator.state = START


def reading(pieces: list[int]) -> TextEncoding:
    tokens = RANDOM.standard_normal((len(pieces), DIMENSIONS)).astype(np.float32)
    return TextEncoding(
        vector=np.eye(1, DIMENSIONS, dtype=np.float32)[0],
        tokens=tokens,
        pieces=np.array(pieces, dtype=np.int32),
        spans=np.array([(5 * i, 5 * i + 4) for i in range(len(pieces))], dtype=np.int32).reshape(-1, 2),
    )


@pytest.fixture
def projection() -> Projection:
    return Projection.fit(RANDOM.standard_normal((500, DIMENSIONS)).astype(np.float32) + 1)


def chunk(projection: Projection, pieces: list[int], order: list[int]) -> ChunkTokens:
    tokens = RANDOM.standard_normal((len(pieces), DIMENSIONS)).astype(np.float32)
    return ChunkTokens(
        windows=np.ones((1, DIMENSIONS // 2), dtype=np.uint8),
        scales=np.ones(1, dtype=np.float32),
        pieces=np.array(pieces, dtype=np.uint16),
        codes=projection.codes(tokens),
        order=np.array(order, dtype=np.uint16),
        title_tokens=1,
        units=np.zeros((0, 9), dtype=np.uint16),
    )


def signs(codes: np.ndarray) -> np.ndarray:
    return (2.0 * np.unpackbits(codes, axis=1) - 1) / np.sqrt(BITS)  # type: ignore[no-any-return]


def test_a_code_is_twelve_bytes_and_says_nothing_of_the_mean(projection: Projection) -> None:
    tokens = RANDOM.standard_normal((3, DIMENSIONS)).astype(np.float32)
    codes = projection.codes(tokens + projection.mean)
    assert codes.shape == (3, 12)
    assert np.array_equal(codes, projection.codes(2 * tokens + projection.mean))


def test_a_projection_is_the_same_whatever_axes_span_its_space() -> None:
    weights = np.where(np.arange(DIMENSIONS) < BITS, 1, 0.1).astype(np.float32)
    tokens = RANDOM.standard_normal((500, DIMENSIONS)).astype(np.float32) * weights
    moved = tokens + 1e-3 * RANDOM.standard_normal(tokens.shape).astype(np.float32) * weights
    one, other = (Projection.fit(some).matrix for some in (tokens, moved))
    np.testing.assert_allclose(one.T @ one, np.eye(BITS), atol=1e-5)
    assert np.abs(one - other).max() < 0.02


def test_the_score_is_the_idf_weighted_mean_of_each_piece_s_best_cosine(projection: Projection, tmp_path: Path) -> None:
    chunks = [chunk(projection, [1, 2, 3], [0, 1, 2, 1]), chunk(projection, [], []), chunk(projection, [3], [0])]
    write_tokens(tmp_path / "tokens", chunks, projection, vocabulary=10)
    store = CodeStore.open(tmp_path / "tokens", rows=3)
    asked = reading([3, 9])
    question = QuestionCodes.open(tmp_path / "tokens", dimensions=DIMENSIONS, vocabulary=10).ask("two words", asked)

    idf = inverse_frequencies(np.bincount([1, 2, 3, 3], minlength=10), 3)
    assert question.asked.weights == pytest.approx(idf[[3, 9]] / idf[[3, 9]].sum())
    assert idf[9] > idf[1] > idf[3]

    rows = np.array([2, 0, 1])
    met = store.interact(question, rows)
    unit = (asked.tokens - projection.mean) @ projection.matrix
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    expected = [(signs(chunks[row].codes) @ unit.T).max(axis=0) for row in (2, 0)]
    assert met.best()[:2] == pytest.approx(np.stack(expected), abs=1e-5)
    assert met.best()[2].tolist() == [0, 0]  # a chunk without a word meets nothing


def test_a_match_has_the_tokens_in_the_order_of_the_text_and_no_word_meets_nothing(
    projection: Projection, tmp_path: Path
) -> None:
    only = chunk(projection, [4, 7], [1, 0, 1])
    write_tokens(tmp_path / "tokens", [only], projection, vocabulary=10)
    store = CodeStore.open(tmp_path / "tokens", rows=1)
    questions = QuestionCodes.open(tmp_path / "tokens", dimensions=DIMENSIONS, vocabulary=10)
    met = store.interact(questions.ask("q", reading([4])), np.array([0]))
    match = store.match(met.of(0), 0)
    assert match.similarities.shape == (1, 3)
    assert match.similarities[0, 0] == match.similarities[0, 2] != match.similarities[0, 1]
    assert match.title_tokens == 1
    assert store.interact(questions.ask("?!", reading([])), np.array([0])).best().shape == (1, 0)


# Windows


@pytest.mark.parametrize(("tokens", "windows"), [(1, 1), (40, 1), (61, 2), (200, 5)])
def test_windows_are_of_about_40_tokens(tokens: int, windows: int) -> None:
    vectors = window_vectors(RANDOM.standard_normal((tokens, 384)).astype(np.float32))
    assert vectors.shape == (windows, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(windows), abs=1e-5)


def test_the_best_window_of_each_chunk_counts(tmp_path: Path) -> None:
    rows = [window_vectors(RANDOM.standard_normal((n, 384)).astype(np.float32)) for n in (40, 100, 10)]
    stored = [pack_windows(row) for row in rows]
    save_ragged(tmp_path, WINDOWS_NAME, [values for values, _ in stored])
    save_ragged(tmp_path, SCALES_NAME, [scales for _, scales in stored])
    store = WindowStore.open(tmp_path, rows=3, dimensions=384)
    question = rows[1][1]
    best = store.best(np.array([1, 0, 2]), question)
    assert best == pytest.approx([1, (rows[0] @ question).max(), (rows[2] @ question).max()], abs=0.03)
    assert store.best(np.array([], dtype=np.int64), question).shape == (0,)


def test_rows_of_any_length_come_back_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    save_ragged(tmp_path, "things", [np.arange(n) + 10 * n for n in (3, 0, 2)])
    things = Ragged.open(tmp_path, "things", rows=3, dtype=np.int64)
    values, starts = things.gather(np.array([2, 1, 0]))
    assert values.tolist() == [20, 21, 30, 31, 32]
    assert starts.tolist() == [0, 2, 2]
    assert things.row(1).tolist() == []
