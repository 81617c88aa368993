"""Retrieval on public question sets: nDCG@10 of hybrid search, with the product's own index."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from evaluation.rates import public_data, report_score

from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.open.index import Index, open_index
from knowledge.read.documents import read
from ragctl.beir import read_qrels, read_queries
from ragctl.evaluate import Qrels, score
from ragctl.modes import Mode, best_documents, searcher

pytestmark = pytest.mark.slow

FLOORS = {"squad_v11_dev": 0.9, "clapnq_dev": 0.98, "covid_faq": 0.71}
MAX_PASSAGES = 300
"""Enough to see a fault; ``ragctl evaluate`` measures on all (SQuAD has 2,067), which takes minutes."""

MANY_QUESTIONS = 600
"""Of more than these (SQuAD asks five of a passage) one for each passage is asked."""

WORSE_BY_AT_MOST = 0.005


@pytest.mark.parametrize("name", FLOORS)
def test_hybrid_search_reaches_its_floor_and_is_never_worse_than_its_better_side(
    name: str, tmp_path: Path, embedder: MiniLM
) -> None:
    data = public_data(name)
    passages = read([data / "corpus.jsonl"]).documents[:MAX_PASSAGES]
    qrels = _within(read_qrels(data / "qrels.tsv"), {passage.doc_id for passage in passages})
    queries = [(query_id, text) for query_id, text in read_queries(data / "queries.jsonl") if query_id in qrels]
    if len(queries) > MANY_QUESTIONS:
        queries = _one_for_each_passage(queries, qrels)

    ingest(passages, target=tmp_path, embedder=embedder)
    with closing(open_index(tmp_path, embedder=embedder)) as index:
        ndcg = {mode: _ndcg(mode, index, queries, qrels) for mode in Mode}

    better = max(ndcg[Mode.dense], ndcg[Mode.bm25])
    note = f"dense {ndcg[Mode.dense]:.3f}, bm25 {ndcg[Mode.bm25]:.3f}, {len(queries)} questions"
    report_score(f"nDCG@10 of hybrid search on {name}", ndcg[Mode.hybrid], FLOORS[name], note)
    assert ndcg[Mode.hybrid] >= better - WORSE_BY_AT_MOST


def _within(qrels: Qrels, doc_ids: set[str]) -> Qrels:
    """The questions all of whose passages are among ``doc_ids``."""
    return {query_id: found for query_id, found in qrels.items() if found.keys() <= doc_ids}


def _one_for_each_passage(queries: list[tuple[str, str]], qrels: Qrels) -> list[tuple[str, str]]:
    """The first question that each set of passages answers."""
    first: dict[frozenset[str], tuple[str, str]] = {}
    for query_id, text in queries:
        first.setdefault(frozenset(qrels[query_id]), (query_id, text))
    return list(first.values())


def _ndcg(mode: Mode, index: Index, queries: list[tuple[str, str]], qrels: Qrels) -> float:
    search = searcher(mode, index, profile="clockify")
    run = {query_id: [hit.chunk.doc_id for hit in best_documents(search, text, k=10)] for query_id, text in queries}
    return score(run, {query_id: qrels[query_id] for query_id in run})["ndcg@10"]
