"""Many queries: reading them, and the best chunk of each document."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from knowledge.types import Chunk, Hit
from ragctl.failures import CommandFailed
from ragctl.search import best_documents, read_queries

VECTOR = np.ones(1, dtype=np.float32)


class Ranked:
    """An index whose search gives the chunks of ``doc_ids`` in that order; scores fall from 1."""

    def __init__(self, doc_ids: str) -> None:
        self.chunks = len(doc_ids)
        self.asked: list[int] = []
        self._hits = [
            Hit(
                chunk=Chunk(number=n, text="", title="", doc_id=doc_id, chunk_index=0, chunk_count=1),
                score=1 - n / 10,
                distance=n / 10,
                parts={},
            )
            for n, doc_id in enumerate(doc_ids)
        ]

    def search(self, vector: object, *, k: int) -> tuple[Hit, ...]:
        self.asked.append(k)
        return tuple(self._hits[:k])


def documents(index: Ranked, *, k: int) -> list[tuple[str, float]]:
    hits = best_documents(cast("Any", index), VECTOR, k=k)
    return [(hit.chunk.doc_id, hit.score) for hit in hits]


def test_a_document_counts_once_with_its_best_chunk() -> None:
    assert documents(Ranked("aabab"), k=2) == [("a", 1.0), ("b", 0.8)]


def test_more_chunks_are_asked_for_until_there_are_enough_documents() -> None:
    index = Ranked("aaaaaaab")

    assert [doc_id for doc_id, _ in documents(index, k=2)] == ["a", "b"]
    assert index.asked == [4, 8]


def test_an_index_with_fewer_documents_gives_what_it_has() -> None:
    assert [doc_id for doc_id, _ in documents(Ranked("aba"), k=10)] == ["a", "b"]


def test_queries_are_read_in_order_and_blank_lines_left_out(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"_id": 7, "text": "na\\u00efve"}\n\n{"_id": "b", "text": "two", "metadata": {}}\n')

    assert read_queries(path) == [("7", "naïve"), ("b", "two")]


@pytest.mark.parametrize(
    "line", ["nonsense", "[]", "7", '{"_id": "a"}', '{"text": "a"}', '{"_id": "a\\tb", "text": "c"}']
)
def test_a_line_that_is_no_query_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"_id": "a", "text": "b"}\n' + line)

    with pytest.raises(CommandFailed, match=r"line 2: not a query"):
        read_queries(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match=r"nowhere\.jsonl cannot be read: No such file"):
        read_queries(tmp_path / "nowhere.jsonl")
