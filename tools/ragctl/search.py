"""ragctl search: the best chunks for one query, or a run file of documents for many; and the modes of search."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from evaluate.question_files import read_queries
from ragctl.console import emit_json, print_rich
from ragctl.options import IndexDir, Json, Profile, read_settings

if TYPE_CHECKING:
    from knowledge.model.values import Hit
    from knowledge.open.opened import ChromaIndex

RUN_HEADER = "query-id\tcorpus-id\tscore"
SNIPPET_CHARS = 240
MAX_K = 1000

type Search = Callable[[str, int], tuple[Hit, ...]]
"""Returns the k best chunks for a text, best first."""


class Mode(StrEnum):
    """How to search: by meaning, by words, by both, or by all signals of the index."""

    dense = "dense"
    bm25 = "bm25"
    hybrid = "hybrid"
    late = "late"


def search(
    text: Annotated[str | None, typer.Argument(help="The query.")] = None,
    *,
    k: Annotated[int, typer.Option("--k", min=1, max=MAX_K, help="Chunks (with --run: documents) per query.")] = 10,
    mode: Annotated[
        Mode | None, typer.Option(help="How to search. Default: late, or what the index has instead.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also print the parts of each score, and the best cosine for each word.")
    ] = False,
    queries: Annotated[
        Path | None, typer.Option(metavar="Q.jsonl", help="Many queries: BEIR's {_id, text} a line; with --run.")
    ] = None,
    run: Annotated[Path | None, typer.Option(metavar="OUT.tsv", help="Where to write their best documents.")] = None,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> None:
    """Find the best chunks for TEXT, each with its score and the cosine that a threshold is compared with."""
    if (queries is None) != (run is None):
        raise typer.BadParameter("--queries and --run go together")
    if (text is None) == (queries is None):
        raise typer.BadParameter("give either TEXT, or --queries and --run")
    if text is not None and not text.strip():
        raise typer.BadParameter("it is empty", param_hint="TEXT")
    settings = read_settings(index=index, profile=profile)
    many = read_queries(queries) if queries else []

    from ragctl.embedders import open_for_questions

    with closing(open_for_questions(settings)) as opened:
        find = searcher(mode or (Mode.late if opened.late else Mode.hybrid), opened, profile=settings.profile)
        if text is not None:
            hits = find(text, k)
            cosines = word_cosines(opened, text, hits) if explain else [{} for _ in hits]
            _print_hits(hits, cosines, explain=explain, as_json=as_json)
        elif run is not None:
            lines = [RUN_HEADER]
            for query_id, query in many:
                documents = best_documents(find, query, k=k)
                lines += [f"{query_id}\t{hit.chunk.doc_id}\t{hit.score:.6f}" for hit in documents]
            run.write_text("\n".join(lines) + "\n", encoding="utf-8")
            result = {"queries": len(many), "run": str(run)}
            emit_json(result) if as_json else print_rich(f"{len(many)} queries: {run}")


def _print_hits(hits: Sequence[Hit], cosines: Sequence[Mapping[str, float]], *, explain: bool, as_json: bool) -> None:
    ranked = list(zip(range(1, len(hits) + 1), hits, cosines, strict=True))
    if as_json:
        emit_json({"hits": [_hit_fields(*one) for one in ranked]})
        return

    for rank, hit, words in ranked:
        chunk = hit.chunk
        section = f" > {chunk.section}" if chunk.section else ""
        cosine = f"  cosine {hit.parts['dense']:.3f}" if "dense" in hit.parts else ""
        score = f"  {hit.score:.3f}{cosine}  "
        text = " ".join(chunk.text.split())
        snippet = text if len(text) <= SNIPPET_CHARS else text[: SNIPPET_CHARS - 1] + "…"
        parts = "  ".join(f"{name} {value:.3f}" for name, value in _finite_parts(hit).items())
        by_word = "  ".join(f"{word} {value:.2f}" for word, value in words.items())
        details = [line for line in (parts, by_word) if line and explain]
        print_rich(
            Text.assemble(f"{rank:2}. ", (f"{chunk.title}{section}", "bold"), score, (chunk.id, "dim")),
            *(Text(f"    {line}", style="dim") for line in (snippet, *details)),
        )


def _hit_fields(rank: int, hit: Hit, cosines: Mapping[str, float]) -> dict[str, Any]:
    chunk = hit.chunk
    return {
        "rank": rank,
        "id": chunk.id,
        "docId": chunk.doc_id,
        "title": chunk.title,
        "section": chunk.section,
        "score": round(hit.score, 6),
        "parts": {name: round(value, 6) for name, value in _finite_parts(hit).items()},
        **({"words": {word: round(value, 3) for word, value in cosines.items()}} if cosines else {}),
        "text": chunk.text,
    }


def _finite_parts(hit: Hit) -> dict[str, float]:
    return {name: value for name, value in hit.parts.items() if math.isfinite(value)}


def searcher(mode: Mode, index: ChromaIndex, *, profile: str) -> Search:
    """Return the search of ``mode`` on ``index``; a hybrid search has the weights of ``profile``.

    Raises:
        IndexMismatch: the index lacks what ``mode`` needs: token vectors, or BM25 as a table.
    """
    from knowledge.embedding import question_text
    from knowledge.model.values import View

    match mode:
        case Mode.dense:
            return lambda text, k: index.nearest(index.embedder.embed([question_text(text)])[0], k=k)
        case Mode.bm25:
            return _bm25_search(index)
        case Mode.hybrid:
            return _hybrid_search(index, profile)
        case Mode.late:
            if not index.late:
                index.search([], k=1)  # raises IndexMismatch with the reason
            return lambda text, k: index.search([View(text)], k=k).hits


def _hybrid_search(index: ChromaIndex, profile: str) -> Search:
    from knowledge.open.handle import IndexHandle
    from rag.config.settings import load
    from rag.find.retrieve import DENSE_WEIGHT, HybridRetriever
    from rag.profiles import load_profile
    from rag.values.question import SearchQuery
    from rag.wiring.live_index import LiveIndex

    knobs = load(load_profile(profile).settings)
    retrieve = HybridRetriever(LiveIndex(IndexHandle(lambda: index)), getattr(knobs, "dense_weight", DENSE_WEIGHT))
    return lambda text, k: retrieve(SearchQuery(text=text, top_k=k)).hits


def _bm25_search(index: ChromaIndex) -> Search:
    import numpy as np

    from knowledge.model.errors import IndexMismatch
    from knowledge.model.values import Hit
    from knowledge.search.lexical import Lexical
    from rag.find.retrieve import best_first

    lexical = index.lexical
    if not isinstance(lexical, Lexical):
        raise IndexMismatch("The index has no table of BM25 to search by words alone. Run: ragctl ingest PATH")

    def search(text: str, k: int) -> tuple[Hit, ...]:
        scores = lexical.scores(text)
        order = best_first(scores, lexical.numbers, min(k, int(np.count_nonzero(scores))))
        chunks = index.fetch(lexical.numbers[order].tolist())
        return tuple(
            Hit(chunk=chunk, score=float(scores[row]), parts={"bm25": float(scores[row])})
            for row, chunk in zip(order, chunks, strict=True)
        )

    return search


def best_documents(search: Search, text: str, *, k: int) -> list[Hit]:
    """Return the best chunk of each of the ``k`` best documents, best first."""
    chunks = k
    while True:
        chunks *= 2
        hits = search(text, chunks)
        best: dict[str, Hit] = {}
        for hit in hits:
            best.setdefault(hit.chunk.doc_id, hit)
        if len(best) >= k or len(hits) < chunks:
            return list(best.values())[:k]


def word_cosines(index: ChromaIndex, text: str, hits: Sequence[Hit]) -> list[dict[str, float]]:
    """Return for each hit, by word of ``text``, the cosine (-1..1) of the word with the hit's most similar token.

    A word of several pieces has their mean. The dictionaries are empty if ``index`` has no token vectors.
    """
    from knowledge.model.values import View

    evidence = index.search([View(text)], k=1).evidence if index.late else None
    if evidence is None:
        return [{} for _ in hits]
    words: dict[tuple[int, int], list[int]] = {}
    for piece, (start, end) in enumerate(evidence.asked.spans.tolist()):
        before = next(reversed(words), (0, 0))
        if start == before[1] < end and words:  # pieces that touch each other are one word
            words[before[0], end] = [*words.pop(before), piece]
        elif start < end:
            words[start, end] = [piece]
    asked = evidence.asked.text
    cosines: list[dict[str, float]] = []
    for hit in hits:
        if hit.match is None:
            cosines.append({})
            continue
        best = hit.match.similarities.max(axis=1)
        cosines.append({asked[start:end]: float(best[pieces].mean()) for (start, end), pieces in words.items()})
    return cosines
