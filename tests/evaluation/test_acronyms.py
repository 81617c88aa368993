"""What spelling acronyms out does to answers of the GaCounts sample: none is lost, hardly one is less sure."""

import json
import time
from pathlib import Path

import pytest
import real_model
from evaluation.rates import json_lines, report

from rag.config.settings import Settings, load
from rag.values.answer import Answer
from rag.values.chat import Deadline
from rag.values.question import Question
from rag.wiring.application import build_application

SAMPLE = real_model.SAMPLES / "gacounts"
ROUNDING = 0.5


def test_spelling_out_lowers_no_confidence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = [row for name in ("asked", "questions") for row in json_lines(SAMPLE / f"{name}.jsonl")]
    monkeypatch.setattr("rag.wiring.application.MiniLM", lambda *, threads: real_model.model())
    monkeypatch.setenv("RAG_PROFILE", "gacounts")
    monkeypatch.setenv("INDEX_URI", str(real_model.sample_index("gacounts", tmp_path_factory)))
    none = tmp_path / "none.json"
    none.write_text("{}", encoding="utf-8")

    def answers(table: Path, asked: list[dict[str, str]]) -> list[Answer]:
        monkeypatch.setenv("ACRONYMS_FILE", str(table))
        run = build_application(load(Settings)).pipeline.run
        return [run(Question(text=row["question"]), deadline=Deadline.after(60, time.monotonic)) for row in asked]

    def right(row: dict[str, str], answer: Answer) -> bool:
        cited = {citation.hit.chunk.doc_id for citation in answer.citations}
        return bool(cited & set(row.get("expected", ()))) and row.get("answer", "").lower() in answer.text.lower()

    spelt = zip(rows, answers(SAMPLE / "acronyms.json", rows), strict=True)
    pairs = [(row, after) for row, after in spelt if "expanded" in json.dumps(after.trail)]
    told = [
        (before.confidence.score, after.confidence.score if right(row, after) else 0.0)
        for (row, after), before in zip(pairs, answers(none, [row for row, _ in pairs]), strict=True)
        if right(row, before)
    ]
    kept = sum(after >= before - ROUNDING for before, after in told)
    report("right answers that are right and as sure with acronyms spelt out", kept, len(told), 0.85)
