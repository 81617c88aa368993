"""What an ingest pays for where little changed: nothing heavy is imported, and only what changed is read."""

import json
import os
import subprocess
import sys
from pathlib import Path

HEAVY = ("bm25s", "bs4", "chromadb", "docutils", "onnxruntime", "pypdf", "tokenizers")

SCRIPT = """
import json, sys
from ragctl import cli
sys.argv = ["ragctl", "ingest", sys.argv[1], "--index", sys.argv[2], "--json"]
try:
    cli.main()
except SystemExit:
    pass
print(json.dumps(sorted(sys.modules)))
"""


def ingest(docs: Path, index: Path) -> tuple[dict[str, object], set[str]]:
    """Ingest in a fresh process; what it printed, and what it imported."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LLM_", "EMBED_", "INDEX_"))}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, docs, index],
        env={**clean, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True, text=True, check=True, timeout=600,
    )  # fmt: skip
    *said, modules = done.stdout.strip().splitlines()
    return json.loads("\n".join(said)), set(json.loads(modules))


def test_an_ingest_that_changes_nothing_imports_nothing_heavy_and_one_change_reads_one_file(tmp_path: Path) -> None:
    docs, index = tmp_path / "docs", tmp_path / "index"
    docs.mkdir()
    for number in range(3):
        (docs / f"{number}.html").write_text(f"<h1>Rule {number}</h1><p>The fee of pier {number} is due.</p>")
    ingest(docs, index)

    told, modules = ingest(docs, index)

    assert (told["unchanged"], told["chunks"]) == (3, 3)
    assert not modules & set(HEAVY)
    (docs / "1.html").write_text("<h1>Rule 1</h1><p>The fee of pier 1 is paid.</p>")
    told, modules = ingest(docs, index)
    assert (told["changed"], told["unchanged"]) == (1, 2)
    assert {"chromadb", "onnxruntime"} <= modules  # the check would notice an import
