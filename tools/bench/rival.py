"""LangChain's EnsembleRetriever as a process beside this one, asked question by question in the same run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from bench.paths import KEPT, ROOT
from knowledge.cut.embedding_text import embed_text
from knowledge.engines.embedded.collection import Collection
from knowledge.open.index import DEFAULT_COLLECTION
from knowledge.open.source import prepare, read_manifest
from knowledge.open.texts import TextStore
from knowledge.search.candidates import number_in

if TYPE_CHECKING:
    from knowledge.model.values import Vector

PYTHON = ROOT / ".venv-langchain" / "bin" / "python"
PROGRAM = Path(__file__).parent / "langchain" / "rival.py"


class Rival:
    """A rival that is ready."""

    def __init__(self, questions: IO[str], answers: IO[str]) -> None:
        """``questions`` and ``answers`` are its standard input and output."""
        self._questions, self._answers = questions, answers

    def ask(self, question: str) -> float:
        """How many milliseconds it takes to find chunks for ``question``."""
        self._questions.write(json.dumps(question) + "\n")
        self._questions.flush()
        return float(self._answers.readline())


@contextmanager
def rival(index: Path) -> Iterator[Rival]:
    """The rival over the chunks of the index in the folder ``index``; its Chroma is kept until they change."""
    manifest = read_manifest(index)
    assert manifest is not None  # noqa: S101 - the caller has made it
    folder = KEPT / f"langchain-{manifest.version}"
    if not (folder / "vectors.npy").is_file():
        for old in KEPT.glob("langchain-*"):
            shutil.rmtree(old)
        _write_corpus(index, folder)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "layers" / "chroma"), "ANONYMIZED_TELEMETRY": "False"}
    with subprocess.Popen(
        [PYTHON, PROGRAM, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as process:
        assert process.stdin  # noqa: S101 - pipes, as asked for
        assert process.stdout  # noqa: S101
        if process.stdout.readline() != "0\n":
            raise RuntimeError("LangChain did not start")
        yield Rival(process.stdin, process.stdout)
        process.stdin.close()


def _write_corpus(index_folder: Path, folder: Path) -> None:
    """What is embedded and searched of each chunk, and its vector, each text once.

    The vectors are written last, so that what was interrupted is written again.
    """
    found: dict[str, Vector] = {}
    with (
        closing(prepare(index_folder)) as prepared,
        closing(Collection.open(prepared.chroma, DEFAULT_COLLECTION)) as collection,
        closing(TextStore(prepared.data)) as texts,
    ):
        for record in collection.scan(with_vectors=True):
            assert record.vector is not None  # noqa: S101 - asked for
            text = texts.get(number_in(record.id))
            found.setdefault(embed_text(str(record.metadata.get("title", "")), text), record.vector)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "texts.json").write_text(json.dumps(list(found)), encoding="utf-8")
    np.save(folder / "vectors.npy", np.stack(list(found.values())))
