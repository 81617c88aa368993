"""ragctl evaluate: measure the service on one's own questions, or the modes of search on a corpus with judgements."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from evaluate.judge import Qrels, score_run
from evaluate.metrics import LIMITED
from evaluate.question_files import read_qrels, read_queries
from ragctl.console import CommandFailed, emit_json, note, print_rich, progress
from ragctl.options import FAIL_UNDER, Json, Profile, count_cores, read_settings, require_at_most_one
from ragctl.search import Mode, Search, best_documents, searcher

if TYPE_CHECKING:
    from knowledge.build.summary import Summary
    from rag.config.settings import Settings

CUTOFF_DOCUMENTS = 10
DIGEST_CHARS = 12
MS_PER_S = 1000
MOST_DRAFTS = 10_000

# The options of each kind of measurement have their own panel in the help.
_own = partial(typer.Option, rich_help_panel="Your own questions")
_draft = partial(typer.Option, rich_help_panel="A draft of questions")
_corpus = partial(typer.Option, rich_help_panel="A corpus with judgements")


def evaluate(
    *,
    questions: Annotated[
        Path | None,
        _own(
            metavar="Q.jsonl",
            help='Questions to the index: {"question", "expected"?, "answer"?, "answerable"?} a line.',
        ),
    ] = None,
    html: Annotated[Path | None, _own(metavar="R.html", help="Also write a page with plots.")] = None,
    compare: Annotated[Path | None, _own(metavar="OLD.json", help="The output of an earlier run with --json.")] = None,
    fail_under: Annotated[
        list[str] | None,
        _own(
            FAIL_UNDER,
            metavar="NAME=X,...",
            help="Exit with 1 unless each figure reaches X; may be repeated. For errors, time and cost X is an "
            f"upper limit. Names: {', '.join(LIMITED)}.",
        ),
    ] = None,
    limit: Annotated[int | None, _own(min=1, help="Ask a sample of this size, drawn by --seed.")] = None,
    seed: Annotated[int | None, _own(min=0, help="The seed of all random draws. Default: 0.")] = None,
    fresh: Annotated[bool, _own("--fresh", help="Ask all questions again, also those with a kept reply.")] = False,
    drafts: Annotated[
        int | None,
        _draft(
            "--make-questions",
            metavar="N",
            min=1,
            max=MOST_DRAFTS,
            help="Draft N questions from the documents of the index, for you to correct.",
        ),
    ] = None,
    out: Annotated[Path | None, _draft(metavar="Q.jsonl", help="Where to write them: a new file.")] = None,
    corpus: Annotated[
        Path | None, _corpus(metavar="C.jsonl", help="The documents: BEIR's {_id, title, text} a line.")
    ] = None,
    queries: Annotated[Path | None, _corpus(metavar="Q.jsonl", help="The questions: {_id, text} a line.")] = None,
    qrels: Annotated[
        Path | None, _corpus(metavar="R.tsv", help="What answers them: query-id, corpus-id, score.")
    ] = None,
    mode: Annotated[list[Mode] | None, _corpus(help="How to search; may be repeated. Default: all.")] = None,
    profile: Profile = None,
    index: Annotated[
        str | None,
        typer.Option(
            "--index",
            metavar="DIR",
            help="The index. Default: $INDEX_URI, else .index/<profile>. With --corpus, where to keep its index: a new "
            "folder, or one that holds nothing but C.jsonl; default: .index/eval-<digest>.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure the service on your own questions: search, answers, refusals, confidence, time and cost.

    With --make-questions: draft such questions. With --corpus: nDCG@10, recall@10, MRR@10 and milliseconds a question
    of search alone.
    """
    kinds = {"--questions": questions, "--make-questions": drafts, "--corpus": corpus or queries or qrels}
    own = {"--html": html, "--compare": compare, FAIL_UNDER: fail_under, "--limit": limit, "--fresh": fresh or None}
    options: dict[str, dict[str, object]] = {
        "--questions": {"--seed": seed, **own},
        "--make-questions": {"--seed": seed, "--out": out},
        "--corpus": {"--queries": queries, "--qrels": qrels, "--mode": mode},
    }
    _require_one_kind(kinds, options)

    from ragctl.evaluate_questions import make_questions, measure_questions

    seed = seed or 0
    if questions is not None:
        measure_questions(
            questions,
            html=html,
            compare=compare,
            fail_under=fail_under or [],
            limit=limit,
            seed=seed,
            fresh=fresh,
            profile=profile,
            index=index,
            as_json=as_json,
        )
    elif drafts is not None:
        if out is None:
            raise typer.BadParameter("--make-questions needs --out, the file to write")
        make_questions(drafts, out, seed=seed, profile=profile, index=index, as_json=as_json)
    elif corpus is not None and queries is not None and qrels is not None:
        _measure_corpus(
            corpus=corpus, queries=queries, qrels=qrels, modes=mode or [], profile=profile, index=index, as_json=as_json
        )
    else:
        judged = {"--corpus": corpus, "--queries": queries, "--qrels": qrels}
        missing = [name for name, value in judged.items() if value is None]
        raise typer.BadParameter(f"--corpus, --queries and --qrels go together; not given: {', '.join(missing)}")


