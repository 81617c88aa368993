"""Rates on data whose authors did not write the code: one printed line each, held by a floor."""

import json
from pathlib import Path
from typing import Any

import pytest
import real_model

REPOSITORY = Path(__file__).resolve().parents[2]
DATA = REPOSITORY.parent / "shared" / "data"
"""Public data sets, in a folder beside the repository; see its README.md."""


def report(name: str, hits: int, total: int, floor: float) -> None:
    """Print ``hits`` of ``total`` as a rate (0 to 1) and hold it to ``floor``; an error rate is the rest to 1."""
    assert total > 0, f"{name}: nothing was measured"
    report_score(name, hits / total, floor, f"{hits} of {total}")


def report_score(name: str, score: float, floor: float, note: str = "") -> None:
    """Print a score that is no share of cases (nDCG) and hold it to ``floor``."""
    print(f"{score:.3f}  (floor {floor:.3f})  {name}{note and f': {note}'}")
    assert score >= floor, f"{name} is {score:.4f}, under its floor of {floor}{note and f' ({note})'}"


def public_data(*parts: str) -> Path:
    """A file or folder of the public data; skips the test that asks where it is absent."""
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"../shared/data/{'/'.join(parts)} is not there")
    return path


def json_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file with one JSON object a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def questions(name: str) -> list[str]:
    """The questions of a public data set, such as ``"squad_v11_dev"``; skips where it is absent."""
    return [str(line["text"]) for line in json_lines(public_data(name, "queries.jsonl"))]


def indexed_ids(data: Path) -> set[str]:
    """The documents of the public set ``data`` that ``real_model.public_index`` holds."""
    return {str(line["_id"]) for line in json_lines(data / "corpus.jsonl")[: real_model.PASSAGES]}
