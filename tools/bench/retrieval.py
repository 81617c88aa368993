"""Retrieval in a warm process beside a fresh process for each query, as Waypoint's seed did it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from bench.tables import percentile, table
from knowledge.embedding import MiniLM
from knowledge.open.index import open_index
from rag.find.refine.min_score import MinScore
from rag.find.retrieve.dense import DenseRetriever, l2_scale
from rag.values.question import Question, SearchQuery
from rag.wiring.live_index import LiveIndex

ROUNDS = 5
PROCESSES = 7
_FRESH = """
import sys
from knowledge.embedding import MiniLM
from knowledge.open.index import open_index
index = open_index(sys.argv[1], embedder=MiniLM())
print(len(index.nearest(index.embedder.embed([sys.argv[2]])[0], k=10)))
"""


def retrieval(index_folder: Path, questions: list[str]) -> str:
    """p50 and p99 of embed + query + filter, and of a process that does it once."""
    from knowledge.open.handle import IndexHandle

    handle = IndexHandle(lambda: open_index(index_folder, embedder=MiniLM()))
    retrieve, keep = DenseRetriever(LiveIndex(handle), l2_scale), MinScore(0.15, l2_scale)
    retrieve(SearchQuery(text="warm up", top_k=10))
    warm = []
    for text in questions * ROUNDS:
        start = time.perf_counter()
        keep(retrieve(SearchQuery(text=text, top_k=10)).hits, Question(text=text))
        warm.append(1000 * (time.perf_counter() - start))
    handle.close()
    fresh = []
    for text in questions[:PROCESSES]:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", _FRESH, str(index_folder), text], check=True, capture_output=True)
        fresh.append(1000 * (time.perf_counter() - start))
    rows = [
        ("embed + query + filter, warm", percentile(warm, 0.5), percentile(warm, 0.99), "1"),
        (
            "a process per query",
            percentile(fresh, 0.5),
            percentile(fresh, 0.99),
            f"{percentile(fresh, 0.5) / percentile(warm, 0.5):.0f}",
        ),
    ]
    return table(("retrieval", "p50 ms", "p99 ms", "times as long"), rows)
