"""A trial question at deployment, so that a version that cannot answer never goes live."""

from __future__ import annotations

import json
import logging
import platform
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from knowledge.model.errors import IndexMissing
from rag.adapters.embedding.embedders import CachingEmbedder
from rag.config.settings import DEFAULT_PROFILE, Settings
from rag.errors import ConfigurationError
from rag.values.chat import Deadline
from rag.values.question import Question
from rag.write.extractive import ExtractiveWriter

if TYPE_CHECKING:
    from rag.pipeline import Pipeline
    from rag.wiring.application import Application

logger = logging.getLogger(__name__)

DEADLINE_S = 60.0
"""It bounds the snapshot; no reader waits for this answer."""
MAX_CHARS = 200
"""The part of a chunk's text that is asked if there is neither heading nor title."""
BUILD_FILE = Path(__file__).resolve().parents[2] / "built.json"
"""The profile and the machine that the folder was built for; the function's Makefile writes it."""


def rehearse(service: Application) -> None:
    """Answer one of the index's own headings with the part of the pipeline that calls no other server.

    No LLM, embedder or store is called: an outage elsewhere must not stop a deployment. An index that may appear later
    (``Settings.is_index_replaceable``) is not checked.

    Raises:
        ConfigurationError: the deployment differs from the build, or the configured threshold declines each of the
            headings that the index answers best.
        IndexUnavailable: the index cannot be opened, belongs to another embedder, lacks the collection, or is empty.
        Exception: the question failed, as every request would.
    """
    check_build(service.settings)
    if not service.settings.is_index_replaceable:
        answer_own_heading(service)


def check_build(settings: Settings, path: Path = BUILD_FILE) -> None:
    """Compare the deployment with its build; without ``path``, as in the repository, there is nothing to compare.

    Raises:
        ConfigurationError: the folder was built for another profile or another architecture.
    """
    if not path.is_file():
        return
    built = json.loads(path.read_text(encoding="utf-8"))
    machine = platform.machine()
    deployed = {"PROFILE": settings.profile, "ARCH": "arm64" if machine == "aarch64" else machine}
    for name, parameter in (("PROFILE", "Profile"), ("ARCH", "Architecture")):
        if deployed[name] not in (built[name], DEFAULT_PROFILE):  # the default profile fits any documents
            raise ConfigurationError(
                f"The function was built with {name}={built[name]}, and is deployed with {parameter}={deployed[name]}."
                f" Run: make build {name}={deployed[name]}"
            )


def answer_own_heading(service: Application) -> None:
    """Answer one of the index's own headings, as ``rehearse`` does, with the same errors."""
    question = _own_heading(service)
    alone = replace(
        service.pipeline,
        admit=lambda asked: asked,  # a heading may be longer than the longest question
        remarks=None,
        conversation=None,
        cache=None,
        learn=None,
        rerank=None,
        feedback=None,
        write=ExtractiveWriter(),
    )
    if not _is_declined(alone, question):
        return
    logger.warning("the index's own heading %r is declined: is RelevanceThreshold too high?", question)
    others, threshold = service.suggestions(), service.profile.threshold
    if not others or threshold == "auto" or service.remote is not None:
        return  # a remote embedder is not called, and its stand-in vector is near no chunk
    if all(_is_declined(alone, other) for other in others):
        raise ConfigurationError(
            f"RELEVANCE_THRESHOLD={threshold:g} declines all {len(others)} headings of the index that were asked: "
            "set a lower one, or none"
        )


def _is_declined(pipeline: Pipeline, question: str) -> bool:
    return pipeline.run(Question(text=question), deadline=Deadline.after(DEADLINE_S, time.monotonic)).refused


def _own_heading(service: Application) -> str:
    with service.index.lease() as index:
        numbers = index.numbers
        if not numbers:
            raise IndexMissing("The index holds no passage. Run: ragctl ingest PATH")
        (chunk,) = index.fetch(numbers[:1])
        question = next(iter(service.suggestions()), chunk.title or chunk.text[:MAX_CHARS])
        if isinstance(index.embedder, CachingEmbedder):
            vector = np.zeros((1, index.embedder.dimensions), dtype=np.float32)
            vector[0, 0] = 1
            index.embedder.store_vector(question, vector)
    return question
