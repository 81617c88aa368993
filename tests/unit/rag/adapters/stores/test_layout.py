"""rag.adapters.stores.layout: what is kept can be read, and what another release kept reads as absent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_contract import make_response

from rag.adapters.stores.layout import decode
from rag.values.question import Turn
from rag.values.stored import ANONYMOUS, CachedAnswer, ResponseRecord, quantise


@pytest.mark.parametrize(
    "text",
    ["{", "null", '{"format":3,"record":{"at":"now"}}', '{"format":99,"record":{"question":"","answer":"","at":1}}'],
)
def test_what_another_release_wrote_reads_as_absent(text: str) -> None:
    assert decode(CachedAnswer, text) is None
    assert decode(Turn, text) is None
    assert decode(ResponseRecord, text) is None


def test_whose_vote_it_is() -> None:
    assert make_response("r1", session_id="s").voter == "s"

    def anonymous(response_id: str = "r1", **fields: object) -> str:
        return make_response(response_id, **{"session_id": None, "at": 7200.0, **fields}).voter

    assert anonymous().startswith(ANONYMOUS)
    others = {"question": "Permits?", "chunk_ids": ("id_2", "id_1"), "cache_keys": (), "at": 10799.9}
    assert anonymous() == anonymous("r2", **others), "the same answer in the same hour"
    assert len({anonymous(), anonymous(at=10800.0), anonymous(chunk_ids=("id_1",)), anonymous(chunk_ids=())}) == 4


@given(st.integers(0, 2**32 - 1), st.sampled_from([384, 3072]), st.floats(-1, 1))
def test_quantised_vectors_keep_their_cosine(seed: int, dimensions: int, mix: float) -> None:
    random = np.random.default_rng(seed)
    first, noise = random.normal(size=(2, dimensions))
    second = mix * first + (1 - abs(mix)) * noise
    stored = [np.frombuffer(quantise(vector), np.int8).astype(np.float64) for vector in (first, second)]
    assert cosine(*stored) == pytest.approx(cosine(first, second), abs=0.01)


@pytest.mark.parametrize(
    ("vector", "stored"), [([], []), ([0, 0], [0, 0]), ([0.5, -0.25], [127, -64]), ([1e-9], [127])]
)
def test_any_vector_is_one_byte_a_dimension(vector: list[float], stored: list[int]) -> None:
    assert np.frombuffer(quantise(np.array(vector, np.float32)), np.int8).tolist() == stored


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
