"""The hand-written graph computes what torch computes; ``python -m modelbuilder`` builds it whole, or says why not."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from made_files import write_files
from numpy.typing import NDArray
from tokenizers import Tokenizer

from knowledge.embedding import DEFAULT_MODEL_DIR, MiniLM
from modelbuilder.__main__ import main
from modelbuilder.graph import INNER_OUTLIERS, RESIDUAL_OUTLIERS, WEIGHT_MAX, build_graph, divisors, quantise
from modelbuilder.weights import Weights, WeightsError, read_weights

REPOSITORY = Path(__file__).parents[3]
WEIGHTS_DIR = REPOSITORY / ".cache" / "weights"
ROWS: list[dict[str, Any]] = json.loads((REPOSITORY / "tests/golden/minilm_reference.json").read_text("utf-8"))["rows"]


@pytest.fixture(scope="module")
def weights() -> Weights:
    if not WEIGHTS_DIR.exists():
        pytest.skip("the weights are not unpacked in .cache/weights; `make model` does it")
    return read_weights(WEIGHTS_DIR)


@pytest.fixture(scope="module")
def fp32(weights: Weights) -> onnxruntime.InferenceSession:
    model = build_graph(weights, int8=False)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.fixture(scope="module")
def tokenizer(weights: Weights) -> Tokenizer:
    tokenizer = Tokenizer.from_str(weights.tokenizer.decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    return tokenizer


def embed(session: onnxruntime.InferenceSession, batch: list[list[int]]) -> NDArray[np.float64]:
    """Pad with [PAD] = 0, run, take the mean over the unmasked tokens, normalise: shape (texts, 384)."""
    ids = np.zeros((len(batch), max(map(len, batch))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, tokens in enumerate(batch):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    (hidden,) = session.run(["last_hidden_state"], {"input_ids": ids, "attention_mask": mask})
    means = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    vectors: NDArray[np.float64] = means / np.linalg.norm(means, axis=1, keepdims=True)
    return vectors


def test_the_graph_agrees_with_torch_alone_and_padded(fp32: onnxruntime.InferenceSession, tokenizer: Tokenizer) -> None:
    batch = [tokenizer.encode(row["text"]).ids for row in ROWS]
    expected = np.array([row["vector"] for row in ROWS])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    alone = np.concatenate([embed(fp32, [tokens]) for tokens in batch])
    for vectors in (alone, embed(fp32, batch)):  # in one batch the mask hides padding to 256 tokens
        cosines = (vectors * expected).sum(axis=1)
        assert [row["text"] for row, cosine in zip(ROWS, cosines, strict=True) if cosine < 0.9999] == []


@pytest.mark.parametrize("int8", [False, True])
def test_the_graph_is_a_valid_model_with_dynamic_axes(weights: Weights, int8: bool) -> None:
    model = build_graph(weights, int8=int8)
    onnx.checker.check_model(model)
    shapes = {
        value.name: [axis.dim_param or axis.dim_value for axis in value.type.tensor_type.shape.dim]
        for value in (*model.graph.input, *model.graph.output)
    }
    assert shapes == {
        "input_ids": ["batch", "sequence"],
        "attention_mask": ["batch", "sequence"],
        "last_hidden_state": ["batch", "sequence", 384],
    }


# Quantising


matrices = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.floats(-100, 100, width=32).filter(lambda value: value == 0 or abs(value) > 1e-3),
)


@given(value=matrices, axis=st.sampled_from([0, 1]), largest=st.sampled_from([63, 127]))
def test_each_value_comes_back_within_half_a_step(value: NDArray[np.float32], axis: int, largest: int) -> None:
    integers, scales = quantise(value, axis=axis, largest=largest)
    steps = np.expand_dims(scales, axis)
    assert np.abs(integers).max() <= largest
    assert (np.abs(integers * steps - value) <= steps * 0.5001).all()


def test_a_channel_of_zeros_stays_zero_and_a_pair_of_products_fits_into_16_bits() -> None:
    integers, scales = quantise(np.array([[0, 1], [0, -4]], dtype=np.float32), axis=0, largest=WEIGHT_MAX)
    assert integers.tolist() == [[0, 16], [0, -63]]
    assert scales.tolist() == pytest.approx([1, 4 / 63])
    # Activations are uint8; x86 without VNNI adds two uint8 x int8 products in a saturating int16
    assert 2 * 255 * WEIGHT_MAX <= 2**15 - 1


def test_divisors_are_exact_in_floating_point() -> None:
    for outliers in (RESIDUAL_OUTLIERS, *INNER_OUTLIERS.values()):
        by = divisors(outliers, 1536)
        assert (np.log2(by) % 1 == 0).all()
        assert (by != 1).sum() == len(outliers)


# The command


@pytest.mark.usefixtures("weights")
def test_a_build_gives_the_model_in_use_in_place_of_the_build_before(tmp_path: Path) -> None:
    out = tmp_path / "layer" / "model"
    assert main(["--weights", str(WEIGHTS_DIR), "--out", str(out), "--fp32"]) == 0
    assert (out / "model.fp32.onnx").exists()
    assert main(["--weights", str(WEIGHTS_DIR), "--out", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["model.json", "model.onnx", "tokenizer.json"]
    assert (out / "model.onnx").read_bytes() == (DEFAULT_MODEL_DIR / "model.onnx").read_bytes()
    manifest = json.loads((out / "model.json").read_bytes())
    for name, facts in manifest["files"].items():
        content = (out / name).read_bytes()
        assert facts == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    assert list((tmp_path / "layer").iterdir()) == [out]  # nothing temporary stays
    assert MiniLM(out).dimensions == 384


@pytest.mark.usefixtures("weights")
def test_a_folder_that_is_not_a_model_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    assert main(["--weights", str(WEIGHTS_DIR), "--out", str(tmp_path)]) == 1
    assert "not a model folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]


def test_no_weights_is_one_sentence_and_no_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["--weights", str(tmp_path), "--out", str(out)]) == 1
    assert "expected one 'model.safetensors' below this folder, found 0" in capsys.readouterr().err
    assert not out.exists()


OTHER = hashlib.sha256(b"other").hexdigest()


@pytest.mark.parametrize(
    ("config", "sha256", "said"),
    [
        ("{}", {}, r"model\.safetensors: sha256 is \w{64}, expected 53aa5117"),
        ('{"model_type": "roberta"}', {"sha256": OTHER}, "'model_type' is 'roberta', the builder knows only 'bert'"),
    ],
)
def test_altered_weights_and_another_architecture_are_refused(
    tmp_path: Path, config: str, sha256: dict[str, str], said: str
) -> None:
    write_files(tmp_path, {"model.safetensors": b"other", "config.json": config, "tokenizer.json": "{}"})
    with pytest.raises(WeightsError, match=said):
        read_weights(tmp_path, **sha256)
