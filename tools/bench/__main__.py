"""``make bench``: prints the benchmark tables."""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Print the tables; those of the built function only where there is a build."""
    from bench import coldstart, handler, retrieval
    from emulator.session import NotBuilt, built

    lines = (ROOT / "samples/waypoint/questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [row["question"] for row in map(json.loads, lines)]
    index = ROOT / ".index/waypoint"
    os.environ.update(INDEX_URI=str(index), LLM_API_KEY="", LLM_BASE_URL="", LLM_SECRET_NAME="")
    print(retrieval.retrieval(index, questions), flush=True)
    with contextlib.redirect_stdout(io.StringIO()):  # the handler's logs
        times, memory = handler.in_process(questions)
    rows = [("in process", times, f"{memory:.0f}")]
    try:
        built()
        rows.append(("built function, emulator", handler.emulated(questions), "-"))
        starts = coldstart.cold_starts(ROOT / ".aws-sam" / "bench")
    except NotBuilt as exc:
        starts = f"No cold-start table: {exc}"
    print("", handler.report(rows), "", starts, sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
