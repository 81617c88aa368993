"""ragctl search: chunks for one query, or a run file for many."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evaluate.beir import read_queries
from ragctl.console import emit_json, show
from ragctl.modes import Mode, best_documents, searcher, usual, words_met
from ragctl.options import IndexDir, Json, Profile, read_settings

if TYPE_CHECKING:
    from knowledge.model.values import Hit

RUN_HEADER = "query-id\tcorpus-id\tscore"
SNIPPET_CHARS = 240
MAX_K = 1000


def search(
    text: Annotated[str | None, typer.Argument(help="What to search for.")] = None,
    *,
    k: Annotated[int, typer.Option("--k", min=1, max=MAX_K, help="Chunks (with --run: documents) per query.")] = 10,
    mode: Annotated[
        Mode | None, typer.Option(help="How to search. Default: late, or what the index has instead.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Every part of each score, and how well each word of TEXT is met.")
    ] = False,
    queries: Annotated[
        Path | None, typer.Option(metavar="Q.jsonl", help="Many queries: BEIR's {_id, text} a line; with --run.")
    ] = None,
    run: Annotated[Path | None, typer.Option(metavar="OUT.tsv", help="Where to write their best documents.")] = None,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> None:
    """Find the best chunks for TEXT, each with its score and its cosine, which is what a threshold is compared with."""
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
        find = searcher(mode or usual(opened), opened, profile=settings.profile)
        if text is not None:
            hits = find(text, k)
            met = words_met(opened, text, hits) if explain else [{} for _ in hits]
            _print_hits(hits, met, explain=explain, as_json=as_json)
        elif run is not None:
            lines = [RUN_HEADER]
            for query_id, query in many:
                documents = best_documents(find, query, k=k)
                lines += [f"{query_id}\t{hit.chunk.doc_id}\t{hit.score:.6f}" for hit in documents]
            run.write_text("\n".join(lines) + "\n", encoding="utf-8")
            result = {"queries": len(many), "run": str(run)}
            emit_json(result) if as_json else show(f"{len(many)} queries: {run}")


def _print_hits(hits: tuple[Hit, ...], met: Sequence[Mapping[str, float]], *, explain: bool, as_json: bool) -> None:
    if as_json:
        emit_json({"hits": [_fields(*ranked) for ranked in zip(range(1, len(hits) + 1), hits, met, strict=True)]})
        return
    from rich.text import Text

    for rank, (hit, words) in enumerate(zip(hits, met, strict=True), start=1):
        show(*_for_people(rank, hit))
        if explain:
            parts = "  ".join(f"{name} {value:.3f}" for name, value in hit.parts.items() if math.isfinite(value))
            cosines = "  ".join(f"{word} {value:.2f}" for word, value in words.items())
            show(*(Text(f"    {line}", style="dim") for line in (parts, cosines) if line))


def _fields(rank: int, hit: Hit, met: Mapping[str, float]) -> dict[str, Any]:
    chunk = hit.chunk
    return {
        "rank": rank,
        "id": chunk.id,
        "docId": chunk.doc_id,
        "title": chunk.title,
        "section": chunk.section,
        "score": round(hit.score, 6),
        "parts": {name: round(value, 6) for name, value in hit.parts.items() if math.isfinite(value)},
        **({"words": {word: round(value, 3) for word, value in met.items()}} if met else {}),
        "text": chunk.text,
    }


def _for_people(rank: int, hit: Hit) -> list[Any]:
    from rich.text import Text

    chunk = hit.chunk
    section = f" > {chunk.section}" if chunk.section else ""
    cosine = f"  cosine {hit.parts['dense']:.3f}" if "dense" in hit.parts else ""
    head = Text.assemble(
        f"{rank:2}. ", (f"{chunk.title}{section}", "bold"), f"  {hit.score:.3f}{cosine}  ", (chunk.id, "dim")
    )
    text = " ".join(chunk.text.split())
    snippet = text if len(text) <= SNIPPET_CHARS else text[: SNIPPET_CHARS - 1] + "…"
    return [head, Text(f"    {snippet}", style="dim")]
