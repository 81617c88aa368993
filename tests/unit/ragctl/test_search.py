"""The best chunk of each document, from searches that give chunks."""

from knowledge.model.values import Chunk, Hit
from ragctl.search import best_documents


class Ranked:
    """A search that gives the chunks of ``doc_ids`` in that order; scores fall from 1."""

    def __init__(self, doc_ids: str) -> None:
        self.asked: list[int] = []
        self._hits = [
            Hit(
                chunk=Chunk(number=n, text="", title="", doc_id=doc_id, chunk_index=0, chunk_count=1),
                score=1 - n / 10,
                parts={},
            )
            for n, doc_id in enumerate(doc_ids)
        ]

    def __call__(self, text: str, k: int) -> tuple[Hit, ...]:
        assert text == "query"
        self.asked.append(k)
        return tuple(self._hits[:k])


def documents(search: Ranked, *, k: int) -> list[tuple[str, float]]:
    return [(hit.chunk.doc_id, hit.score) for hit in best_documents(search, "query", k=k)]


def test_a_document_counts_once_with_its_best_chunk() -> None:
    assert documents(Ranked("aabab"), k=2) == [("a", 1.0), ("b", 0.8)]


def test_more_chunks_are_asked_for_until_there_are_enough_documents() -> None:
    search = Ranked("aaaaaaab")

    assert [doc_id for doc_id, _ in documents(search, k=2)] == ["a", "b"]
    assert search.asked == [4, 8]


def test_a_search_that_has_no_more_chunks_gives_what_it_has() -> None:
    search = Ranked("aba")

    assert [doc_id for doc_id, _ in documents(search, k=10)] == ["a", "b"]
    assert search.asked == [20]
