"""MiniLM: text to unit vectors with all-MiniLM-L6-v2, int8, on onnxruntime; no network, nothing downloaded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from knowledge.model.errors import ModelMissing
from knowledge.model.values import Reading

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from knowledge.model.values import Matrix, Vector

DEFAULT_MODEL_DIR = Path(__file__).resolve().parent.parent / "model"
"""Beside the package: layers/chroma/model in the repository, /opt/python/model in Lambda."""

MANIFEST_FILE = "model.json"
GRAPH_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"

HOW_TO_GET_IT = (
    "Run: make model"
    if DEFAULT_MODEL_DIR.with_name("modelbuilder").is_dir()
    else "Install a package that `make wheel` built: it holds the model"
)
"""A clone builds the model; an installed package came with it, or was built without."""

READINGS = 4
"""A question and what of it is read apart."""

ORT_LOG_ERRORS = 3
"""onnxruntime's severity scale: warnings about the machine are no news to a caller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Manifest:
    """``model.json``. ``sizes`` (bytes) of what is loaded and ``sha256`` (hex) of every file are by file name."""

    model: str
    dimensions: int
    max_tokens: int
    sizes: Mapping[str, int]
    sha256: Mapping[str, str]


class MiniLM:
    """The embedder that indexes and questions share. Safe to call from several threads.

    Each text is a run of its own, padded to nothing. Activations are quantised with one scale per run, so in a
    batch a text's vector would depend on its company (cosine down to .96 between batched and alone), and on a
    CPU a batch is no faster: alone, a text gives the same vector always, and memory stays flat.
    """

    def __init__(self, folder: Path | None = None, *, threads: int = 1) -> None:
        """Load the model.

        Args:
            folder: what ``python -m modelbuilder`` wrote; default ``DEFAULT_MODEL_DIR``.
            threads: processors to use for one text, >= 1.

        Raises:
            ModelMissing: a file is absent, unreadable, or of another size than ``model.json`` says.
        """
        self._folder = folder or DEFAULT_MODEL_DIR
        manifest = _read_manifest(self._folder)
        _check_sizes(self._folder, manifest)
        self._manifest = manifest
        try:
            self._tokenizer = Tokenizer.from_file(str(self._folder / TOKENIZER_FILE))
            self._session = onnxruntime.InferenceSession(
                str(self._folder / GRAPH_FILE), _session_options(threads), providers=["CPUExecutionProvider"]
            )
        except Exception as exc:  # both libraries raise bare Exception subclasses for unreadable files
            raise ModelMissing(
                f"{self._folder}: the embedding model cannot be loaded ({exc}). {HOW_TO_GET_IT}"
            ) from exc
        # The file asks for 128 tokens and padding to 128; ours are max_tokens and none.
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._is_word: dict[int, bool] = {}
        self._readings = lru_cache(maxsize=READINGS)(self._read)

    @property
    def model(self) -> str:
        """The model's name as manifests record it: ``"all-MiniLM-L6-v2"``."""
        return self._manifest.model

    @property
    def dimensions(self) -> int:
        """Length of each vector: 384."""
        return self._manifest.dimensions

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Embed ``texts``: shape (len(texts), dimensions), float32, each row of unit length, input order.

        A text of more than 256 tokens counts with its first 256; an empty one has a vector like any other.
        """
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = _unit_mean(self._token_vectors(text))
        return vectors

    @property
    def vocabulary(self) -> int:
        """How many word pieces it knows: 30,522."""
        return int(self._tokenizer.get_vocab_size())

    def has(self, word: str) -> bool:
        """Whether ``word``, in lower case, is one piece of its vocabulary."""
        return self._tokenizer.token_to_id(word) is not None

    def count(self, text: str) -> int:
        """How many word pieces ``text`` has: 30,000 characters are counted in 10 to 25 ms, and read in .5 to 3 s."""
        return len(self._tokenizer.encode(_valid(text), add_special_tokens=False).ids)

    def read(self, text: str) -> Reading:
        """Read ``text``: its vector as ``embed`` gives it, and that of each of its word pieces.

        What is beyond 256 tokens is read in further runs of as many, which the vector does not know. Several stages
        read the same question: the last ``READINGS`` texts are known, and what is handed out cannot be written to.
        """
        return self._readings(text)

    def _read(self, text: str) -> Reading:
        encoding = self._tokenizer.encode(_valid(text))
        first, *inner, last = encoding.ids
        room = self._manifest.max_tokens - 2
        runs = [self._run([first, *inner[i : i + room], last]) for i in range(0, max(1, len(inner)), room)]
        tokens = np.concatenate([run[1:-1] for run in runs])
        words = np.array([self._tells(number) for number in inner], dtype=bool)
        spans = np.array(encoding.offsets[1:-1], dtype=np.int32).reshape(-1, 2)
        reading = Reading(
            vector=_unit_mean(runs[0]),
            tokens=tokens[words],
            pieces=np.array(inner, dtype=np.int32)[words],
            spans=spans[words],
        )
        for array in (reading.vector, reading.tokens, reading.pieces, reading.spans):
            array.flags.writeable = False
        return reading

    def verify(self) -> None:
        """Compare the sha256 of each model file with ``model.json``.

        Raises:
            ModelMissing: one differs, or cannot be read.
        """
        for name, expected in self._manifest.sha256.items():
            actual = _sha256(self._folder / name)
            if actual != expected:
                raise ModelMissing(f"{self._folder / name}: sha256 is {actual}, expected {expected}. {HOW_TO_GET_IT}")

    def _token_vectors(self, text: str) -> NDArray[np.float32]:
        """Return the contextual vector of each token, shape (tokens, dimensions), not normalised."""
        ids = self._tokenizer.encode(_valid(text)).ids
        longest = self._manifest.max_tokens
        if len(ids) > longest:
            ids = [*ids[: longest - 1], ids[-1]]  # the last one is [SEP], which ends every input
        return self._run(ids)

    def _run(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """The model's output for ``ids``, shape (len(ids), dimensions)."""
        batch = np.array([ids], dtype=np.int64)
        feed = {"input_ids": batch, "attention_mask": np.ones_like(batch)}
        (hidden,) = self._session.run(["last_hidden_state"], feed)
        vectors: NDArray[np.float32] = hidden[0]
        return vectors

    def _tells(self, piece: int) -> bool:
        """Whether a word piece is more than punctuation."""
        known = self._is_word.get(piece)
        if known is None:
            known = any(map(str.isalnum, self._tokenizer.id_to_token(piece) or ""))
            self._is_word[piece] = known
        return known


