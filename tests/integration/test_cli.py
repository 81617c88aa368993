"""The commands on a small knowledge base, with the real embedding model and a real index."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import real_model
from chroma_server import free_port
from command_line import Run
from fakes_llm import LlmServer, error, reply
from functional.harness import SETTINGS
from made_files import write_files

from knowledge import embedding
from knowledge.embedding import MiniLM
from ragctl import cli

DOCUMENTS = {
    "01_regulatory/permits.md": (
        "---\ntitle: Import Permits\ndoc_id: REG-1\nsource_urls: [https://example.org/permits]\n---\n"
        "# Import Permits\n\n## Plants\n\nImporting plants needs a permit from the plant health office. "
        "The permit must be approved before the shipment arrives.\n"
    ),
    "02_carriers/reefers.md": (
        "---\ntitle: Reefer Containers\ndoc_id: CAR-1\n---\n# Reefer Containers\n\n## Temperature\n\n"
        "A reefer container keeps frozen fish at minus eighteen degrees Celsius during the whole voyage.\n"
    ),
    "03_reference/terms.txt": "Demurrage is charged for each day on which a container stays in the terminal.\n",
}
IN_SCOPE = "Do I need a permit for importing plants?"
OUT_OF_SCOPE = "Who won the football world cup in 2018?"


@pytest.fixture(scope="module")
def knowledge_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("kb"), DOCUMENTS)


@pytest.fixture(scope="module")
def index(knowledge_base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("index") / "waypoint"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INDEX_URI", "")
        assert cli.run(["ingest", str(knowledge_base), "--profile", "waypoint", "--index", str(target), "--json"]) == 0
    return target


def failed(result: Any, status: int = 1) -> Any:
    """What a command with ``--json`` says that ends with ``status``."""
    assert result[0] == status, result
    assert "Traceback" not in result[2]
    return json.loads(result[1])


def test_ingest_counts_what_it_did(run: Run, knowledge_base: Path, tmp_path: Path) -> None:
    first = run("ingest", knowledge_base, "--index", tmp_path / "i", "--json")
    again = run("ingest", knowledge_base, "--index", tmp_path / "i", "--json")
    part = knowledge_base / "01_regulatory"
    fewer = run("ingest", part, "--index", tmp_path / "i", "--allow-removals", "--json")

    first.pop("links")
    assert len(first.pop("version")) == 12
    phases = first.pop("phases")
    assert list(phases) == ["reading", "cutting", "embedding", "writing"]
    assert sum(phases.values()) <= first.pop("seconds") + 0.01
    assert first == {
        "documents": 3, "chunks": 3, "added": 3, "changed": 0, "removed": 0, "unchanged": 0, "kept": 0,
        "emptied": [], "failed": [],
        "warnings": [], "skipped": {}, "examples": {}, "passedOver": [], "leftOut": {}, "losses": [],
    }  # fmt: skip
    assert (again["added"], again["unchanged"]) == (0, 3)
    assert (fewer["documents"], fewer["removed"]) == (1, 2)


def test_an_interrupted_ingest_leaves_the_index_alone(
    run: Run, knowledge_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("ingest", knowledge_base / "01_regulatory", "--index", tmp_path / "i")
    before = (tmp_path / "i" / "manifest.json").read_bytes()

    def interrupted(*_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(type(real_model.model()), "embed", interrupted)
    status, out, err = run("ingest", knowledge_base, "--index", tmp_path / "i")

    assert (status, out, err) == (130, "", "Error: Interrupted; the index is as it was\n")
    assert (tmp_path / "i" / "manifest.json").read_bytes() == before


def test_search_ranks_the_fitting_chunk_first_and_shows_its_text(run: Run, index: Path) -> None:
    found = run("search", "cold chain for frozen fish", "--k", "2", "--index", index, "--json")

    first, second = found["hits"]
    assert first.keys() == {"rank", "id", "docId", "title", "section", "score", "parts", "text"}
    assert (first["rank"], first["docId"], first["title"]) == (1, "CAR-1", "Reefer Containers")
    assert first["parts"].keys() == {"dense", "window", "bm25", "late"}
    assert first["score"] > second["score"]
    assert first["parts"]["dense"] > second["parts"]["dense"], "what a threshold is compared with"
    assert "minus eighteen degrees" in first["text"]
    status, out, err = run("search", "frozen fish", "--k", "1", "--index", index)
    assert (status, err) == (0, "")
    assert out.startswith(" 1. Reefer Containers")
    assert "minus eighteen degrees" in out


def test_search_explains_how_well_each_word_is_met(run: Run, index: Path) -> None:
    asked = ("search", "cold chain for frozen fish", "--k", "1", "--index", index, "--explain")
    (hit,) = run(*asked, "--json")["hits"]
    assert list(hit["words"]) == ["cold", "chain", "for", "frozen", "fish"]
    assert hit["words"]["frozen"] > hit["words"]["for"]
    said = run(*asked)[1]
    assert f"late {hit['parts']['late']:.3f}" in said
    assert f"frozen {hit['words']['frozen']:.2f}" in said


def test_search_writes_a_run_of_documents(run: Run, index: Path, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text(
        '{"_id": "q2", "text": "frozen fish"}\n{"_id": "q1", "text": "permit for plants"}\n', encoding="utf-8"
    )

    many = ("--queries", tmp_path / "q.jsonl", "--run", tmp_path / "run.tsv", "--mode", "bm25", "--k", "2")
    done = run("search", *many, "--index", index, "--json")

    header, *lines = (tmp_path / "run.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines]
    assert done["queries"] == 2
    assert header == "query-id\tcorpus-id\tscore"
    assert [row[:2] for row in rows] == [["q2", "CAR-1"], ["q1", "REG-1"]]  # no other document has any of the words
    assert float(rows[0][2]) > 0


def test_ask_refuses_a_store_that_others_may_read(
    run: Run, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "s.sqlite"
    place.touch()
    place.chmod(0o660)
    monkeypatch.setenv("STORE_PATH", str(place))
    refused = failed(run("ask", IN_SCOPE, "--index", index, "--json"))
    assert refused["code"] == "configuration_error"
    assert refused["error"].endswith(f"Run: chmod 600 {place}")


def test_ask_prints_the_body_of_the_http_answer(run: Run, index: Path) -> None:
    body = run("ask", IN_SCOPE, "--index", index, "--profile", "waypoint", "--json")
    assert "permit" in body["answer"]
    assert body["refused"] is False
    assert body["citations"][0]["docId"] == "REG-1"
    assert body["sources"][0]["url"] == "https://example.org/permits"
    assert body["metadata"]["query"] == IN_SCOPE
    assert body["metadata"]["model"] == "extractive"


def test_a_decline_is_done_work(run: Run, index: Path) -> None:
    body = run("ask", OUT_OF_SCOPE, "--index", index, "--json")
    assert body["refused"] is True
    assert body["confidence"] == {"level": "Low", "score": 0.0, "reason": "No relevant sources found", "raw": None}


def test_ask_for_people_shows_answer_citations_and_confidence_or_why_it_declines(run: Run, index: Path) -> None:
    status, out, err = run("ask", IN_SCOPE, "--index", index)
    assert (status, err) == (0, "")
    assert "plant health office" in out
    assert "1. Import Permits > Plants  https://example.org/permits" in out
    assert "Confidence " in out
    _, out, _ = run("ask", OUT_OF_SCOPE, "--index", index)
    assert "What was found is too far from the question. The closest: " in out
    assert "cosine" not in out
    _, out, _ = run("ask", OUT_OF_SCOPE, "--index", index, "--explain")
    assert "(cosine " in out


def test_a_question_that_cannot_be_admitted_is_bad_usage(run: Run, index: Path) -> None:
    assert failed(run("ask", " ", "--index", index, "--json"), status=2)["code"] == "empty_query"
    assert failed(run("ask", "x" * 1001, "--index", index, "--json"), status=2) == {
        "error": "Query exceeds maximum length of 1000 characters",
        "code": "query_too_long",
    }


def test_an_llm_that_fails_is_reported_without_its_words(
    run: Run, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LlmServer([error(503, message="vendor secret")]) as server:
        monkeypatch.setenv("LLM_BASE_URL", server.url)
        monkeypatch.setenv("LLM_MAX_RETRIES", "0")
        result = run("ask", IN_SCOPE, "--index", index, "--json")
    assert failed(result) == {"error": "Pipeline error: LLM request failed", "code": "llm_unavailable"}
    assert "vendor secret" not in result[2]


@pytest.mark.parametrize("command", [("ask", "x"), ("search", "x"), ("show", "id_1")], ids=lambda c: c[0])
def test_without_an_index_every_reader_says_what_to_do(run: Run, tmp_path: Path, command: tuple[str, str]) -> None:
    status, out, err = run(*command, "--index", tmp_path / "nowhere")
    problem = failed(run(*command, "--index", tmp_path / "nowhere", "--json"))
    assert (status, out) == (1, "")
    assert err.startswith("Error: No index is loaded. Run: ragctl ingest PATH")
    assert problem["code"] == "index_not_ready"


def test_show_prints_a_chunk_by_either_form_of_its_id(run: Run, index: Path) -> None:
    (hit,) = run("search", "frozen fish", "--k", "1", "--index", index, "--json")["hits"]

    shown = run("show", hit["id"], "--index", index, "--json")
    status, out, _ = run("show", hit["id"].removeprefix("id_"), "--index", index)

    assert shown["text"] == hit["text"]
    assert (shown["id"], shown["docId"], shown["category"]) == (hit["id"], "CAR-1", "02_carriers")
    assert (shown["chunkIndex"], shown["chunkCount"], shown["path"]) == (0, 1, "02_carriers/reefers.md")
    assert status == 0
    assert "minus eighteen degrees" in out
    missing = {"error": "The index has no chunk id_999", "code": "unknown_chunk"}
    assert failed(run("show", "id_999", "--index", index, "--json")) == missing


def test_doctor_passes_where_everything_is_there(run: Run, index: Path) -> None:
    free = free_port()
    told = run("doctor", "--index", index, "--port", free, "--json")

    assert told["ok"] is True
    assert [check["name"] for check in told["checks"]] == [
        "python", "packages", "model", "text recognition", "index", "manifest", "llm", "store", "seed rules", "port",
    ]  # fmt: skip
    details = {check["name"]: check["detail"] for check in told["checks"]}
    assert "3 documents, 3 chunks" in details["index"]
    assert details["manifest"] == "agrees with the collection about 3 documents and 3 chunks; BM25 of 33 terms"
    assert details["port"] == f"{free} is free"


def test_doctor_names_what_is_wrong_and_what_to_do(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, LlmServer([error(404)]) as server:
        port = taken.getsockname()[1]
        monkeypatch.setenv("LLM_BASE_URL", server.url.replace("/v1", "/nothing-here"))
        monkeypatch.setenv("LLM_API_KEY", "sk-never-shown")
        result = run("doctor", "--index", tmp_path, "--port", port, "--json")

    told = failed(result)
    checks = {check["name"]: check for check in told["checks"]}
    assert told["ok"] is False
    assert [name for name, check in checks.items() if not check["ok"]] == ["index", "manifest", "llm", "port"]
    assert "Run: ragctl ingest PATH" in checks["index"]["detail"]
    assert f"PORT={port + 1} make run" in checks["port"]["detail"]
    assert "gives no answer" in checks["llm"]["detail"]
    assert "Check LLM_MODEL and LLM_BASE_URL" in checks["llm"]["detail"]
    assert "sk-never-shown" not in result[1] + result[2]


def test_doctor_notices_an_llm_that_cannot_be_reached(run: Run, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_BASE_URL", f"http://127.0.0.1:{free_port()}/v1")
    told = failed(run("doctor", "--index", index, "--port", free_port(), "--json"))
    llm = next(check for check in told["checks"] if check["name"] == "llm")
    assert llm["ok"] is False
    assert "cannot be reached (ConnectError)" in llm["detail"]


def test_doctor_asks_the_model_for_a_word_as_it_accepts_it(
    run: Run, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = error(400, code="unsupported_parameter", message="Unsupported parameter: 'max_tokens'")
    with LlmServer([refusal, reply("Yes.")]) as server:
        monkeypatch.setenv("LLM_BASE_URL", server.url)
        told = run("doctor", "--index", index, "--port", free_port(), "--json")
    llm = next(check for check in told["checks"] if check["name"] == "llm")
    assert "gave a word in" in llm["detail"]
    assert server.requests[-1].json["max_completion_tokens"] == 16


def test_doctor_notices_a_model_that_was_altered(
    run: Run, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Path(shutil.copytree(embedding.DEFAULT_MODEL_DIR, tmp_path / "model"))
    graph = copy / embedding.GRAPH_FILE
    content = bytearray(graph.read_bytes())
    content[len(content) // 2] ^= 1
    graph.write_bytes(content)
    monkeypatch.setattr(embedding, "DEFAULT_MODEL_DIR", copy)
    monkeypatch.setattr(embedding, "MiniLM", MiniLM)
    told = failed(run("doctor", "--index", index, "--json"))

    model = next(check for check in told["checks"] if check["name"] == "model")
    assert model["ok"] is False
    assert "sha256 is" in model["detail"]
    assert "Run: make model" in model["detail"]


@pytest.mark.slow
def test_the_program_reads_the_index_from_the_environment_and_answers_where_the_terminal_knows_ascii_only(
    index: Path,
) -> None:
    text = f"{IN_SCOPE} Prüfung"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
    chosen = {"INDEX_URI": str(index), "RAG_PROFILE": "waypoint", "PYTHONIOENCODING": "ascii"}
    command = [str(Path(sys.executable).with_name("ragctl")), "ask", text, "--json"]
    done = subprocess.run(command, env={**clean, **chosen}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    body = json.loads(done.stdout)
    assert (body["citations"][0]["docId"], body["metadata"]["query"]) == ("REG-1", text)


@pytest.mark.slow
def test_the_program_bears_a_reader_that_stops_early(index: Path) -> None:
    program = Path(sys.executable).with_name("ragctl")
    with subprocess.Popen(
        [program, "show", "id_1", "--json", "--index", index], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()

    assert (process.returncode, errors) == (1, "")
