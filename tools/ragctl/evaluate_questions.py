"""Measure the service on a file of questions: ask, judge and print; and draft such a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import typer

from evaluate.drafting import draft_questions, drafter, spread_evenly
from evaluate.figures import broken_limits, compare_figures, label_notes, measure, parse_limits
from evaluate.judge import JudgedQuestion, judge, unknown_names
from evaluate.question_files import Interrupted, LabelledQuestion, read_questions
from evaluate.report import Report, read_old, report_fields, tables
from evaluate.run import RunResult, ask_all, asker, results_path
from rag.wiring.application import Application, build_application
from ragctl.console import INTERRUPTED, CommandFailed, describe_error, emit_json, note, print_rich, progress
from ragctl.cost import llm_usd, prices
from ragctl.options import FAIL_UNDER, read_settings

BELOW_LIMIT = "below_limit"
ALL_FAILED = "all_failed"
NAMED = 5
"""The number of names that a note lists."""


def measure_questions(
    path: Path,
    *,
    html: Path | None,
    compare: Path | None,
    fail_under: Sequence[str],
    limit: int | None,
    seed: int,
    fresh: bool,
    profile: str | None,
    index: str | None,
    as_json: bool,
) -> None:
    """Ask the service the questions in ``path`` and print the figures; the arguments are the command's options.

    Raises:
        CommandFailed: a file cannot be read, every question failed, or a limit is not kept.
        typer.BadParameter: a limit is invalid.
    """
    limits = _parse_limits(fail_under)
    questions = _draw_sample(read_questions(path), limit, seed)
    old = read_old(compare) if compare else None
    service = service_without_store(profile=profile, index=index)
    report = _report(service, questions, seed=seed, fresh=fresh)
    changes = compare_figures(report.figures, report.judged, *old, seed=seed) if old else []
    if html:
        from evaluate.page import page

        html.write_text(page(report, changes), encoding="utf-8")
        note(f"The page: {html}")
    missed = broken_limits(limits, report.figures)
    body = report_fields(report, changes) if as_json else {}
    if not as_json:
        print_rich(*tables(report, changes))
    if missed:
        raise CommandFailed(f"Not kept: {'; '.join(missed)}", code=BELOW_LIMIT, **body)
    if as_json:
        emit_json(body)


def check_questions(path: Path, fail_under: Sequence[str], *, profile: str | None, index: str) -> dict[str, float]:
    """Return the figures of an index that is not in use yet, by name; raises as ``measure_questions``."""
    limits = _parse_limits(fail_under)
    questions = read_questions(path)
    report = _report(service_without_store(profile=profile, index=index), questions, seed=0, fresh=False)
    if missed := broken_limits(limits, report.figures):
        raise CommandFailed(f"Not published. Not kept: {'; '.join(missed)}", code=BELOW_LIMIT)
    return {figure.metric.name: round(figure.value, 4) for figure in report.figures if figure.value is not None}


def service_without_store(*, profile: str | None, index: str | None) -> Application:
    """Return the service without a store: no cached answers, no conversations and no votes.

    Raises:
        KnowledgeError: there is no usable index.
    """
    settings = read_settings(index=index, profile=profile)
    service = build_application(settings.model_copy(update={"store_path": "", "table_name": ""}))
    with service.index.lease():
        service.warm()
    return service


def _report(service: Application, questions: Sequence[LabelledQuestion], *, seed: int, fresh: bool) -> Report:
    path = results_path(service)
    if fresh:
        path.unlink(missing_ok=True)
    listed = prices()

    def usd(model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
        if model not in listed["llm"]:
            return None
        return llm_usd(listed, model, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)

    def error_code(error: Exception) -> str:
        message = describe_error(error)
        return message.code if message else ""

    try:
        with progress("Asking") as on_progress:
            texts = [one.question for one in questions]
            results = ask_all(texts, asker(service, error_code), path, on_progress=on_progress)
    except Interrupted as exc:
        raise CommandFailed(str(exc), code=exc.code, exit_status=INTERRUPTED) from exc
    if all(one.failed for one in results):
        sentence = f"Every question failed, of {len(results)}: {_count_codes(results)}. Run: ragctl doctor"
        raise CommandFailed(sentence, code=ALL_FAILED)
    judged = judge(questions, results, usd)
    with service.index.lease() as index:
        version = index.version
    models = Counter(
        str(one.reply["metadata"]["model"]) for one in results if one.reply and one.reply["metadata"]["model"]
    )
    return Report(
        profile=service.settings.profile,
        index=service.settings.index_place,
        version=version,
        model=", ".join(models) or "nobody",
        seed=seed,
        results_path=str(path),
        figures=measure(judged, seed=seed),
        judged=judged,
        notes=list(_notes(service, questions, judged)),
    )


def _parse_limits(fail_under: Sequence[str]) -> Mapping[str, float]:
    try:
        return parse_limits(fail_under)
    except ValueError as exc:
        raise typer.BadParameter(str(exc), param_hint=FAIL_UNDER) from exc


def _draw_sample(questions: Sequence[LabelledQuestion], limit: int | None, seed: int) -> list[LabelledQuestion]:
    """Draw ``limit`` of the questions without replacement, in their order; all if ``limit`` is None."""
    if limit is None or limit >= len(questions):
        return list(questions)
    places = np.random.default_rng(seed).choice(len(questions), limit, replace=False)
    return [questions[place] for place in sorted(places.tolist())]


def _count_codes(results: Sequence[RunResult | JudgedQuestion]) -> str:
    """Return ``llm_unavailable (3), pipeline_error (1)``; ``""`` if no question failed."""
    codes = Counter(one.failed for one in results if one.failed)
    return ", ".join(f"{code} ({count})" for code, count in codes.most_common())


def _notes(
    service: Application, questions: Sequence[LabelledQuestion], judged: Sequence[JudgedQuestion]
) -> Iterator[str]:
    if failed := sum(bool(one.failed) for one in judged):
        yield f"{failed} of {len(judged)} questions failed: {_count_codes(judged)}. The same command asks them again."
    if drafts := sum(one.draft for one in questions):
        yield f'{drafts} questions are drafts that nobody has corrected: take "draft" out of a line when you have.'
    with service.index.lease() as index:
        unknown = unknown_names(index.iter_chunks(), questions)
    if unknown:
        more = f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else ""
        yield f"Nothing in the index is named {', '.join(map(repr, unknown[:NAMED]))}{more}: see expected."
    yield from label_notes(judged)
    if unpriced := sum(one.cost_usd is None and not one.failed for one in judged):
        yield f"The cost of {unpriced} questions is not known: their model has no price in prices.json."


def make_questions(count: int, out: Path, *, seed: int, profile: str | None, index: str | None, as_json: bool) -> None:
    """Write up to ``count`` drafts to the new file ``out``; the arguments are the command's options.

    Raises:
        CommandFailed: the file exists or cannot be written, or the documents give no question.
    """
    if out.exists():
        raise CommandFailed(f"{out} is there already: name another file", code="file_exists")
    service = service_without_store(profile=profile, index=index)
    with service.index.lease() as opened:
        spread = spread_evenly(opened.iter_chunks(), seed=seed)
    with progress("Drafting") as on_progress:
        drafts = draft_questions(spread, count, drafter(service, note), on_progress)
    if not drafts:
        raise CommandFailed("The documents hold no sentence to ask about", code="nothing_to_ask")
    try:
        with out.open("x", encoding="utf-8") as file:
            is_one_document = len({chunk.doc_id for chunk in spread}) == 1
            file.writelines(draft.to_line(by_section=is_one_document) + "\n" for draft in drafts)
    except FileExistsError as exc:
        raise CommandFailed(f"{out} is there already: name another file", code="file_exists") from exc
    counts = {"questions": len(drafts), "documents": len({draft.doc_id for draft in drafts}), "out": str(out)}
    if as_json:
        emit_json(counts)
        return
    print_rich(f"{counts['questions']} drafts on {counts['documents']} documents: {out}")
    note(
        'Put them into your users\' words, take out what is wrong, and "draft" with it; '
        'then add questions that the documents do not answer, with "answerable": false.'
    )
