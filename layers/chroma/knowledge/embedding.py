"""MiniLM: text to unit vectors with all-MiniLM-L6-v2, int8, on onnxruntime; no network, nothing downloaded."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from knowledge.model.errors import ModelMissing
from knowledge.model.values import Matrix, TextEncoding, Vector

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

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

READINGS = 16
"""A question, its views and the sentences of its answer, beside other questions."""
_ENDS = " .?!\u2026\u3002\uff0e\uff1f\uff01\u061f"
"""Full stop, question and exclamation marks and the ellipsis, with those of Chinese, Japanese and Arabic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Manifest:
    """``model.json``: ``sizes`` (bytes) of the loaded files and ``sha256`` (hex) of every file, by file name."""

    model: str
    dimensions: int
    max_tokens: int
    sizes: Mapping[str, int]
    sha256: Mapping[str, str]


class MiniLM:
    """The local embedder of indexes and questions. Safe to call from several threads.

    Each text is a separate run without padding. Activations are quantised with one scale per run, so in a
    batch a text's vector would depend on its company (cosine down to .96 between batched and alone), and on a
    CPU a batch is no faster: alone, a text gives the same vector always, and memory stays flat.
    """

    def __init__(self, folder: Path | None = None, *, threads: int = 1, later: bool = False) -> None:
        """Load the model from ``folder`` (default ``DEFAULT_MODEL_DIR``), which ``python -m modelbuilder`` wrote.

        ``threads`` is the number of processors for one text, >= 1. With ``later`` the model is loaded when the first
        text is read, which an ingest may not need to. ModelMissing: a file is absent, unreadable, or of another size
        than ``model.json`` says.
        """
        self._folder = folder or DEFAULT_MODEL_DIR
        self._manifest = _read_manifest(self._folder)
        self.model = self._manifest.model
        """The model's name as manifests record it: ``"all-MiniLM-L6-v2"``."""
        self.dimensions = self._manifest.dimensions
        """Length of each vector: 384."""
        # Detects an absent or truncated file cheaply, at each start; ``verify`` reads them whole.
        for name, expected in self._manifest.sizes.items():
            try:
                actual = (self._folder / name).stat().st_size
            except OSError as exc:
                raise ModelMissing(f"{self._folder / name}: {exc.strerror}. {HOW_TO_GET_IT}") from exc
            if actual != expected:
                raise ModelMissing(f"{self._folder / name}: {actual} bytes, expected {expected}. {HOW_TO_GET_IT}")
        # A word piece is more than punctuation.
        self._is_word = cache(lambda piece: any(map(str.isalnum, self._tokenizer.id_to_token(piece) or "")))
        self._readings = lru_cache(maxsize=READINGS)(self._read)
        self._threads = threads
        self._loading = threading.Lock()
        self._parts: tuple[Tokenizer, InferenceSession] | None = None
        if not later:
            self._loaded()

    def _loaded(self) -> tuple[Tokenizer, InferenceSession]:
        with self._loading:
            if self._parts is None:
                self._parts = _load(self._folder, self._threads)
            return self._parts

    @property
    def _tokenizer(self) -> Tokenizer:
        return self._loaded()[0]

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Embed ``texts``: shape (len(texts), dimensions), float32, each row of unit length, input order.

        A text of more than 256 tokens counts with its first 256; an empty one has a vector like any other.
        """
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = _unit_mean(self._run(next(self._inputs(self._tokenizer.encode(_valid(text)).ids))))
        return vectors

    @property
    def vocabulary(self) -> int:
        """Number of word pieces: 30,522."""
        return int(self._tokenizer.get_vocab_size())

    def has(self, word: str) -> bool:
        """Whether ``word``, in lower case, is one piece of its vocabulary."""
        return self._tokenizer.token_to_id(word) is not None

    def count(self, text: str) -> int:
        """Count the word pieces of ``text``: 30,000 characters take 10 to 25 ms, and .5 to 3 s in ``read``."""
        return len(self._tokenizer.encode(_valid(text), add_special_tokens=False).ids)

    def read(self, text: str) -> TextEncoding:
        """Encode ``text``: its vector as ``embed`` gives it, and the vector of each of its word pieces.

        Tokens beyond 256 are encoded in further runs of 256, which do not count for the text's vector. Several stages
        read the same question: the last ``READINGS`` results are cached, and their arrays are read-only.
        """
        return self._readings(text)

    def _read(self, text: str) -> TextEncoding:
        encoding = self._tokenizer.encode(_valid(text))
        inner = encoding.ids[1:-1]
        runs = [self._run(ids) for ids in self._inputs(encoding.ids)]
        tokens = np.concatenate([run[1:-1] for run in runs])
        words = np.array([self._is_word(number) for number in inner], dtype=bool)
        spans = np.array(encoding.offsets[1:-1], dtype=np.int32).reshape(-1, 2)
        pieces = np.array(inner, dtype=np.int32)
        reading = TextEncoding(
            vector=_unit_mean(runs[0]), tokens=tokens[words], pieces=pieces[words], spans=spans[words]
        )
        for array in (reading.vector, reading.tokens, reading.pieces, reading.spans):
            array.flags.writeable = False
        return reading

    def verify(self) -> None:
        """Compare the sha256 of each model file with ``model.json``; ModelMissing: one differs, or is unreadable."""
        for name, expected in self._manifest.sha256.items():
            path = self._folder / name
            try:
                with path.open("rb") as file:
                    actual = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as exc:
                raise ModelMissing(f"{path}: {exc.strerror}. {HOW_TO_GET_IT}") from exc
            if actual != expected:
                raise ModelMissing(f"{path}: sha256 is {actual}, expected {expected}. {HOW_TO_GET_IT}")

    def _inputs(self, ids: Sequence[int]) -> Iterator[list[int]]:
        """Return the runs of a text's ``ids``, each between [CLS] and [SEP]."""
        first, *inner, last = ids
        room = self._manifest.max_tokens - 2
        return ([first, *inner[i : i + room], last] for i in range(0, max(1, len(inner)), room))

    def _run(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Return the model's output for ``ids``, shape (len(ids), dimensions)."""
        batch = np.array([ids], dtype=np.int64)
        feed = {"input_ids": batch, "attention_mask": np.ones_like(batch)}
        vectors: NDArray[np.float32] = self._loaded()[1].run(["last_hidden_state"], feed)[0][0]
        return vectors


def _load(folder: Path, threads: int) -> tuple[Tokenizer, InferenceSession]:
    from onnxruntime import GraphOptimizationLevel, InferenceSession, SessionOptions
    from tokenizers import Tokenizer

    options = SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors: warnings about the machine are no news to a caller
    # With two threads, the idle one would spin between runs on a processor that other workers need.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # The graph is written fused. The next level would only replace Add + LayerNormalization by an operator that
    # takes four times as long on a CPU, and load for twice as long.
    options.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_BASIC
    try:
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
        session = InferenceSession(str(folder / GRAPH_FILE), options, providers=["CPUExecutionProvider"])
    except Exception as exc:  # both libraries raise bare Exception subclasses for unreadable files
        raise ModelMissing(f"{folder}: the embedding model cannot be loaded ({exc}). {HOW_TO_GET_IT}") from exc
    # The file asks for 128 tokens and padding to 128; ours are max_tokens and none.
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer, session


def _valid(text: str) -> str:
    """Replace lone surrogates, which JSON may have: the tokenizer raises on them."""
    return text.encode("utf-8", "replace").decode()


def _unit_mean(vectors: NDArray[np.float32]) -> Vector:
    """Return the unit vector of the mean over all tokens, [CLS] and [SEP] too, as the model was trained."""
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


def question_text(text: str) -> str:
    """Remove the final punctuation of a question, unless it is only punctuation.

    The model reads "?" as a token, so that with it every word of a question had another vector. On SQuAD, ClapNQ and
    COVID FAQ nDCG@10 changes by -.002, .000 and +.001 without it, and both ways to ask get one answer.
    """
    return text.rstrip(_ENDS) or text


def embed_text(title: str, text: str) -> str:
    """Return the text to embed for a chunk: its document's title, unless the text begins with it, then its text."""
    first = text.partition("\n")[0].strip()
    if not title or (first.startswith("#") and first.lstrip("#").strip() == title.strip()):
        return text
    return f"{title}\n{text}"
