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


def test_it_names_itself_as_manifests_do_gives_no_rows_for_no_texts_and_fits_the_layer(minilm: MiniLM) -> None:
    assert (minilm.model, minilm.dimensions) == ("all-MiniLM-L6-v2", 384)
    assert minilm.embed([]).shape == (0, 384)
    assert (DEFAULT_MODEL_DIR / "model.onnx").stat().st_size < 24_000_000


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


def test_only_the_first_256_tokens_count(minilm: MiniLM) -> None:
    # Given 254 words of one token each, which with [CLS] and [SEP] fill the model
    full = "cargo " * 254
    # When there is more, then it changes nothing; when the last word that fits differs, then it does
    exact, longer, other = minilm.embed([full, full + "permit " * 500, "cargo " * 253 + "permit"])
    np.testing.assert_array_equal(exact, longer)
    assert not np.array_equal(exact, other)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("model.onnx", None, r"model\.onnx: No such file.*Run: make model"),
        ("tokenizer.json", None, r"tokenizer\.json: No such file.*Run: make model"),
        ("model.json", None, r"No embedding model in .*Run: make model"),
        *(("model.json", text, "not readable as the model's description") for text in (b"", b"[]", b'{"model": "x"}')),
        ("model.onnx", b"x" * 1000, r"model\.onnx: 1000 bytes, expected SIZE"),
        ("model.onnx", b"zeros", "cannot be loaded"),
    ],
    ids=["no graph", "no tokenizer", "no description", "empty", "a list", "a part", "truncated", "zeros"],
)
def test_a_model_that_is_not_whole_is_refused_with_what_is_wrong(
    model_copy: Path, name: str, content: bytes | None, said: str
) -> None:
    size = (model_copy / name).stat().st_size
    (model_copy / name).unlink()
    if content is not None:
        (model_copy / name).write_bytes(bytes(size) if content == b"zeros" else content)
    with pytest.raises(ModelMissing, match=said.replace("SIZE", str(size))):
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
