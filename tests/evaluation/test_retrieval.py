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

FLOORS = {"squad_v11_dev": 0.89, "clapnq_dev": 0.98, "covid_faq": 0.70}
MANY_QUESTIONS = 3000
"""Of more than these (SQuAD's 10,570) one for each passage is asked; smaller sets are asked whole."""

WORSE_BY_AT_MOST = 0.005


@pytest.mark.parametrize("name", FLOORS)
def test_hybrid_search_reaches_its_floor_and_is_never_worse_than_its_better_side(
    name: str, tmp_path: Path, embedder: MiniLM
) -> None:
    data = public_data(name)
    ingest(read([data / "corpus.jsonl"]).documents, target=tmp_path, embedder=embedder)
    qrels = read_qrels(data / "qrels.tsv")
    queries = [(query_id, text) for query_id, text in read_queries(data / "queries.jsonl") if query_id in qrels]
    if len(queries) > MANY_QUESTIONS:
        queries = _one_for_each_passage(queries, qrels)

    with closing(open_index(tmp_path, embedder=embedder)) as index:
        ndcg = {mode: _ndcg(mode, index, queries, qrels) for mode in Mode}

    better = max(ndcg[Mode.dense], ndcg[Mode.bm25])
    note = f"dense {ndcg[Mode.dense]:.3f}, bm25 {ndcg[Mode.bm25]:.3f}"
    report_score(f"nDCG@10 of hybrid search on {name}", ndcg[Mode.hybrid], FLOORS[name], note)
    assert ndcg[Mode.hybrid] >= better - WORSE_BY_AT_MOST


def _one_for_each_passage(queries: list[tuple[str, str]], qrels: Qrels) -> list[tuple[str, str]]:
    """The first question that each set of passages answers: of SQuAD's 10,570 all would take three minutes.

    On all of them hybrid reaches .8996, so the floor is .01 away. A sample of 500 moves by more than that in either
    direction (.879 to .919 over 50 seeds), one of 1,000 in 8 % of the seeds: smaller is no measurement.
    """
    first: dict[frozenset[str], tuple[str, str]] = {}
    for query_id, text in queries:
        first.setdefault(frozenset(qrels[query_id]), (query_id, text))
    return list(first.values())


def _ndcg(mode: Mode, index: Index, queries: list[tuple[str, str]], qrels: Qrels) -> float:
    search = searcher(mode, index, profile="clockify")
    run = {query_id: [hit.chunk.doc_id for hit in best_documents(search, text, k=10)] for query_id, text in queries}
    return score(run, {query_id: qrels[query_id] for query_id in run})["ndcg@10"]
