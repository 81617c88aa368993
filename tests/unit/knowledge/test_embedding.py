"""The int8 model against vectors made independently with torch, and how MiniLM behaves at the edges."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge.embedding import DEFAULT_MODEL_DIR, MiniLM
from knowledge.model.errors import ModelMissing

REFERENCE = json.loads((Path(__file__).parents[2] / "golden" / "minilm_reference.json").read_text(encoding="utf-8"))
ROWS: list[dict[str, Any]] = REFERENCE["rows"]

INT8_SIZE_LIMIT_BYTES = 24_000_000

QUESTION = "What permits do I need to import controlled goods into Singapore?"
TEXTS = [
    QUESTION,
    "",
    "A bill of lading is a document issued by a carrier to acknowledge receipt of cargo. " * 30,
    "reporting deadline",
    "シンガポールの輸入手続きは何ですか",
]


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM()


@pytest.fixture
def model_copy(tmp_path: Path) -> Path:
    """A model folder that a test may damage."""
    return Path(shutil.copytree(DEFAULT_MODEL_DIR, tmp_path / "model"))


def test_int8_vectors_agree_with_the_torch_reference(minilm: MiniLM) -> None:
    cosines = {
        row["text"]: float(vector @ row["vector"] / np.linalg.norm(row["vector"]))
        for row, vector in zip(ROWS, minilm.embed([row["text"] for row in ROWS]), strict=True)
    }
    floors = {row["text"]: 0.95 if row["tokens"] < 4 else 0.98 for row in ROWS}
    assert {text: cosine for text, cosine in cosines.items() if cosine < floors[text]} == {}


def test_it_names_itself_as_manifests_do(minilm: MiniLM) -> None:
    assert (minilm.model, minilm.dimensions) == ("all-MiniLM-L6-v2", 384)


def test_the_model_stays_small_enough_for_the_layer() -> None:
    assert (DEFAULT_MODEL_DIR / "model.onnx").stat().st_size < INT8_SIZE_LIMIT_BYTES


@pytest.mark.parametrize("order", [range(5), reversed(range(5)), [0, 0, 2, 0]], ids=["forward", "backward", "twice"])
def test_a_vector_does_not_depend_on_the_texts_beside_it(minilm: MiniLM, order: Any) -> None:
    chosen = list(order)
    alone = np.vstack([minilm.embed([TEXTS[number]]) for number in chosen])
    together = minilm.embed([TEXTS[number] for number in chosen])
    np.testing.assert_array_equal(together, alone)


def test_threads_share_one_instance(minilm: MiniLM) -> None:
    expected = minilm.embed(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(minilm.embed, [TEXTS] * 8):
            np.testing.assert_array_equal(vectors, expected)


def test_two_processors_give_the_same_meaning_as_one(minilm: MiniLM) -> None:
    cosines = (MiniLM(threads=2).embed(TEXTS) * minilm.embed(TEXTS)).sum(axis=1)
    assert cosines.min() >= 0.99


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(), max_size=80))  # lone surrogates included
def test_any_text_has_a_unit_vector(minilm: MiniLM, text: str) -> None:
    vectors = minilm.embed([text])
    assert vectors.shape == (1, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors[0]) == pytest.approx(1.0, abs=1e-5)


def test_no_texts_give_no_rows(minilm: MiniLM) -> None:
    assert minilm.embed([]).shape == (0, 384)


def test_only_the_first_256_tokens_count(minilm: MiniLM) -> None:
    # Given 254 words of one token each, which with [CLS] and [SEP] fill the model
    full = "cargo " * 254
    # When there is more, then it changes nothing; when the last word that fits differs, then it does
    exact, longer, other = minilm.embed([full, full + "permit " * 500, "cargo " * 253 + "permit"])
    np.testing.assert_array_equal(exact, longer)
    assert not np.array_equal(exact, other)


def test_near_meanings_are_nearer_than_far_ones(minilm: MiniLM) -> None:
    question, near, far = minilm.embed(
        [QUESTION, "Import licences for restricted items brought into Singapore", "A recipe for apple pie"]
    )
    assert question @ near > 0.5 > 0.2 > question @ far


def test_without_a_model_it_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match=r"No embedding model in .*Run: make model"):
        MiniLM(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        *((name, None, rf"{name}: No such file.*Run: make model") for name in ("model.onnx", "tokenizer.json")),
        *(("model.json", text, "not readable as the model's description") for text in ("", "[]", '{"model": "x"}')),
    ],
)
def test_an_absent_file_and_an_unreadable_description_are_named(
    model_copy: Path, name: str, content: str | None, said: str
) -> None:
    (model_copy / name).unlink()
    if content is not None:
        (model_copy / name).write_text(content)
    with pytest.raises(ModelMissing, match=said):
        MiniLM(model_copy)


def test_a_truncated_file_is_named_with_both_sizes(model_copy: Path) -> None:
    graph = model_copy / "model.onnx"
    whole = graph.read_bytes()
    graph.write_bytes(whole[:1000])
    with pytest.raises(ModelMissing, match=rf"model\.onnx: 1000 bytes, expected {len(whole)}"):
        MiniLM(model_copy)


def test_a_file_of_the_right_size_and_wrong_content_is_refused(model_copy: Path) -> None:
    graph = model_copy / "model.onnx"
    graph.write_bytes(bytes(graph.stat().st_size))
    with pytest.raises(ModelMissing, match="cannot be loaded"):
        MiniLM(model_copy)


def test_verify_finds_one_changed_byte(model_copy: Path) -> None:
    # Given a model that loads, although one weight differs
    graph = model_copy / "model.onnx"
    content = bytearray(graph.read_bytes())
    content[len(content) // 2] ^= 1
    graph.write_bytes(content)
    damaged = MiniLM(model_copy)
    with pytest.raises(ModelMissing, match=r"model\.onnx: sha256 is"):
        damaged.verify()
