"""The law of size: each room has at most as many lines as its row says. CONTRIBUTING.md says who may raise a row."""

from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
MOST_LINES = {
    "docs": 4070,
    "docs/adr": 920,
    "documents": 60,
    "documents/documents": 580,
    "documents/documents/converters": 3790,
    "documents/documents/crawl": 1770,
    "documents/documents/markup": 2020,
    "documents/documents/sites": 1090,
    "functions/query": 350,
    "functions/query/rag": 690,
    "functions/query/rag/adapters": 4480,
    "functions/query/rag/answer": 4400,
    "functions/query/rag/ask": 1320,
    "functions/query/rag/config": 420,
    "functions/query/rag/contract": 150,
    "functions/query/rag/find": 1310,
    "functions/query/rag/http": 1480,
    "functions/query/rag/mcp": 700,
    "functions/query/rag/ports": 310,
    "functions/query/rag/profiles": 1060,
    "functions/query/rag/text": 310,
    "functions/query/rag/values": 760,
    "functions/query/rag/wiring": 1070,
    "functions/query/rag/write": 590,
    "functions/query/routes": 1000,
    "functions/query/runtime": 380,
    "layers/chroma/knowledge": 260,
    "layers/chroma/knowledge/build": 2910,
    "layers/chroma/knowledge/cut": 1190,
    "layers/chroma/knowledge/engines": 1570,
    "layers/chroma/knowledge/model": 810,
    "layers/chroma/knowledge/open": 1510,
    "layers/chroma/knowledge/read": 1920,
    "layers/chroma/knowledge/search": 3080,
    "layers/chroma/layerbuilder": 390,
    "layers/chroma/modelbuilder": 450,
    "tests": 3860,
    "tests/attacks": 1090,
    "tests/browser": 1930,
    "tests/budget": 230,
    "tests/documents": 2610,
    "tests/e2e": 890,
    "tests/evaluation": 1420,
    "tests/faults": 500,
    "tests/functional": 7160,
    "tests/infra": 3320,
    "tests/integration": 11690,
    "tests/unit": 17140,
    "tools/bench": 780,
    "tools/corpora": 620,
    "tools/emulator": 630,
    "tools/evaluate": 2670,
    "tools/publish": 870,
    "tools/ragctl": 4430,
    "tools/research": 1390,
    "tools/serve": 570,
    "tools/smoke": 930,
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
