"""Retrieval on public question sets: the bars that hybrid search has to reach, with the product's own index."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.open.index import Index, open_index
from knowledge.read.documents import read
from ragctl.beir import read_qrels, read_queries
from ragctl.evaluate import Qrels, score
from ragctl.modes import Mode, best_documents, searcher

DATA = Path(__file__).parents[3] / "shared" / "data"
BARS = {"squad_v11_dev": 0.89, "clapnq_dev": 0.98, "covid_faq": 0.70}
MANY_QUESTIONS = 3000
"""Of more than these (SQuAD's 10,570) one for each passage is asked; smaller sets are asked whole."""

WORSE_BY_AT_MOST = 0.005

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="../shared/data is not there")


@pytest.mark.parametrize("name", BARS)
def test_hybrid_search_reaches_its_bar_and_is_never_worse_than_its_better_side(name: str, tmp_path: Path) -> None:
    embedder = MiniLM(threads=2)
    ingest(read([DATA / name / "corpus.jsonl"]).documents, target=tmp_path, embedder=embedder)
    qrels = read_qrels(DATA / name / "qrels.tsv")
    queries = [(query_id, text) for query_id, text in read_queries(DATA / name / "queries.jsonl") if query_id in qrels]
    if len(queries) > MANY_QUESTIONS:
        queries = _one_for_each_passage(queries, qrels)

    with closing(open_index(tmp_path, embedder=embedder)) as index:
        ndcg = {mode: _ndcg(mode, index, queries, qrels) for mode in Mode}

    assert ndcg[Mode.hybrid] >= BARS[name]
    assert ndcg[Mode.hybrid] >= max(ndcg[Mode.dense], ndcg[Mode.bm25]) - WORSE_BY_AT_MOST


def _one_for_each_passage(queries: list[tuple[str, str]], qrels: Qrels) -> list[tuple[str, str]]:
    """The first question that each set of passages answers: of SQuAD's 10,570 all would take three minutes.

    On all of them hybrid reaches .8996, so the bar is .01 away. A sample of 500 moves by more than that in either
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
