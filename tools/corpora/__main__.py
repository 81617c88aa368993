"""``make corpora``: prints a row of figures for each corpus of ``corpora.toml`` that is in a folder.

    python -m corpora FOLDER [NAME...] [--show N] [--write]

``FOLDER`` holds the repositories under their names, and below ``built`` the built sites. A folder that is not in the
list is measured too: ``python -m corpora FOLDER DOCUMENTS``. ``--show`` prints up to N chunks with leftovers and
documents with lost words, and wrong titles and links.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.tables import table

from corpora.measure import Corpus, CorpusFigures, draw, measure
from emulator.session import ROOT

LIST = Path(__file__).with_name("corpora.toml")
PAGE = ROOT / "docs" / "evidence" / "reading-documents.md"
BEGIN, END = "<!-- make corpora -->", "<!-- end of make corpora -->"
HEAD = (
    *("documents of", "kind", "documents", "chunks", "not read", "passed over", "words kept %", "of", "leftovers %"),
    *("titles right", "links met", "links and titles against"),
)
CACHE = ROOT / ".index" / "corpora"


def find_corpora(folder: Path, names: Sequence[str]) -> Iterator[tuple[Corpus, str]]:
    """Yield the listed corpora in ``folder`` with their kinds; ``names`` selects some, or other folders in it."""
    listed = tomllib.loads(LIST.read_text(encoding="utf-8"))["corpus"]
    for entry in listed:
        place = folder / entry["folder"]
        if place.is_dir() and (not names or entry["name"] in names):
            site = folder / "built" / entry.get("built", "")
            built = site if "built" in entry and any(site.rglob("*.html")) else None
            options: dict[str, Any] = {
                key: tuple(value) if isinstance(value, list) else value
                for key, value in entry.items()
                if key not in ("kind", "folder", "built")
            }
            yield Corpus(folder=place, built=built, **options), entry["kind"]
    for name in names:
        if all(name != entry["name"] for entry in listed):
            yield Corpus(name=name, folder=folder / name), "folder"


def format_row(figures: CorpusFigures, kind: str) -> list[str]:
    """Return the table's cells of one corpus."""
    lost = sum(map(Counter.total, figures.lost.values()))
    return [
        figures.corpus.name,
        kind,
        f"{figures.documents:,}",
        f"{len(figures.chunks):,}",
        str(len(figures.failed) + figures.unread.total()),
        str(sum(figures.skipped.values())),
        f"{100 * (1 - lost / max(figures.words, 1)):.2f}" if figures.compared else "",
        f"{figures.words:,}",
        f"{100 * len(figures.leftovers) / max(len(figures.chunks), 1):.1f}",
        f"{sum(right for right, *_ in figures.titles)} of {len(figures.titles)}",
        f"{sum(is_met for is_met, _ in figures.links)} of {len(figures.links)}",
        "built site" if figures.corpus.built else "authors' links" if figures.corpus.base else "files",
    ]


def describe_faults(figures: CorpusFigures, count: int) -> Iterator[str]:
    """Describe failures, wrong titles and links, lost words and leftovers, up to ``count`` of each long list."""
    yield from (f"FAILED {line}" for line in figures.failed[:count])
    yield f"NOT READ {dict(figures.unread)}, PASSED OVER {dict(figures.skipped)}"
    yield from (f"TITLE {mine!r} is stated as {stated!r}" for right, mine, stated in figures.titles if not right)
    yield from (f"LINK {url}" for is_met, url in figures.links if not is_met)
    for path, lost in sorted(figures.lost.items(), key=lambda item: -item[1].total())[:count]:
        yield f"LOST {lost.total()} {path}: {' '.join(f'{word}*{times}' for word, times in lost.most_common(25))}"
    yield f"LEFT {Counter(kind for _, kinds in figures.leftovers for kind in kinds)}"
    for chunk, kinds in draw(figures.leftovers, count):
        yield f"{'=' * 30} {chunk.path} {kinds}\n{chunk.text}"


def main() -> int:
    """Measure and print; with ``--write`` update the table in docs/evidence/reading-documents.md."""
    parser = argparse.ArgumentParser(prog="python -m corpora")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    for corpus, kind in find_corpora(options.folder, options.names):
        figures = measure(corpus)
        row = format_row(figures, kind)
        (CACHE / f"{corpus.name.replace('/', ' ')}.json").write_text(json.dumps(row), encoding="utf-8")
        print(" | ".join(row), flush=True)
        if options.show:
            print(*describe_faults(figures, options.show), sep="\n", flush=True)
    if options.write:
        rows = sorted(json.loads(path.read_bytes()) for path in CACHE.glob("*.json"))
        text = table(HEAD, sorted(rows, key=lambda cells: (cells[1], cells[0])))
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
