"""``python -m modelbuilder --weights DIR --out DIR``: writes the model that ``knowledge`` loads."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from modelbuilder.graph import build_graph
from modelbuilder.weights import SAFETENSORS_SHA256, TOKENIZER_FILE, Weights, WeightsError, read_weights

MODEL_NAME = "all-MiniLM-L6-v2"

MAX_TOKENS = 256
"""Longest input, special tokens included: what the model was trained for (sentence_bert_config.json)."""

INT8_FILE = "model.onnx"
FP32_FILE = "model.fp32.onnx"
MANIFEST_FILE = "model.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the model; exit status 0 done, 1 failed (one sentence on stderr), 2 bad usage."""
    parser = argparse.ArgumentParser(prog="python -m modelbuilder", description=__doc__)
    parser.add_argument("--weights", type=Path, required=True, help="unpacked packages of requirements/model.txt")
    parser.add_argument("--out", type=Path, required=True, help="folder to write; replaced as a whole")
    parser.add_argument("--fp32", action="store_true", help=f"keep the unquantised graph too, as {FP32_FILE}")
    options = parser.parse_args(arguments)
    try:
        build(read_weights(options.weights), options.out, fp32=options.fp32)
    except (WeightsError, OSError) as exc:
        sys.stderr.write(f"modelbuilder: {exc}\n")
        return 1
    return 0


def build(weights: Weights, out: Path, *, fp32: bool = False) -> None:
    """Write the model's files into a fresh folder and put it in the place of ``out``.

    Raises:
        WeightsError: a tensor that the graph needs is not in ``weights``.
        OSError: the folder cannot be written.
    """
    files = {INT8_FILE: _serialise(weights, int8=True), TOKENIZER_FILE: weights.tokenizer}
    manifest = {
        "model": MODEL_NAME,
        "dimensions": weights.config.hidden_size,
        "max_tokens": MAX_TOKENS,
        "weights_sha256": SAFETENSORS_SHA256,
        "files": {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in files.items()
        },
    }
    if fp32:
        files[FP32_FILE] = _serialise(weights, int8=False)
    files[MANIFEST_FILE] = (json.dumps(manifest, indent=2) + "\n").encode()
    _replace_folder(out, files)


def _serialise(weights: Weights, *, int8: bool) -> bytes:
    try:
        return bytes(build_graph(weights, int8=int8).SerializeToString(deterministic=True))
    except KeyError as exc:
        raise WeightsError(f"the weights have no tensor {exc}") from exc


def _replace_folder(out: Path, files: Mapping[str, bytes]) -> None:
    """Write ``files`` beside ``out``, then rename: a reader sees the old folder, none, or the whole new one."""
    out = out.resolve()
    if out.exists() and any(out.iterdir()) and not (out / MANIFEST_FILE).exists():
        # The folder is replaced as a whole: a slip of the hand must not delete something else.
        raise FileExistsError(f"{out} is not empty and holds no {MANIFEST_FILE}: not a model folder, left alone")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as aside:
        fresh = Path(aside, "new")
        fresh.mkdir()  # with the umask's mode: the temporary folder itself is 0700
        for name, content in files.items():
            (fresh / name).write_bytes(content)
        if out.exists():
            out.rename(Path(aside, "old"))
        fresh.rename(out)


if __name__ == "__main__":
    sys.exit(main())
