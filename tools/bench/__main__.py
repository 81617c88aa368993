"""``make bench``: prints the benchmark tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence

from bench import coldstart, corpus, filtered, handler, ingesting, streaming, timing
from emulator.rie import NotBuilt
from emulator.session import built


def main() -> int:
    """Print the tables; those of the built function only where there is a build."""
    lines = (corpus.ROOT / "samples/waypoint/questions.jsonl").read_text(encoding="utf-8").splitlines()
    for table in _tables([row["question"] for row in map(json.loads, lines)]):
        print(table, end="\n\n", flush=True)
    return 0


def _tables(questions: Sequence[str]) -> Iterator[str]:
    index = corpus.ROOT / ".index/waypoint"
    yield timing.retrieval(index, questions)
    yield timing.checking(index, questions)
    yield streaming.streaming(index, questions)
    rows = {"in process": handler.in_process(questions, index)}
    try:
        ours = built()
        rows["built function, emulator"] = handler.emulated(questions, ours)
        starts = coldstart.cold_starts(ours, corpus.ROOT / ".aws-sam" / "bench")
    except NotBuilt as exc:
        starts = f"No cold-start table: {exc}"
    yield handler.report(rows)
    yield starts
    documents = corpus.pages()
    if not documents:
        yield f"No tables at 10,000 and 60,000 chunks: {corpus.DOCS} is not there."
        return
    print("Bringing the indexes in .index/bench up to date (minutes, the first time) ...", file=sys.stderr)
    yield ingesting.ingesting(corpus.DOCS)
    yield timing.ratios(corpus.build(documents, corpus.KEPT / "aws"))
    yield filtered.filtered(filtered.build(documents, corpus.KEPT / "filtered"), questions)


if __name__ == "__main__":
    raise SystemExit(main())