def _session_options(threads: int) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = ORT_LOG_ERRORS
    # With two threads, the idle one would spin between runs on a processor that other workers need.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # The graph is written fused. The next level would only replace Add + LayerNormalization by an operator that
    # takes four times as long on a CPU, and load for twice as long.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    return options


def _valid(text: str) -> str:
    """``text`` without lone surrogates, which JSON can carry: they would raise in the tokenizer."""
    return text.encode("utf-8", "replace").decode()


def _unit_mean(vectors: NDArray[np.float32]) -> Vector:
    """Mean over all tokens, [CLS] and [SEP] too, as the model was trained; then unit length."""
    mean = vectors.mean(axis=0)
    unit: Vector = mean / np.linalg.norm(mean)
    return unit


def _read_manifest(folder: Path) -> _Manifest:
    path = folder / MANIFEST_FILE
    try:
        raw = json.loads(path.read_bytes())
        return _Manifest(
            model=str(raw["model"]),
            dimensions=int(raw["dimensions"]),
            max_tokens=int(raw["max_tokens"]),
            sizes={name: int(raw["files"][name]["bytes"]) for name in (GRAPH_FILE, TOKENIZER_FILE)},
            sha256={name: str(facts["sha256"]) for name, facts in raw["files"].items()},
        )
    except FileNotFoundError as exc:
        raise ModelMissing(f"No embedding model in {folder}. {HOW_TO_GET_IT}") from exc
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise ModelMissing(f"{path}: not readable as the model's description ({exc!r}). {HOW_TO_GET_IT}") from exc


def _check_sizes(folder: Path, manifest: _Manifest) -> None:
    """Notice an absent or truncated file cheaply, at each start; ``MiniLM.verify`` reads them whole."""
    for name, expected in manifest.sizes.items():
        try:
            actual = (folder / name).stat().st_size
        except OSError as exc:
            raise ModelMissing(f"{folder / name}: {exc.strerror}. {HOW_TO_GET_IT}") from exc
        if actual != expected:
            raise ModelMissing(f"{folder / name}: {actual} bytes, expected {expected}. {HOW_TO_GET_IT}")


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as exc:
        raise ModelMissing(f"{path}: {exc.strerror}. {HOW_TO_GET_IT}") from exc
