"""A whole question before the first one that somebody asks, so that a version that cannot answer never goes live."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from knowledge.model.errors import IndexMissing
from rag.adapters.embedding.caching import CachingEmbedder
from rag.config.built import check_build
from rag.errors import ConfigurationError
from rag.values.chat import Deadline
from rag.values.question import Question
from rag.write.extractive import ExtractiveWriter

if TYPE_CHECKING:
    from rag.pipeline import Pipeline
    from rag.wiring.application import Application

logger = logging.getLogger(__name__)

LONGEST_S = 60.0
"""Nobody waits for it: it bounds the snapshot, not a request."""
MAX_CHARS = 200
"""Of a passage that is asked where there is neither heading nor title."""


def rehearse(service: Application) -> None:
    """Answer one of the index's own headings with all of the pipeline that needs nobody else.

    No LLM, embedder or store is called: an outage elsewhere must not stop a deployment. An index that may still come
    (``Settings.index_may_come``) is left alone.

    Raises:
        ConfigurationError: what was built is not what is deployed, or the threshold that is set declines each of the
            headings that the index answers best.
        IndexUnavailable: the index cannot be opened, is not the embedder's or lacks the collection, or is empty.
        Exception: the question failed; whatever it is, every request would meet it.
    """
    check_build(service.settings)
    if not service.settings.index_may_come:
        answer_own_heading(service)


def answer_own_heading(service: Application) -> None:
    """Answer one of the index's own headings, as ``rehearse`` does; it raises the same."""
    question = _question(service)
    alone = replace(
        service.pipeline,
        admit=lambda asked: asked,  # a heading may be longer than a question may be
        remarks=None,
        conversation=None,
        cache=None,
        learn=None,
        rerank=None,
        feedback=None,
        write=ExtractiveWriter(),
    )
    if not _declined(alone, question):
        return
    logger.warning("the index's own heading %r is declined: is RelevanceThreshold too high?", question)
    others, threshold = service.suggestions(), service.knobs.threshold
    if not others or threshold == "auto" or service.remote is not None:
        return  # an embedder elsewhere is not asked, and what stands for its vector is near to nothing
    if all(_declined(alone, other) for other in others):
        raise ConfigurationError(
            f"RELEVANCE_THRESHOLD={threshold:g} declines all {len(others)} headings of the index that were asked: "
            "set a lower one, or none"
        )


def _declined(pipeline: Pipeline, question: str) -> bool:
    return pipeline.run(Question(text=question), deadline=Deadline.after(LONGEST_S, time.monotonic)).refused


def _question(service: Application) -> str:
    with service.index.lease() as index:
        numbers = index.numbers
        if not numbers:
            raise IndexMissing("The index holds no passage. Run: ragctl ingest PATH")
        (chunk,) = index.fetch(numbers[:1])
        question = next(iter(service.suggestions()), chunk.title or chunk.text[:MAX_CHARS])
        if isinstance(index.embedder, CachingEmbedder):
            vector = np.zeros((1, index.embedder.dimensions), dtype=np.float32)
            vector[0, 0] = 1
            index.embedder.know(question, vector)
    return question
