"""ragctl calibrate: print the index's bar, or fit its bar and its confidence to labelled questions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table

from evaluate.metrics import Goal
from evaluate.question_files import LabelledQuestion, read_questions
from ragctl.console import CommandFailed, emit_json, note, print_rich, progress
from ragctl.options import IndexDir, Json, Profile, read_settings, require_folder

if TYPE_CHECKING:
    from evaluate.fitting import FittedCalibration, LabelledCase
    from knowledge.model.manifest import Manifest
    from rag.config.settings import Settings
    from rag.wiring.application import Application

UNLABELLED = (
    "With 19 or more answerable questions of your own (--questions Q.jsonl) the bar can promise how few of them it "
    "refuses; unanswerable ones tell how many pass; with 49 labelled answers the confidence is fitted too"
)

INSTEAD = (
    "There the bar is measured at each ingest, --dry-run tells what questions would make of it, and one that is fitted "
    "to them is kept in a folder alone: ragctl ingest PATH --index FOLDER"
)


def calibrate(
    *,
    questions: Annotated[
        Path | None,
        typer.Option(metavar="Q.jsonl", help="Your questions: {question, expected?, answer?, answerable?} a line."),
    ] = None,
    threshold_for: Annotated[
        Goal | None,
        typer.Option(help="Set the bar for this goal, even if other errors increase. Default: only if it is better."),
    ] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Remove the fit to labels: the measured bar again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report the fit, and write nothing.")] = False,
    profile: Profile = None,
    index: IndexDir = None,
    as_json: Json = False,
) -> None:
    """Fit the index's bar and its confidence to your own questions, and print the promised error rates."""
    if questions is None and threshold_for is not None:
        raise typer.BadParameter("it needs --questions", param_hint="--threshold-for")
    if questions is not None and reset:
        raise typer.BadParameter("give either --questions or --reset")
    labelled = read_questions(questions) if questions else []
    settings = read_settings(index=index, profile=profile)
    report, lines = _calibrate(settings, labelled, goal=threshold_for, reset=reset, dry_run=dry_run)
    if as_json:
        emit_json(report)
    else:
        print_rich(*lines)
    for sentence in report["notes"]:
        note(f"Note: {sentence}")


def _calibrate(
    settings: Settings, labelled: list[LabelledQuestion], *, goal: Goal | None, reset: bool, dry_run: bool
) -> tuple[dict[str, Any], list[RenderableType]]:
    """Return the report as JSON and for people."""
    import numpy as np

    from evaluate.fitting import fit_calibration, fit_shift
    from knowledge.build.calibrate import background_scores
    from knowledge.build.labels import labels_of, with_labels
    from knowledge.build.write import write_labels
    from knowledge.search.signals import BAR_QUANTILE, Calibration
    from rag.wiring.application import build_application

    folder = None if dry_run else require_folder(settings, instead=INSTEAD)
    service = build_application(settings)
    with service.index.lease() as index:
        background, manifest = background_scores(index), index.manifest
    known = Calibration.load(manifest.calibration) if manifest else None
    assert manifest is not None and known is not None  # noqa: S101, PT018 - or there would be no scores
    fitted, notes = None, _notes(service, manifest)
    labels = labels_of(manifest)
    wanted: Mapping[str, object] | None = None if reset else labels
    if labelled:
        shift = fit_shift(service.pipeline, labelled)
        notes += [shift] if shift else []
        cases, unjudged = _collect_cases(service, labelled)
        fitted = fit_calibration(cases, background, known, labels or {}, goal)
        wanted = fitted.labels
        if unjudged:
            notes.append(f"{unjudged} of {len(labelled)} questions count for nothing: not labelled, or nothing asked")
    elif not reset:
        notes.append(UNLABELLED)
    changed = with_labels(manifest, wanted)
    if changed != manifest and folder is not None:
        changed = write_labels(folder, wanted, version=manifest.version)
    after = Calibration.load(changed.calibration)
    bar, measured = after.bar if after else known.bar, float(np.quantile(background, BAR_QUANTILE))
    report = {
        "index": settings.index_place,
        "version": changed.version,
        "bar": {"measured": round(measured, 4), "inUse": round(bar, 4)},
        **(fitted.fields() if fitted else {}),
        "written": changed != manifest and not dry_run,
        "dryRun": dry_run,
        "notes": notes,
    }
    return report, _format_report(report, bar, measured, fitted)


def _format_report(
    report: Mapping[str, Any], bar: float, measured: float, fitted: FittedCalibration | None
) -> list[RenderableType]:
    state = "would be in use" if report["dryRun"] else "in use"
    done = "nothing written" if report["dryRun"] else "written" if report["written"] else "nothing to write"
    first = f"Index {report['index']}: bar {bar:.2f} {state}, {measured:.2f} measured; {done}"
    if fitted is None:
        return [first]

    labelled = f"{fitted.answerable} answerable and {fitted.unanswerable} unanswerable questions"
    lines: list[RenderableType] = [f"{first}. {labelled}"]
    for sentence, rows in fitted.tables():
        lines.append(f"\n{sentence}")
        if rows:
            table = Table(*rows[0], box=None)
            for row in rows[1:]:
                table.add_row(*row)
            lines.append(table)
    return lines


def _collect_cases(service: Application, labelled: list[LabelledQuestion]) -> tuple[list[LabelledCase], int]:
    """Return the cases and the number of questions that give none."""
    from evaluate.fitting import CaseCollector

    cases = []
    with progress("Asking") as on_progress:
        for done, case in enumerate(CaseCollector(service.pipeline).cases(labelled), start=1):
            on_progress(done, len(labelled))
            if case is not None:
                cases.append(case)
    if not any(one.answerable is not None for one in labelled):
        sentence = "None of the questions is labelled: say what each expects, its answer, or whether it is answerable"
        raise CommandFailed(sentence, code="source_unreadable")
    if not cases:
        sentence = "No question got evidence from the index: unset RETRIEVER and SEED_RULES, which search without it"
        raise CommandFailed(sentence, code="no_evidence")
    return cases, len(labelled) - len(cases)


def _notes(service: Application, manifest: Manifest) -> list[str]:
    from knowledge.build.labels import labels_older
    from rag.find.gate import EvidenceGate

    gate, notes = service.pipeline.gate, []
    if not isinstance(gate, EvidenceGate):
        notes.append("SEED_RULES=on: the seed's rules decide, and no bar")
    elif gate.threshold is not None:
        notes.append(
            f"a threshold of {gate.threshold:g} is set, and decides in place of the bar until it is auto again"
        )
    if labels_older(manifest):
        notes.append("the labels that the index has were fitted to other documents")
    return notes
