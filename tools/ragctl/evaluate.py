"""ragctl evaluate: how well the service does on one's own questions, or search on a corpus with judgements."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from evaluate.metrics import LIMITED
from ragctl.evaluate_corpus import measure_corpus
from ragctl.evaluate_questions import FAIL_UNDER, make_questions, measure_questions
from ragctl.modes import Mode
from ragctl.options import Json, Profile

MOST_DRAFTS = 10_000

_OWN, _DRAFT, _CORPUS = "Your own questions", "A draft of questions", "A corpus with judgements"


def evaluate(
    *,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="Q.jsonl",
            help='Questions to the index: {"question", "expected"?, "answer"?, "answerable"?} a line.',
            rich_help_panel=_OWN,
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="R.html", help="Write a page with plots, too.", rich_help_panel=_OWN)
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option(metavar="OLD.json", help="What an earlier run printed with --json.", rich_help_panel=_OWN),
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            FAIL_UNDER,
            metavar="NAME=X,...",
            help="Exit with 1 unless each figure reaches X; may be repeated. X is the most that is allowed for errors, "
            f"time and cost. Names: {', '.join(LIMITED)}.",
            rich_help_panel=_OWN,
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ask so many of the questions, drawn by --seed.", rich_help_panel=_OWN)
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="For everything that is drawn. Default: 0.", rich_help_panel=_OWN),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ask all again, also what was answered before.", rich_help_panel=_OWN)
    ] = False,
    drafts: Annotated[
        int | None,
        typer.Option(
            "--make-questions",
            metavar="N",
            min=1,
            max=MOST_DRAFTS,
            help="Draft N questions from the documents of the index, for you to correct.",
            rich_help_panel=_DRAFT,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="Q.jsonl", help="Where to write them: a new file.", rich_help_panel=_DRAFT)
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            metavar="C.jsonl", help="The documents: BEIR's {_id, title, text} a line.", rich_help_panel=_CORPUS
        ),
    ] = None,
    queries: Annotated[
        Path | None, typer.Option(metavar="Q.jsonl", help="The questions: {_id, text} a line.", rich_help_panel=_CORPUS)
    ] = None,
    qrels: Annotated[
        Path | None,
        typer.Option(metavar="R.tsv", help="What answers them: query-id, corpus-id, score.", rich_help_panel=_CORPUS),
    ] = None,
    mode: Annotated[
        list[Mode] | None,
        typer.Option(help="How to search; may be repeated. Default: all.", rich_help_panel=_CORPUS),
    ] = None,
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
    own = {"--html": html, "--compare": compare, FAIL_UNDER: fail_under, "--limit": limit, "--fresh": fresh or None}
    judged = {"--corpus": corpus, "--queries": queries, "--qrels": qrels}
    kinds: dict[str, dict[str, object]] = {
        "--questions": {"--seed": seed, **own},
        "--make-questions": {"--seed": seed, "--out": out},
        "--corpus": {"--queries": queries, "--qrels": qrels, "--mode": mode},
    }
    heads = {"--questions": questions, "--make-questions": drafts, "--corpus": corpus or queries or qrels}
    _one_kind(heads, kinds)
    drawn_by = seed or 0
    if questions is not None:
        measure_questions(
            questions,
            html=html,
            compare=compare,
            fail_under=fail_under or [],
            limit=limit,
            seed=drawn_by,
            fresh=fresh,
            profile=profile,
            index=index,
            as_json=as_json,
        )
    elif drafts is not None:
        if out is None:
            raise typer.BadParameter("--make-questions needs --out, the file to write")
        make_questions(drafts, out, seed=drawn_by, profile=profile, index=index, as_json=as_json)
    elif corpus is not None and queries is not None and qrels is not None:
        measure_corpus(
            corpus=corpus, queries=queries, qrels=qrels, modes=mode or [], profile=profile, index=index, as_json=as_json
        )
    else:
        missing = [name for name, value in judged.items() if value is None]
        raise typer.BadParameter(f"--corpus, --queries and --qrels go together; not given: {', '.join(missing)}")


def _one_kind(heads: Mapping[str, object], kinds: Mapping[str, Mapping[str, object]]) -> None:
    """Refuse everything but one of the three kinds of measurement, without an option of another."""
    chosen = {name for name, value in heads.items() if value is not None}
    if not chosen:
        raise typer.BadParameter("give --questions, or --make-questions and --out, or --corpus, --queries and --qrels")
    if len(chosen) > 1:
        named = [name for name in kinds if name in chosen]
        raise typer.BadParameter(f"{' and '.join(named)} cannot be used together")
    (kind,) = chosen
    allowed = kinds[kind]
    for other in kinds.values():
        for name, value in other.items():
            if name not in allowed and value is not None:
                raise typer.BadParameter(f"{name} does not go with {kind}")
