"""``make corpora``: a row of figures for each corpus that ``corpora.toml`` names and a folder holds.

    python -m corpora FOLDER [NAME...] [--show N] [--write]

``FOLDER`` holds the repositories under their names, and below ``built`` the built sites. A folder that the list does
not name is measured as it is: ``python -m corpora FOLDER DOCUMENTS``. ``--show`` prints so many chunks with leftovers,
lost words, wrong titles and links.
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

from corpora.measure import Corpus, Row, drawn, measure
from emulator.session import ROOT

LIST = Path(__file__).with_name("corpora.toml")
PAGE = ROOT / "docs" / "evidence" / "reading-documents.md"
BEGIN, END = "<!-- make corpora -->", "<!-- end of make corpora -->"
HEAD = (
    *("documents of", "kind", "documents", "chunks", "failed", "passed over", "words kept %", "of", "leftovers %"),
    *("titles right", "links met", "links and titles against"),
)
FIGURES = ROOT / ".index" / "corpora"


def corpora(folder: Path, names: Sequence[str]) -> Iterator[tuple[Corpus, str]]:
    """The corpora of the list that ``folder`` holds, each with its kind; ``names`` chooses, also folders beside it."""
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


def cells(row: Row, kind: str) -> list[str]:
    """A row of the table."""
    media = Counter(row.passed_over)
    return [
        row.corpus.name,
        kind,
        f"{row.documents:,}",
        f"{len(row.chunks):,}",
        str(len(row.failed)),
        str(media.total()),
        f"{row.kept:.2f}" if row.compared else "",
        f"{row.words:,}",
        f"{row.left_over:.1f}",
        f"{sum(right for right, *_ in row.titles)} of {len(row.titles)}",
        f"{sum(met for met, _ in row.links)} of {len(row.links)}",
        "built site" if row.corpus.built else "authors' links" if row.corpus.base else "files",
    ]


def shown(row: Row, many: int) -> Iterator[str]:
    """What is amiss, for reading."""
    yield from (f"FAILED {line}" for line in row.failed[:many])
    yield f"PASSED OVER {dict(row.passed_over)}"
    yield from (f"TITLE {mine!r} is stated as {stated!r}" for right, mine, stated in row.titles if not right)
    yield from (f"LINK {url}" for met, url in row.links if not met)
    for path, lost in sorted(row.lost.items(), key=lambda one: -one[1].total())[:many]:
        yield f"LOST {lost.total()} {path}: {' '.join(f'{word}*{count}' for word, count in lost.most_common(25))}"
    yield f"LEFT {Counter(kind for _, kinds in row.left for kind in kinds)}"
    for chunk, kinds in drawn(row.left, many):
        yield f"{'=' * 30} {chunk.path} {kinds}\n{chunk.text}"


def main() -> int:
    """Measure, print, and with ``--write`` put the table into docs/evidence/reading-documents.md."""
    reads = argparse.ArgumentParser(prog="python -m corpora")
    reads.add_argument("folder", type=Path)
    reads.add_argument("names", nargs="*")
    reads.add_argument("--show", type=int, default=0)
    reads.add_argument("--write", action="store_true")
    given = reads.parse_args()
    FIGURES.mkdir(parents=True, exist_ok=True)
    for corpus, kind in corpora(given.folder, given.names):
        row = measure(corpus)
        (FIGURES / f"{corpus.name.replace('/', ' ')}.json").write_text(json.dumps(cells(row, kind)), encoding="utf-8")
        print(" | ".join(cells(row, kind)), flush=True)
        if given.show:
            print(*shown(row, given.show), sep="\n", flush=True)
    if given.write:
        rows = sorted(json.loads(path.read_bytes()) for path in FIGURES.glob("*.json"))
        text = table(HEAD, sorted(rows, key=lambda cells: (cells[1], cells[0])))
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
