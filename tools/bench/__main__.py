"""``make bench``: prints the benchmark tables."""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Print the tables; those of the built function only where there is a build."""
    from bench import coldstart, handler, retrieval
    from emulator.errors import NotBuilt
    from emulator.session import built

    lines = (ROOT / "samples/waypoint/questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [row["question"] for row in map(json.loads, lines)]
    index = ROOT / ".index/waypoint"
    print(retrieval.retrieval(index, questions), flush=True)
    rows = {"in process": handler.in_process(questions, index)}
    try:
        ours = built()
        rows["built function, emulator"] = handler.emulated(questions, ours)
        starts = coldstart.cold_starts(ours, ROOT / ".aws-sam" / "bench")
    except NotBuilt as exc:
        starts = f"No cold-start table: {exc}"
    print("", handler.report(rows), "", starts, sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
