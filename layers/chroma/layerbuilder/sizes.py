"""The size gate: the bytes of a deployment, by package, against Lambda's limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

LIMIT_BYTES = 262_144_000
"""Function and all its layers, unzipped (250 MiB; AWS Lambda quotas)."""

MB = 1_000_000

CHUNK_BYTES = 10_000
"""What a chunk of 1,200 characters with fourteen fields adds to IndexLayer: tokens, windows and units 3.5 kB, vectors
2.1, metadata 2.1, BM25 1.2, text .6, ids .2 (docs/evidence/benchmarks.md)."""

_ROUND_CHUNKS = 100
_LISTED = 14


def weigh(folder: Path) -> Counter[str]:
    """Bytes below ``folder`` by package: the folder below python/, else the first one; links are followed."""
    sizes: Counter[str] = Counter()
    for path in folder.rglob("*"):
        if path.is_file():
            parts = path.relative_to(folder).parts
            name = parts[1] if parts[0] == "python" and len(parts) > 1 else parts[0]
            sizes[name.removesuffix(".libs").partition("-")[0]] += path.stat().st_size
    return sizes


def report(title: str, parts: Mapping[str, Path]) -> tuple[str, bool]:
    """A Markdown table of ``parts`` (name -> folder) with the room that they leave, and whether they fit.

    They fit when together they are no more than a Lambda function may have.
    """
    weighed = {name: weigh(folder) for name, folder in parts.items()}
    total = sum(sizes.total() for sizes in weighed.values())
    lines = [f"{title}", "", "| package | part | MB |", "|---|---|---:|"]
    rows = [(size, package, part) for part, sizes in weighed.items() for package, size in sizes.items()]
    rows.sort(key=lambda row: (-row[0], row[1]))
    lines += [f"| {package} | {part} | {size / MB:.1f} |" for size, package, part in rows[:_LISTED]]
    rest = rows[_LISTED:]
    lines.append(f"| {len(rest)} more | | {sum(row[0] for row in rest) / MB:.1f} |")
    lines += [f"| **{name}** | | **{sizes.total() / MB:.1f}** |" for name, sizes in weighed.items()]
    lines.append(f"| **total** | of {LIMIT_BYTES / MB:.1f} | **{total / MB:.1f}** |")
    if total <= LIMIT_BYTES:
        lines += ["", room(LIMIT_BYTES - total)]
    return "\n".join(lines), total <= LIMIT_BYTES


def room(free: int) -> str:
    """What ``free`` bytes are good for, in words; chunks are rounded down."""
    chunks = free // CHUNK_BYTES // _ROUND_CHUNKS * _ROUND_CHUNKS
    return f"Room left: {free / MB:.1f} MB, about {chunks:,} more chunks of 1,200 characters"
