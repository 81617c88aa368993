"""``python -m modelbuilder``: the same bytes each time, whole folders only, and sentences for what is wrong."""

import hashlib
import json
from pathlib import Path

import pytest
from made_files import write_files

from knowledge.embedding import DEFAULT_MODEL_DIR, MiniLM
from modelbuilder.__main__ import main
from modelbuilder.weights import WeightsError, read_weights

WEIGHTS_DIR = Path(__file__).parents[3] / ".cache" / "weights"

needs_weights = pytest.mark.skipif(
    not WEIGHTS_DIR.exists(), reason="the weights are not unpacked in .cache/weights; `make model` does it"
)


@needs_weights
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


@needs_weights
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


@pytest.mark.parametrize(
    ("config", "sha256", "said"),
    [
        ("{}", {}, r"model\.safetensors: sha256 is \w{64}, expected 53aa5117"),
        (
            '{"model_type": "roberta"}',
            {"sha256": hashlib.sha256(b"other").hexdigest()},
            "'model_type' is 'roberta', the builder knows only 'bert'",
        ),
    ],
)
def test_altered_weights_and_another_architecture_are_refused(
    tmp_path: Path, config: str, sha256: dict[str, str], said: str
) -> None:
    write_files(tmp_path, {"model.safetensors": b"other", "config.json": config, "tokenizer.json": "{}"})
    with pytest.raises(WeightsError, match=said):
        read_weights(tmp_path, **sha256)
