"""LangChain's EnsembleRetriever over the same chunks, vectors and embedder; runs in an environment of its own.

    rival.py FOLDER    in it texts.json, a list, and vectors.npy, one unit vector for each; Chroma is kept there too

Reads questions from standard input, each a JSON text on a line; answers each with the milliseconds that it took. Says
``0`` when it is ready.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from langchain_chroma import Chroma
from langchain_classic.retrievers import EnsembleRetriever
from langchain_community.retrievers import BM25Retriever
from langchain_core.embeddings import Embeddings

from knowledge.embedding import MiniLM

K = 10
WEIGHTS = [0.7, 0.3]
BATCH = 5000


class SameEmbedder(Embeddings):
    """Ours; of the chunks the vectors are known."""

    def __init__(self, known: dict[str, list[float]]) -> None:
        """``known`` are the vectors of the chunks, by text."""
        self._known = known
        self._model = MiniLM()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The known vectors."""
        return [self._known[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The question's vector, worked out."""
        vector: list[float] = self._model.embed([text])[0].tolist()
        return vector


def main(folder: Path) -> int:
    """Answer until the input ends."""
    texts = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
    vectors = np.load(folder / "vectors.npy").tolist()
    embedder = SameEmbedder(dict(zip(texts, vectors, strict=True)))
    store = Chroma(
        "rival", embedder, persist_directory=str(folder / "chroma"), collection_metadata={"hnsw:space": "cosine"}
    )
    if not store.get(limit=1)["ids"]:
        for start in range(0, len(texts), BATCH):
            store.add_texts(texts[start : start + BATCH])
    retriever = EnsembleRetriever(
        retrievers=[store.as_retriever(search_kwargs={"k": K}), BM25Retriever.from_texts(texts, k=K)], weights=WEIGHTS
    )
    retriever.invoke("warm up")
    print(0, flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        start_s = time.perf_counter()
        found = retriever.invoke(question)
        took_ms = 1000 * (time.perf_counter() - start_s)
        if not found:
            raise RuntimeError("The rival found nothing")
        print(took_ms, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
