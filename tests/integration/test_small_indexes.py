"""The bar of indexes of one to ten chunks: they answer what they hold, and refuse most of what they do not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from shop import PAGES

from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.model.values import Document, Evidence, View
from knowledge.open.index import Index, open_index

ANSWERED = {
    "Returns": ["how long can i send boots back", "when do I get my refund?"],
    "Shipping": ["what does delivery to an island cost", "When do parcels leave the warehouse?"],
    "Resoling": ["new sole price", "can you glue a rubber sole on my boots"],
    "Sizes": ["do you have half sizes", "how do i measure my foot"],
    "Waxing": ["how do i wax the leather"],
    "Vouchers": ["how long is a voucher valid?"],
    "Guarantee": ["are laces covered by the guarantee"],
    "Wholesale": ["how many pairs must a dealer order"],
    "Newsletter": ["how do i stop the newsletter"],
    "Workshop": ["when do tours of the workshop start"],
}
FAR = [
    "how do i reset the router",
    "What is the population of Chile?",
    "write a haiku about spring",
    "Who won the chess championship in 1972?",
    "my tomatoes have black spots",
    "is aspirin good for a fever",
    "how do i merge two branches in git",
    "Tell me about the French revolution.",
    "what is the boiling point of nitrogen",
    "play some jazz",
    "how do i file a patent",
    "which visa do i need for Japan",
    "translate hello into Italian",
    "why is my electricity bill so high",
    "what are the rules of cricket",
    "how do i calm a crying baby",
]


def documents(count: int) -> list[Document]:
    return [
        Document(doc_id=title, title=title, text=text, digest=text, path=f"{title}.txt")
        for title, text in list(PAGES.items())[:count]
    ]


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM()


@contextmanager
def opened(folder: Path, model: MiniLM) -> Iterator[Index]:
    index = open_index(folder, embedder=model)
    yield index
    index.close()


def evidence(index: Index, question: str) -> Evidence:
    found = index.search([View(question)], k=3).evidence
    assert found is not None
    return found


def passes(index: Index, question: str) -> bool:
    found = evidence(index, question)
    return found.bar is not None and found.score >= found.bar


@pytest.mark.parametrize("count", [1, 3, 10])
def test_a_small_index_answers_what_it_holds_and_little_else(tmp_path: Path, count: int, model: MiniLM) -> None:
    ingest(documents(count), target=tmp_path, embedder=model)
    with opened(tmp_path, model) as index:
        asked = [question for title in list(PAGES)[:count] for question in ANSWERED[title]]

        assert [question for question in asked if not passes(index, question)] == []
        assert sum(passes(index, question) for question in FAR) <= 2
