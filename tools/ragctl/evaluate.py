"""ragctl evaluate: how well, and how fast, each way of searching finds what judges said was relevant."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragctl.beir import read_qrels, read_queries
from ragctl.console import emit_json, note, show
from ragctl.failures import CommandFailed
from ragctl.ingest import failures, progress
from ragctl.modes import Mode, Search, best_documents, searcher
from ragctl.options import Json, Profile, cores, read_settings

if TYPE_CHECKING:
    from knowledge.build.ingest import Summary
    from knowledge.open.manifest import Manifest
    from knowledge.types import Document
    from rag.config.settings import Settings

CUTOFF_DOCUMENTS = 10
DIGEST_CHARS = 12
MS_PER_S = 1000

type Qrels = Mapping[str, Mapping[str, int]]


def evaluate(
    *,
    corpus: Annotated[Path, typer.Option(metavar="C.jsonl", help="The documents: BEIR's {_id, title, text} a line.")],
    queries: Annotated[Path, typer.Option(metavar="Q.jsonl", help="The questions: {_id, text} a line.")],
    qrels: Annotated[Path, typer.Option(metavar="R.tsv", help="What answers them: query-id, corpus-id, score.")],
    mode: Annotated[list[Mode] | None, typer.Option(help="How to search; may be repeated. Default: all.")] = None,
    profile: Profile = None,
    index: Annotated[
        str | None,
        typer.Option(
            "--index",
            metavar="DIR",
            help="Where to keep the index: a new folder, or one that holds nothing but C.jsonl. "
            "Default: .index/eval-<digest>.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure search on a question set: nDCG@10, recall@10, MRR@10 and milliseconds a question."""
    judged = _relevant(read_qrels(qrels))
    asked = [(query_id, text) for query_id, text in read_queries(queries) if query_id in judged]
    if not asked:
        raise CommandFailed(f"No question in {queries} has a relevant document in {qrels}", code="source_unreadable")
    place = index or f".index/eval-{_digest(corpus)}"
    settings = read_settings(index=place, profile=profile)
    failed, summary = _ingest(corpus, settings)

    from knowledge.embedding import MiniLM
    from knowledge.open.index import open_index

    metrics: dict[str, dict[str, float]] = {}
    embedder = MiniLM(threads=cores())
    with closing(open_index(place, embedder=embedder, collection=settings.collection)) as opened:
        for chosen in mode or list(Mode):
            metrics[chosen] = _measure(searcher(chosen, opened, profile=settings.profile), asked, judged)
    sizes = {"queries": len(asked), "documents": summary.documents, "chunks": summary.chunks}
    if as_json:
        unread = {"failed": failed} if failed else {}
        emit_json({"metrics": metrics, **sizes, **unread, "index": place})
    else:
        _print(metrics, sizes)


def score(run: Mapping[str, Sequence[str]], qrels: Qrels) -> dict[str, float]:
    """nDCG@10, recall@10 and MRR@10 of ``run``, query id -> document ids, best first; means over ``qrels``' queries.

    trec_eval's definitions, by ir-measures, which is its code (ranx would bring numba and pandas). It is told ranks,
    not scores: it breaks ties by document id, where our order is already settled.
    """
    import ir_measures
    from ir_measures import RR, R, nDCG

    names = {nDCG @ CUTOFF_DOCUMENTS: "ndcg@10", R @ CUTOFF_DOCUMENTS: "recall@10", RR @ CUTOFF_DOCUMENTS: "mrr@10"}
    ranked = {
        query_id: {doc_id: -float(rank) for rank, doc_id in enumerate(doc_ids)} for query_id, doc_ids in run.items()
    }
    found = ir_measures.calc_aggregate(list(names), qrels, ranked)
    return {name: float(found[measure]) for measure, name in names.items()}


def _measure(search: Search, asked: Sequence[tuple[str, str]], qrels: Qrels) -> dict[str, float]:
    search(asked[0][1], CUTOFF_DOCUMENTS)  # the first search loads what the others find loaded
    run: dict[str, list[str]] = {}
    started = time.perf_counter()
    for query_id, text in asked:
        run[query_id] = [hit.chunk.doc_id for hit in best_documents(search, text, k=CUTOFF_DOCUMENTS)]
    seconds = time.perf_counter() - started
    quality = score(run, {query_id: qrels[query_id] for query_id in run})
    rounded = {name: round(value, 4) for name, value in quality.items()}
    return {**rounded, "msPerQuery": round(MS_PER_S * seconds / len(asked), 2)}


def _ingest(corpus: Path, settings: Settings) -> tuple[list[dict[str, str]], Summary]:
    """What of the corpus could not be read, as ``ragctl ingest`` tells it, and what the index then holds."""
    from knowledge.build.ingest import ingest
    from knowledge.embedding import MiniLM
    from knowledge.open.source import folder_of, read_manifest
    from knowledge.read.documents import read

    reading = read([corpus])
    for failure in reading.failed:
        note(f"Failed: {failure.path}: {failure.error}")
    target, embedder = folder_of(settings.index_place), MiniLM()
    there = read_manifest(target)
    if there is not None and not _may_replace(there, reading.documents, embedder.model):
        sentence = f"The index in {str(target)!r} holds something else than {corpus}: name another folder, or remove it"
        raise CommandFailed(sentence, code="index_in_use")
    with progress() as on_progress:
        summary = ingest(
            reading.documents,
            target=target,
            embedder=embedder,
            collection=settings.collection,
            on_progress=on_progress,
        )
    return failures(*reading.failed, *summary.failed), summary


def _may_replace(there: Manifest, documents: Sequence[Document], model: str) -> bool:
    """Whether nothing that was indexed is lost: all of it is in ``documents``, unchanged, and embedded as here."""
    given = {(document.doc_id, document.digest) for document in documents}
    return there.model == model and all((source.doc_id, source.digest) in given for source in there.sources)


def _relevant(qrels: Qrels) -> Qrels:
    """The judgements of the queries that something answers: of the others there is nothing to measure."""
    return {query_id: documents for query_id, documents in qrels.items() if max(documents.values()) > 0}


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:DIGEST_CHARS]
    except OSError as exc:
        raise CommandFailed(f"{path} cannot be read: {exc.strerror}", code="source_unreadable") from exc


def _print(metrics: Mapping[str, Mapping[str, float]], sizes: Mapping[str, int]) -> None:
    from rich.table import Table

    names = next(iter(metrics.values()))
    table = Table("mode", *names)
    for mode, values in metrics.items():
        table.add_row(
            mode, *(f"{values[name]:.2f}" if name == "msPerQuery" else f"{values[name]:.3f}" for name in names)
        )
    show(", ".join(f"{count} {what}" for what, count in sizes.items()), table)
