"""The best chunk of each document, from searches that give chunks."""

from knowledge.model.values import Chunk, Hit
from ragctl.search import best_documents


class Ranked:
    """A search that gives the chunks of ``doc_ids`` in that order; scores fall from 1."""

    def __init__(self, doc_ids: str) -> None:
        self.asked: list[int] = []
        chunks = [
            Chunk(number=n, text="", title="", doc_id=name, chunk_index=0, chunk_count=1)
            for n, name in enumerate(doc_ids)
        ]
        self._hits = [Hit(chunk=chunk, score=1 - chunk.number / 10, parts={}) for chunk in chunks]

    def __call__(self, text: str, k: int) -> tuple[Hit, ...]:
        assert text == "query"
        self.asked.append(k)
        return tuple(self._hits[:k])


def documents(search: Ranked, *, k: int) -> list[tuple[str, float]]:
    return [(hit.chunk.doc_id, hit.score) for hit in best_documents(search, "query", k=k)]


def test_a_document_counts_once_with_its_best_chunk_and_there_may_be_no_more() -> None:
    assert documents(Ranked("aabab"), k=2) == [("a", 1.0), ("b", 0.8)]
    search = Ranked("aba")
    assert [doc_id for doc_id, _ in documents(search, k=10)] == ["a", "b"]
    assert search.asked == [20]


def test_more_chunks_are_asked_for_until_there_are_enough_documents() -> None:
    search = Ranked("aaaaaaab")
    assert [doc_id for doc_id, _ in documents(search, k=2)] == ["a", "b"]
    assert search.asked == [4, 8]
