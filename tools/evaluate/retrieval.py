"""How near the top the right places are found."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evaluate.labelled import names

if TYPE_CHECKING:
    from evaluate.labelled import LabelledQuestion
    from knowledge.model.values import Chunk

CUTOFF = 10

type Qrels = Mapping[str, Mapping[str, int]]

type Found = Sequence[Collection[str]]
"""The names of each passage that was found, in lower case, the best passage first."""


def score(run: Mapping[str, Sequence[str]], qrels: Qrels) -> dict[str, float]:
    """nDCG@10, recall@10 and MRR@10 of ``run``, query id -> document ids, best first; means over ``qrels``' queries.

    trec_eval's definitions, by ir-measures, which is its code (ranx would bring numba and pandas). It is told ranks,
    not scores: it breaks ties by document id, where our order is already settled.
    """
    import ir_measures

    found = ir_measures.calc_aggregate(list(_measures()), qrels, _ranked(run))
    return {name: float(found[measure]) for measure, name in _measures().items()}


def ranking(found: Found, expected: Iterable[str]) -> list[str]:
    """The passages ``found``, best first, each by the expected name that it bears, or by its rank where it has none.

    A name counts once, at the first passage that bears it; a
    passage that bears several names stands for each of them.
    """
    left = [name.casefold() for name in dict.fromkeys(expected)]
    ranked: list[str] = []
    for rank, own in enumerate(found, start=1):
        met = [name for name in left if name in own]
        left = [name for name in left if name not in met]
        ranked += [f"expected {name}" for name in met] or [f"other {rank}"]
    return ranked


def rank_scores(asked: Sequence[tuple[Found, Sequence[str]]]) -> list[dict[str, float]]:
    """``score`` of each question alone: the relevant are its expected names, each of them once."""
    run = {str(place): ranking(found, expected) for place, (found, expected) in enumerate(asked)}
    wanted = {
        str(place): {f"expected {name.casefold()}": 1 for name in expected} for place, (_, expected) in enumerate(asked)
    }
    scores: list[dict[str, float]] = [{} for _ in asked]
    import ir_measures

    for one in ir_measures.iter_calc(list(_measures()), wanted, _ranked(run)):
        scores[int(one.query_id)][_measures()[one.measure]] = float(one.value)
    return scores


def unknown_names(chunks: Iterable[Chunk], questions: Iterable[LabelledQuestion]) -> list[str]:
    """The expected names that no chunk of the index bears, as they are written, in their order."""
    wanted = {name.casefold(): name for labelled in questions for name in labelled.expected}
    for chunk in chunks:
        if not wanted:
            break
        for name in names(chunk):
            wanted.pop(name, None)
    return list(wanted.values())


def _measures() -> dict[Any, str]:
    from ir_measures import RR, R, nDCG

    return {nDCG @ CUTOFF: "ndcg@10", R @ CUTOFF: "recall@10", RR @ CUTOFF: "mrr@10"}


def _ranked(run: Mapping[str, Sequence[str]]) -> dict[str, dict[str, float]]:
    return {query_id: {doc_id: -float(rank) for rank, doc_id in enumerate(ids)} for query_id, ids in run.items()}
