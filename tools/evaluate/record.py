"""The whole result as one JSON object, and a former one read again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from evaluate.compare import Change
from evaluate.errors import UnusableFile
from evaluate.figures import Figure, bins, stages, worst, wrong
from evaluate.intervals import Bin
from evaluate.judge import JudgedQuestion

DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a run found. ``model`` is what wrote, ``notes`` what a reader must know, ``kept`` where the replies are."""

    profile: str
    index: str
    version: str
    model: str
    seed: int
    kept: str
    figures: Sequence[Figure]
    judged: Sequence[JudgedQuestion]
    notes: Sequence[str] = ()


def as_json(report: Report, changes: Sequence[Change]) -> dict[str, Any]:
    """``report`` as it is printed with --json; ``perQuestion`` is what a later --compare reads."""
    judged = report.judged
    return {
        "questions": len(judged),
        "failed": sum(bool(one.failed) for one in judged),
        "profile": report.profile,
        "index": report.index,
        "indexVersion": report.version,
        "model": report.model,
        "seed": report.seed,
        "metrics": {figure.metric.name: _figure(figure) for figure in report.figures},
        "reliability": [_bin(one) for one in bins(judged)],
        "stages": {
            stage: {"p50Ms": round(p50, DIGITS), "p95Ms": round(p95, DIGITS)}
            for stage, (p50, p95) in stages(judged).items()
        },
        "worst": [{"wrong": wrong(one), "question": one.question} for one in worst(judged)],
        **({"comparison": {change.metric.name: _change(change) for change in changes}} if changes else {}),
        "notes": list(report.notes),
        "results": report.kept,
        "perQuestion": [{_camel(name): value for name, value in asdict(one).items()} for one in judged],
    }


def read_old(path: Path) -> tuple[dict[str, float], list[JudgedQuestion]]:
    """The values by metric of a former --json, and its questions: none where these cannot be read any more.

    Raises:
        UnusableFile: it is no such file.
    """
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        values = {
            str(name): float(figure["value"]) for name, figure in body["metrics"].items() if figure["value"] is not None
        }
    except OSError as exc:
        raise UnusableFile(f"{path} cannot be read: {exc.strerror}") from exc
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        sentence = f"{path} is not what ragctl evaluate --questions --json prints"
        raise UnusableFile(sentence) from exc
    try:
        return values, [_judged(row) for row in body["perQuestion"]]
    except (KeyError, TypeError):
        return values, []


def _judged(row: Mapping[str, Any]) -> JudgedQuestion:
    return JudgedQuestion(**{field.name: row[_camel(field.name)] for field in fields(JudgedQuestion)})


def _figure(figure: Figure) -> dict[str, Any]:
    counted = {} if figure.hits is None else {"hits": figure.hits, "of": figure.of}
    values = {"value": figure.value, "low": figure.low, "high": figure.high}
    rounded = {name: None if value is None else round(value, DIGITS) for name, value in values.items()}
    return {**rounded, "n": figure.n, **counted}


def _bin(one: Bin) -> dict[str, Any]:
    return {"low": one.low, "high": one.high, "n": one.n, "chance": round(one.chance, DIGITS), "right": one.right}


def _change(change: Change) -> dict[str, Any]:
    values = {"old": change.old, "new": change.new, "difference": change.difference}
    interval = {"low": change.low, "high": change.high}
    rounded = {name: None if value is None else round(value, DIGITS) for name, value in {**values, **interval}.items()}
    return {**rounded, "n": change.n, "verdict": change.verdict}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
