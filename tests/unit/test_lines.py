"""The law of size: each room has at most as many lines as its row says. CONTRIBUTING.md says who may raise a row."""

from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
MOST_LINES = {
    "docs": 3840,
    "docs/adr": 970,
    "documents": 360,
    "documents/documents": 820,
    "documents/documents/converters": 6450,
    "documents/documents/crawl": 1490,
    "documents/documents/markup": 1970,
    "documents/documents/sites": 1000,
    "functions/query": 330,
    "functions/query/rag": 1000,
    "functions/query/rag/adapters": 3510,
    "functions/query/rag/answer": 3920,
    "functions/query/rag/ask": 1220,
    "functions/query/rag/config": 300,
    "functions/query/rag/find": 1090,
    "functions/query/rag/http": 1330,
    "functions/query/rag/mcp": 570,
    "functions/query/rag/profiles": 860,
    "functions/query/rag/text": 330,
    "functions/query/rag/values": 700,
    "functions/query/rag/wiring": 950,
    "functions/query/rag/write": 630,
    "functions/query/routes": 700,
    "functions/query/runtime": 360,
    "layers/chroma/knowledge": 250,
    "layers/chroma/knowledge/build": 2490,
    "layers/chroma/knowledge/cut": 1080,
    "layers/chroma/knowledge/engines": 1400,
    "layers/chroma/knowledge/model": 680,
    "layers/chroma/knowledge/open": 1250,
    "layers/chroma/knowledge/read": 2490,
    "layers/chroma/knowledge/search": 2730,
    "layers/chroma/layerbuilder": 370,
    "layers/chroma/modelbuilder": 430,
    "tests": 3730,
    "tests/attacks": 1040,
    "tests/browser": 1700,
    "tests/budget": 180,
    "tests/documents": 3650,
    "tests/e2e": 760,
    "tests/evaluation": 1560,
    "tests/faults": 500,
    "tests/functional": 5610,
    "tests/infra": 2690,
    "tests/integration": 10090,
    "tests/unit": 15100,
    "tools/bench": 730,
    "tools/corpora": 500,
    "tools/emulator": 590,
    "tools/evaluate": 2440,
    "tools/mutants": 250,
    "tools/publish": 800,
    "tools/ragctl": 4260,
    "tools/research": 1330,
    "tools/serve": 670,
    "tools/smoke": 900,
    "web": 2030,
}
"""By folder. A file counts for the deepest folder of the table that holds it."""
SUFFIXES = {".css", ".html", ".js", ".md", ".py"}
SLACK = 100
"""A row that is further above its room is lowered, so that deleted lines do not come back unseen."""


def test_no_room_has_more_lines_than_its_row() -> None:
    lines = count_lines()
    assert {room: count for room, count in lines.items() if count > MOST_LINES.get(room, 0)} == {}
    assert {room: lines[room] for room, most in MOST_LINES.items() if lines[room] < most - SLACK} == {}


def count_lines() -> Counter[str]:
    """Return the lines of each room, and of each top folder outside of all rooms."""
    counts: Counter[str] = Counter()
    for top in ("docs", "documents", "functions", "layers", "tests", "tools", "web"):
        for file in (file for file in (REPOSITORY / top).rglob("*") if file.suffix in SUFFIXES):
            folders = map(str, file.relative_to(REPOSITORY).parents)
            room = next((folder for folder in folders if folder in MOST_LINES), top)
            counts[room] += file.read_bytes().count(b"\n")
    return counts
