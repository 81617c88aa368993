"""The figures as Markdown tables, and the line that they draw to ten million chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from bench.tables import table

type Found = Mapping[int, Mapping[str, Any]]
"""What ``measure`` gave, by chunks."""

BEGIN, END = "<!-- make scale -->", "<!-- end of make scale -->"
LINE = (1_000_000, 5_000_000, 10_000_000)
LINE_FROM = 100_000
"""A line from less to millions would be a guess."""
COLLECTION_RECORDS = 5_000_000
"""Chroma Cloud's quota."""
SIDES = {
    "table": "table",
    "beside": "counted, beside the version before",
    "counted": "counted",
    "restarted": "counted, server restarted",
}
MB = 1 << 20


def report(found: Found) -> str:
    """All tables of ``found``."""
    return "\n\n".join([_ingest(found), _questions(found), _words(found), *_line(found)])


def written(page: Path, tables: str) -> None:
    """Put ``tables`` between the markers of ``page``; a page without them gets them at its end."""
    text = page.read_text(encoding="utf-8") if page.exists() else "# Scaling\n\n## Measured\n"
    block = f"{BEGIN}\n\n{tables}\n\n{END}"
    before, found, rest = text.partition(BEGIN)
    text = f"{before}{block}{rest.partition(END)[2]}" if found else f"{text.rstrip()}\n\n{block}\n"
    page.write_text(text, encoding="utf-8")


def _ingest(found: Found) -> str:
    head = ("chunks", "ingest s", "of it facts s", "chunks/s", "peak MB", "of it documents", "server MB")
    rows = []
    for size, figures in found.items():
        made, update = figures["ingest"], figures.get("update")
        rows.append(
            (
                f"{size:,}",
                made["seconds"],
                made["phases"]["facts"],
                round(size / made["seconds"]),
                round(made["peak_mb"]),
                round(figures["documents_mb"]),
                round(made["server_mb"]),
                round(made["disk"] / size),
                update["seconds"] if update else "not measured",
                update["phases"]["copying"] if update else "",
                round(update["disk"] / size) if update else "",
            )
        )
    return table((*head, "disk bytes a chunk", "update of 1 % s", "of it copying s", "disk then"), rows)


def _questions(found: Found) -> str:
    rows = []
    for size, figures in found.items():
        for side, said in SIDES.items():
            if times := figures.get(side):
                shares = [_pair(times.get(name)) for name in ("unfiltered", "10 %", "0.1 %")]
                rows.append((f"{size:,}", said, times["open_s"], times["first_ms"], *shares))
    return table(("chunks", "words", "open s", "first ms", "p50 / p99 ms", "filter of 10 %", "filter of 0.1 %"), rows)


def _pair(times: Mapping[str, float] | None) -> str:
    return f"{times['p50']:.0f} / {times['p99']:.0f}" if times else "not measured"


def _words(found: Found) -> str:
    rows = []
    for size, figures in found.items():
        for side in ("table", "beside", "counted"):
            for form, each in (figures.get(side) or {}).get("words", {}).items():
                rows.append((f"{size:,}", SIDES[side], form, each["p50"], each["max"], each["found"]))
    return table(("chunks", "version", "what is said", "p50 ms", "worst ms", "found"), rows)


def _line(found: Found) -> Iterator[str]:
    """Straight lines through the figures by the number of chunks; none from sizes that are all below ``LINE_FROM``.

    None of the ingest's memory: it falls where words are counted instead of kept in a table.
    """
    if len(found) < 2 or max(found) < LINE_FROM:
        return
    sizes = np.array(list(found), dtype=np.float64)
    lines = {
        name: np.polyfit(sizes, [figures["ingest"][name] for figures in found.values()], 1)
        for name in ("seconds", "disk", "server_mb")
    }
    rows = []
    for size in LINE:
        at = {name: float(np.polyval(line, size)) for name, line in lines.items()}
        quota = "within" if size <= COLLECTION_RECORDS else f"{COLLECTION_RECORDS:,} records a collection"
        gigabytes = (at["disk"] / MB / 1024, at["server_mb"] / 1024)
        rows.append((f"{size:,}", at["seconds"] / 3600, *gigabytes, quota))
    yield table(("chunks (not measured)", "ingest h", "disk GB", "server GB", "Cloud's quota"), rows)
