"""``make bench``: prints the benchmark tables."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence

from bench.paths import KEPT, ROOT


def main() -> int:
    """Print the tables; those of the built function only where there is a build."""
    from bench import checking, coldstart, handler, retrieval, streaming
    from emulator.errors import NotBuilt
    from emulator.session import built

    lines = (ROOT / "samples/waypoint/questions.jsonl").read_text(encoding="utf-8").splitlines()
    questions = [row["question"] for row in map(json.loads, lines)]
    index = ROOT / ".index/waypoint"
    print(retrieval.retrieval(index, questions), "", checking.checking(index, questions), "", sep="\n", flush=True)
    print(streaming.streaming(index, questions), "", sep="\n", flush=True)
    rows = {"in process": handler.in_process(questions, index)}
    try:
        ours = built()
        rows["built function, emulator"] = handler.emulated(questions, ours)
        starts = coldstart.cold_starts(ours, ROOT / ".aws-sam" / "bench")
    except NotBuilt as exc:
        starts = f"No cold-start table: {exc}"
    print("", handler.report(rows), "", starts, "", sep="\n", flush=True)
    for table in _at_scale(questions):
        print(table, end="\n\n", flush=True)
    return 0


def _at_scale(questions: Sequence[str]) -> Iterator[str]:
    """The tables over documentation that is no part of the repository."""
    from bench import corpus, filtered, ingesting, ratios

    documents = corpus.pages()
    if not documents:
        yield f"No tables at 10,000 and 60,000 chunks: {corpus.DOCS} is not there."
        return
    print("Bringing the indexes in .index/bench up to date (minutes, the first time) ...", file=sys.stderr)
    yield ingesting.ingesting(corpus.DOCS)
    yield ratios.ratios(corpus.build(documents, KEPT / "aws"))
    yield filtered.filtered(filtered.build(documents, KEPT / "filtered"), questions)


if __name__ == "__main__":
    raise SystemExit(main())
