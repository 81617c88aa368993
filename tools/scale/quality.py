"""nDCG@10 of one corpus with judgements: from a folder, and from a server with a table of words and with counted ones.

``python -m scale.quality FOLDER QUESTIONS``; FOLDER has BEIR's files.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from evaluate.beir import read_qrels, read_queries
from evaluate.retrieval import score
from knowledge.build.ingest import ingest
from knowledge.build.served.ingest import ingest_served
from knowledge.embedding import MiniLM
from knowledge.engines.server.words import TABLE_CHUNKS
from knowledge.model.values import View
from knowledge.open.index import open_index
from knowledge.open.served import open_served
from knowledge.read.documents import read
from ragctl.modes import best_documents
from scale.server import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knowledge.model.values import SearchResult

CUTOFF = 10


def compare(folder: Path, count: int) -> dict[str, object]:
    """nDCG@10, and in how many of the questions the first five documents are those of the folder."""
    qrels = {key: each for key, each in read_qrels(folder / "qrels.tsv").items() if max(each.values()) > 0}
    asked = [one for one in read_queries(folder / "queries.jsonl") if one[0] in qrels]
    asked = random.Random(1).sample(asked, min(count, len(asked)))  # noqa: S311 - a sample
    documents, model = read([folder / "corpus.jsonl"]).documents, _Remembering(threads=2)
    runs: dict[str, dict[str, list[str]]] = {}
    figures: dict[str, object] = {"corpus": folder.name, "questions": len(asked)}
    with tempfile.TemporaryDirectory() as place, Server(Path(place) / "data") as server:
        figures["chunks"] = ingest(documents, target=Path(place) / "index", embedder=model).chunks
        with closing(open_index(Path(place) / "index", embedder=model)) as index:
            runs["embedded"] = _run(index.search, asked)
        for name, table_chunks in (("table", TABLE_CHUNKS), ("counted", 0)):
            work = Path(place) / "work"
            ingest_served(
                documents, uri=server.uri, work=work, embedder=model, collection=name, table_chunks=table_chunks
            )
            with closing(open_served(server.uri, embedder=model, collection=name)) as served:
                runs[name] = _run(served.search, asked)
    for name, run in runs.items():
        quality = score(run, {key: qrels[key] for key in run})
        same = sum(run[key][:5] == runs["embedded"][key][:5] for key in run) / len(run)
        figures[name] = {**{key: round(value, 4) for key, value in quality.items()}, "same five": round(same, 3)}
    return figures


class _Remembering(MiniLM):
    """Reads each text once, however often it is indexed."""

    def __init__(self, *, threads: int) -> None:
        super().__init__(threads=threads)
        self._readings = lru_cache(maxsize=None)(self._read)


def _run(search: Callable[..., SearchResult], asked: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    run = {}
    for key, text in asked:
        best = best_documents(lambda text, k: search([View(text)], k=k).hits, text, k=CUTOFF)
        run[key] = [hit.chunk.doc_id for hit in best]
    return run


if __name__ == "__main__":
    print(json.dumps(compare(Path(sys.argv[1]), int(sys.argv[2]))))