def _require_one_kind(kinds: Mapping[str, object], options: Mapping[str, Mapping[str, object]]) -> None:
    """Require exactly one kind of measurement, and none of the ``options`` of another kind."""
    chosen = require_at_most_one(kinds)
    if not chosen:
        raise typer.BadParameter("give --questions, or --make-questions and --out, or --corpus, --queries and --qrels")
    for other in options.values():
        for name, value in other.items():
            if name not in options[chosen[0]] and value is not None:
                raise typer.BadParameter(f"{name} does not go with {chosen[0]}")


def _measure_corpus(
    *,
    corpus: Path,
    queries: Path,
    qrels: Path,
    modes: Sequence[Mode],
    profile: str | None,
    index: str | None,
    as_json: bool,
) -> None:
    """Index ``corpus``, search it for ``queries`` in each of ``modes`` (none: all), and print the scores."""
    # Queries without a relevant document cannot be measured.
    judged = {query_id: found for query_id, found in read_qrels(qrels).items() if max(found.values()) > 0}
    asked = [(query_id, text) for query_id, text in read_queries(queries) if query_id in judged]
    if not asked:
        raise CommandFailed(f"No question in {queries} has a relevant document in {qrels}", code="source_unreadable")
    if not index:
        try:
            with corpus.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()[:DIGEST_CHARS]
        except OSError as exc:
            raise CommandFailed(f"{corpus} cannot be read: {exc.strerror}", code="source_unreadable") from exc
        index = f".index/eval-{digest}"
    settings = read_settings(index=index, profile=profile)
    failed, summary = _ingest_corpus(corpus, settings)

    from knowledge.embedding import MiniLM
    from knowledge.open.index import open_index

    metrics: dict[str, dict[str, float]] = {}
    embedder = MiniLM(threads=count_cores())
    with closing(open_index(index, embedder=embedder, collection=settings.collection)) as opened:
        for chosen in modes or list(Mode):
            metrics[chosen] = _measure_mode(searcher(chosen, opened, profile=settings.profile), asked, judged)
    sizes = {"queries": len(asked), "documents": summary.documents, "chunks": summary.chunks}
    if as_json:
        unread = {"failed": failed} if failed else {}
        emit_json({"metrics": metrics, **sizes, **unread, "index": index})
    else:
        _print_metrics(metrics, sizes)


def _measure_mode(search: Search, asked: Sequence[tuple[str, str]], qrels: Qrels) -> dict[str, float]:
    search(asked[0][1], CUTOFF_DOCUMENTS)  # loads the index, which is not to be timed
    run: dict[str, list[str]] = {}
    started = time.perf_counter()
    for query_id, text in asked:
        run[query_id] = [hit.chunk.doc_id for hit in best_documents(search, text, k=CUTOFF_DOCUMENTS)]
    seconds = time.perf_counter() - started
    quality = score_run(run, {query_id: qrels[query_id] for query_id in run})
    rounded = {name: round(value, 4) for name, value in quality.items()}
    return {**rounded, "msPerQuery": round(MS_PER_S * seconds / len(asked), 2)}


def _ingest_corpus(corpus: Path, settings: Settings) -> tuple[list[dict[str, str]], Summary]:
    """Return the failures, as ``ragctl ingest`` reports them, and the summary of the index."""
    from knowledge.build.ingest import ingest
    from knowledge.embedding import MiniLM
    from knowledge.open.place import folder_of, read_manifest
    from knowledge.read.documents import read
    from ragctl.ingest_job import failures_as_json

    reading = read([corpus])
    for failure in reading.failed:
        note(f"Failed: {failure.path}: {failure.error}")
    target, embedder = folder_of(settings.index_place), MiniLM()
    manifest = read_manifest(target)
    given = {(document.doc_id, document.digest) for document in reading.documents}
    if manifest is not None and not (
        manifest.model == embedder.model and all((source.doc_id, source.digest) in given for source in manifest.sources)
    ):
        sentence = f"The index in {str(target)!r} holds something else than {corpus}: name another folder, or remove it"
        raise CommandFailed(sentence, code="index_in_use")
    with progress("Embedding") as on_progress:
        summary = ingest(
            reading.documents, target=target, embedder=embedder, collection=settings.collection, on_progress=on_progress
        )
    return failures_as_json(*reading.failed, *summary.failed), summary


def _print_metrics(metrics: Mapping[str, Mapping[str, float]], sizes: Mapping[str, int]) -> None:
    names = next(iter(metrics.values()))
    table = Table("mode", *names)
    for mode, values in metrics.items():
        table.add_row(
            mode, *(f"{values[name]:.2f}" if name == "msPerQuery" else f"{values[name]:.3f}" for name in names)
        )
    print_rich(", ".join(f"{count} {name}" for name, count in sizes.items()), table)
