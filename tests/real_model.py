"""The real embedding model and the samples' indexes, made once for a whole run: they never change."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from filelock import FileLock

from knowledge.build import calibrate
from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.model.manifest import MANIFEST_NAME
from knowledge.read.documents import read

if TYPE_CHECKING:
    from knowledge.model.values import Matrix, Vector

PASSAGES = 300
"""Of a public set: enough to see a fault; ``ragctl evaluate`` measures on all, which takes minutes."""
SAMPLES = Path(__file__).resolve().parents[1] / "samples"


class RememberingMiniLM(MiniLM):
    """The model as it is, except that a text which comes again is not worked out again."""

    def __init__(self) -> None:
        """Load the model."""
        super().__init__()
        self._known: dict[str, Vector] = {}

    def embed(self, texts: Sequence[str]) -> Matrix:
        """As the model does it."""
        for text in texts:
            if text not in self._known:
                self._known[text] = super().embed([text])[0]
        vectors = [self._known[text] for text in texts]
        return np.array(vectors, dtype=np.float32).reshape(len(texts), self.dimensions)


ALL_QUESTIONS = calibrate.background


@contextmanager
def few_background_questions(every: int = 12) -> Iterator[None]:
    """Let ingests ask one in ``every`` background question: they are most of the time of one of a few pages."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibrate, "background", lambda language="English": ALL_QUESTIONS(language)[::every])
        yield


@functools.cache
def model() -> MiniLM:
    """The one that all tests of this process share."""
    return RememberingMiniLM()


def sample_index(name: str, factory: pytest.TempPathFactory) -> Path:
    """samples/``name`` as an index; copy it before changing it."""
    return made_once(name, SAMPLES / name, factory)


def public_index(data: Path, factory: pytest.TempPathFactory) -> Path:
    """The first ``PASSAGES`` of the public set in the folder ``data`` as an index; copy it before changing it."""
    return made_once(data.name, data / "corpus.jsonl", factory, most=PASSAGES)


def made_once(
    name: str, source: Path, factory: pytest.TempPathFactory, *, most: int | None = None, every: int = 1
) -> Path:
    """The index ``name`` of the first ``most`` documents of ``source``, made by the first test process that asks.

    Its ingest asks one in ``every`` background question.
    """
    ours = factory.getbasetemp()
    target = (ours.parent if os.environ.get("PYTEST_XDIST_WORKER") else ours) / f"{name}-index"
    with FileLock(f"{target}.lock"):
        if not (target / MANIFEST_NAME).exists():
            reading = read([source])
            assert not reading.failed
            with few_background_questions(every):
                ingest(reading.documents[:most], target=target, embedder=model())
    return target
