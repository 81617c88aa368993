"""What a cold start, and an ingest, pay for: what is imported, and what must wait until it is needed."""

import json
from pathlib import Path

import pytest
import real_model
from functional.harness import API_KEY, run_apart
from made_files import write_files

from rag.profiles import PROFILES

MAX_MODULES = 1700
"""FACTS.md counts 1,408 with Chroma, Powertools and openai; this is without openai."""

LLM_ONLY = {"openai", "httpx2"}
INGEST_ONLY = {
    "bm25s", "filelock", "knowledge.build.write",
    "knowledge.cut.chunking", "knowledge.read.documents", "knowledge.build.ingest",
    "knowledge.read.loading", "layerbuilder", "markdown_it", "modelbuilder", "onnx", "py3langid", "ragctl", "rich",
    "ruamel", "typer", "yaml",
}  # fmt: skip
NEVER = {"boto3", "botocore.session", "kubernetes", "torch", "transformers"}

ON_LAMBDA = {"LAMBDA_TASK_ROOT": "/var/task", "AWS_LAMBDA_FUNCTION_NAME": "query", "_X_AMZN_TRACE_ID": "Root=1-0-0"}

SCRIPT = """
import json, sys
import chromadb  # its own needs (tenacity, yaml, rich) are not ours to choose
theirs = set(sys.modules)
from functional.harness import Context, DECLINE, OUT_OF_SCOPE, post, rest_event
import app
started = set(sys.modules)
health = app.lambda_handler(rest_event("GET", "/api/health"), Context())
decline = app.lambda_handler(post({"query": OUT_OF_SCOPE}), Context())
assert health["statusCode"] == 200, health
assert json.loads(decline["body"])["answer"] == DECLINE, decline
served = set(sys.modules)
print(json.dumps({"all": sorted(served), "started": sorted(started - theirs), "served": sorted(served - theirs)}))
"""


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The modules of a fresh process with an LLM configured: ``started``, and ``served`` (health, a no-results answer).

    These two are without what ``import chromadb`` alone brings; ``all`` is everything.
    """
    target = str(real_model.sample_index("waypoint", tmp_path_factory))
    llm = {"LLM_API_KEY": API_KEY, "LLM_BASE_URL": "http://127.0.0.1:9/v1"}
    printed = run_apart(SCRIPT, env={"INDEX_URI": target, "RAG_PROFILE": "waypoint", **ON_LAMBDA, **llm}).stdout
    return {when: set(names) for when, names in json.loads(printed.splitlines()[-1]).items()}


@pytest.mark.parametrize("when", ["started", "served"])
def test_health_and_no_results_never_import_the_llm_s_client(modules: dict[str, set[str]], when: str) -> None:
    assert modules[when] & LLM_ONLY == set()


def test_nothing_of_ingest_and_no_heavy_stranger_is_imported(modules: dict[str, set[str]]) -> None:
    assert modules["served"] & INGEST_ONLY == set()
    assert modules["all"] & NEVER == set()
    # The check would notice an import
    assert {"app", "knowledge.open.index", "rag.pipeline", "aws_lambda_powertools"} <= modules["started"]
    assert {"chromadb", "onnxruntime", "tokenizers"} <= modules["all"]


def test_only_the_profile_that_answers_is_imported_within_the_budget(modules: dict[str, set[str]]) -> None:
    assert modules["all"] & {f"rag.profiles.{profile}" for profile in PROFILES} == {"rag.profiles.waypoint"}
    assert len(modules["all"]) <= MAX_MODULES


# What an ingest pays for where little changed

HEAVY = ("bm25s", "bs4", "chromadb", "docutils", "onnxruntime", "pypdf", "tokenizers")
INGEST = """
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
    *said, modules = run_apart(INGEST, docs, index).stdout.strip().splitlines()
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
