"""What an ingest pays for where little changed: nothing heavy is imported, and only what changed is read."""

import json
from pathlib import Path

from command_line import run_clean
from made_files import write_files

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
    *said, modules = run_clean(SCRIPT, docs, index).strip().splitlines()
    return json.loads("\n".join(said)), set(json.loads(modules))


def test_an_ingest_that_changes_nothing_imports_nothing_heavy_and_one_change_reads_one_file(tmp_path: Path) -> None:
    page = "<h1>Rule {0}</h1><p>The fee of pier {0} is due.</p>"
    docs = write_files(tmp_path / "docs", {f"{number}.html": page.format(number) for number in range(3)})
    index = tmp_path / "index"
    ingest(docs, index)

    told, modules = ingest(docs, index)

    assert (told["unchanged"], told["chunks"]) == (3, 3)
    assert not modules & set(HEAVY)
    (docs / "1.html").write_text("<h1>Rule 1</h1><p>The fee of pier 1 is paid.</p>")
    told, modules = ingest(docs, index)
    assert (told["changed"], told["unchanged"]) == (1, 2)
    assert {"chromadb", "onnxruntime"} <= modules  # the check would notice an import
