"""INIT under the emulator beside a bare function that only imports chromadb, openai and Powertools."""

from __future__ import annotations

import statistics
from pathlib import Path

from bench.bare import bare_function
from bench.tables import table
from emulator.session import Artefacts, Session

RUNS = 5


def cold_starts(ours: Artefacts, folder: Path) -> str:
    """The cold-start table: INIT of RUNS fresh environments each, alternating so that load hits both alike.

    The bare function is kept in ``folder``.
    """
    functions = {"bare function": bare_function(folder), "QueryFunction": ours}
    runs: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(RUNS):
        for name, artefacts in functions.items():
            with Session(artefacts) as session:
                init = session.invoke({"query": "What does a permit cost?"}).init_ms
            if init is None:
                raise RuntimeError("The emulator reported no INIT")
            runs[name].append(init)
    bare = statistics.median(runs["bare function"])
    rows = [
        (name, statistics.median(times), min(times), max(times), f"{statistics.median(times) / bare:.2f}")
        for name, times in runs.items()
    ]
    return table(("INIT", "median ms", "min", "max", "of the bare one"), rows)
