"""A corpus with judgements: how well, and how fast, each way of searching finds what judges said was relevant."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from evaluate.beir import read_qrels, read_queries
from evaluate.retrieval import Qrels, score
from ragctl.console import emit_json, note, progress, show
from ragctl.failures import CommandFailed
from ragctl.modes import Mode, Search, best_documents, searcher
from ragctl.options import cores, read_settings
from ragctl.report import failures

if TYPE_CHECKING:
    from knowledge.build.summary import Summary
    from rag.config.settings import Settings

CUTOFF_DOCUMENTS = 10
DIGEST_CHARS = 12
MS_PER_S = 1000


def measure_corpus(
    *,
    corpus: Path,
    queries: Path,
    qrels: Path,
    modes: Sequence[Mode],
    profile: str | None,
    index: str | None,
    as_json: bool,
) -> None:
    """Index ``corpus``, ask it ``queries`` in each of ``modes`` (none: all), and print what ``qrels`` say of it."""
    # Of queries that nothing answers there is nothing to measure.
    judged = {query_id: found for query_id, found in read_qrels(qrels).items() if max(found.values()) > 0}
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
        for chosen in modes or list(Mode):
            metrics[chosen] = _measure(searcher(chosen, opened, profile=settings.profile), asked, judged)
    sizes = {"queries": len(asked), "documents": summary.documents, "chunks": summary.chunks}
    if as_json:
        unread = {"failed": failed} if failed else {}
        emit_json({"metrics": metrics, **sizes, **unread, "index": place})
    else:
        _print(metrics, sizes)


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
    given = {(document.doc_id, document.digest) for document in reading.documents}
    if there is not None and not (
        there.model == embedder.model and all((source.doc_id, source.digest) in given for source in there.sources)
    ):
        sentence = f"The index in {str(target)!r} holds something else than {corpus}: name another folder, or remove it"
        raise CommandFailed(sentence, code="index_in_use")
    with progress("Embedding") as on_progress:
        summary = ingest(
            reading.documents,
            target=target,
            embedder=embedder,
            collection=settings.collection,
            on_progress=on_progress,
        )
    return failures(*reading.failed, *summary.failed), summary


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
