"""``make bench``: prints the benchmark tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence

from bench import function, large_index, streaming, timing
from emulator.rie import NotBuilt
from emulator.session import ROOT, built


def main() -> int:
    """Print the tables; some need a build, others the AWS documentation."""
    lines = (ROOT / "samples/waypoint/questions.jsonl").read_text(encoding="utf-8").splitlines()
    for table in _tables([row["question"] for row in map(json.loads, lines)]):
        print(table, end="\n\n", flush=True)
    return 0


def _tables(questions: Sequence[str]) -> Iterator[str]:
    index = ROOT / ".index/waypoint"
    yield timing.measure_retrieval(index, questions)
    yield timing.measure_claim_check(index, questions)
    yield streaming.measure_streaming(index, questions)
    rows = {"in process": function.measure_in_process(questions, index)}
    try:
        artefacts = built()
        rows["built function, emulator"] = function.measure_in_emulator(questions, artefacts)
        starts = function.measure_cold_starts(artefacts, ROOT / ".aws-sam" / "bench")
    except NotBuilt as exc:
        starts = f"No cold-start table: {exc}"
    yield function.handler_table(rows)
    yield starts
    documents = large_index.read_pages()
    if not documents:
        yield f"No tables at 10,000 and 60,000 chunks: {large_index.DOCS} is not there."
        return
    print("Updating the indexes in .index/bench (minutes, the first time) ...", file=sys.stderr)
    yield large_index.measure_ingest()
    yield timing.measure_answers(large_index.update_index(documents))
    yield large_index.measure_filters(documents, questions)


if __name__ == "__main__":
    raise SystemExit(main())
