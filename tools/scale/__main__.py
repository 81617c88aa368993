"""``make scale``: measures an index on Chroma's own server at several sizes, and prints the tables."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from bench.paths import KEPT, ROOT

from scale.measure import QUESTIONS, Figures, measure
from scale.tables import report, written

SIZES = (1_000, 10_000, 100_000, 200_000)
FIGURES = KEPT / "scale"


def main() -> int:
    """Each size is measured in a process of its own: its peak of memory is then that of this size alone."""
    reads = argparse.ArgumentParser(description=__doc__, prog="python -m scale")
    reads.add_argument("sizes", nargs="*", type=int, default=SIZES, help="chunks")
    reads.add_argument("--questions", type=int, default=QUESTIONS)
    reads.add_argument("--one", action="store_true", help="measure one size, in this process")
    reads.add_argument("--kept", action="store_true", help="tables of what was measured before, nothing anew")
    reads.add_argument("--write", action="store_true", help="write the tables to docs/scaling.md as well")
    given = reads.parse_args()
    FIGURES.mkdir(parents=True, exist_ok=True)
    if given.one:
        size = given.sizes[0]

        def keep(figures: Figures) -> None:
            (FIGURES / f"{size}.json").write_text(json.dumps(figures), encoding="utf-8")

        keep(measure(size, given.questions, keep))
        return 0
    for size in () if given.kept else given.sizes:
        print(f"Measuring at {size:,} chunks ...", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "scale", "--one", str(size), "--questions", str(given.questions)]
        subprocess.run(command, check=True)
    found = {int(path.stem): json.loads(path.read_bytes()) for path in FIGURES.glob("[0-9]*.json")}
    tables = report(dict(sorted(found.items())))
    print(tables)
    if given.write:
        written(ROOT / "docs" / "scaling.md", tables)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
