"""The commands on a small knowledge base, with the real embedding model and a real index."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes_llm import LlmServer, error, reply
from functional.harness import SETTINGS
from made_files import write_files

from knowledge import embedding
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

type Run = Callable[..., tuple[int, str, str]]


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


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process: (exit status, stdout, stderr)."""
    for name in [*(name for name in os.environ if name.startswith(SETTINGS)), "INDEX_URI", "RAG_PROFILE"]:
        monkeypatch.setenv(name, "")

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        capsys.readouterr()
        status = cli.run([str(argument) for argument in arguments])
        return status, *capsys.readouterr()

    return run


def json_of(result: tuple[int, str, str], *, status: int = 0) -> Any:
    assert result[0] == status, result
    assert "Traceback" not in result[2]
    return json.loads(result[1])


def test_ingest_counts_what_it_did(run: Run, knowledge_base: Path, tmp_path: Path) -> None:
    first = json_of(run("ingest", knowledge_base, "--index", tmp_path / "i", "--json"))
    again = json_of(run("ingest", knowledge_base, "--index", tmp_path / "i", "--json"))
    part = knowledge_base / "01_regulatory"
    fewer = json_of(run("ingest", part, "--index", tmp_path / "i", "--allow-removals", "--json"))

    assert isinstance(first.pop("seconds"), float)
    first.pop("links")
    assert len(first.pop("version")) == 12
    assert first.pop("phases").keys() == {"reading", "cutting", "embedding", "writing"}
    assert first == {
        "documents": 3, "chunks": 3, "added": 3, "changed": 0, "removed": 0, "unchanged": 0, "kept": 0,
        "emptied": [], "failed": [],
        "warnings": [], "skipped": {}, "leftOut": {},
    }  # fmt: skip
    assert (again["added"], again["unchanged"]) == (0, 3)
    assert (fewer["documents"], fewer["removed"]) == (1, 2)


def test_ingest_names_what_it_could_not_read_and_goes_on(run: Run, tmp_path: Path) -> None:
    write_files(tmp_path / "docs", {"good.md": "# Good\n\nSome text to index.\n", "binary.md": b"\x00\x01\x02" * 100})

    done = json_of(run("ingest", tmp_path / "docs", "--index", tmp_path / "i", "--json"))
    status, out, err = run("ingest", tmp_path / "docs", "--index", tmp_path / "i")

    assert done["documents"] == 1
    (failure,) = done["failed"]
    assert failure["path"].endswith("docs/binary.md")
    assert status == 0
    assert f"Failed: {failure['path']}: {failure['error']}\n" in err
    assert "documents  1" in out


def test_ingest_of_nothing_fails_and_leaves_the_index_alone(run: Run, knowledge_base: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    run("ingest", knowledge_base, "--index", tmp_path / "i")
    before = (tmp_path / "i" / "manifest.json").read_bytes()

    failed = json_of(run("ingest", tmp_path / "empty", "--index", tmp_path / "i", "--json"), status=1)
    missing = json_of(run("ingest", tmp_path / "nowhere", "--index", tmp_path / "i", "--json"), status=1)

    assert failed["code"] == missing["code"] == "source_unreadable"
    assert (tmp_path / "i" / "manifest.json").read_bytes() == before


def test_an_interrupted_ingest_leaves_the_index_alone(
    run: Run, knowledge_base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("ingest", knowledge_base / "01_regulatory", "--index", tmp_path / "i")
    before = (tmp_path / "i" / "manifest.json").read_bytes()

    def interrupted(self: embedding.MiniLM, texts: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(embedding.MiniLM, "embed", interrupted)
    status, out, err = run("ingest", knowledge_base, "--index", tmp_path / "i")

    assert (status, out, err) == (130, "", "Error: Interrupted; the index is as it was\n")
    assert (tmp_path / "i" / "manifest.json").read_bytes() == before


def test_search_ranks_the_fitting_chunk_first(run: Run, index: Path) -> None:
    found = json_of(run("search", "cold chain for frozen fish", "--k", "2", "--index", index, "--json"))

    first, second = found["hits"]
    assert first.keys() == {"rank", "id", "docId", "title", "section", "score", "parts", "text"}
    assert (first["rank"], first["docId"], first["title"]) == (1, "CAR-1", "Reefer Containers")
    assert first["parts"].keys() == {"dense", "window", "bm25", "late"}
    assert first["score"] > second["score"]
    assert first["parts"]["dense"] > second["parts"]["dense"], "what a threshold is compared with"
    assert "minus eighteen degrees" in first["text"]


def test_search_explains_how_well_each_word_is_met(run: Run, index: Path) -> None:
    asked = ("search", "cold chain for frozen fish", "--k", "1", "--index", index, "--explain")
    (hit,) = json_of(run(*asked, "--json"))["hits"]

    assert list(hit["words"]) == ["cold", "chain", "for", "frozen", "fish"]
    assert hit["words"]["frozen"] > hit["words"]["for"]
    said = run(*asked)[1]
    assert f"late {hit['parts']['late']:.3f}" in said
    assert f"frozen {hit['words']['frozen']:.2f}" in said


def test_search_for_people_names_chunk_and_score(run: Run, index: Path) -> None:
    status, out, err = run("search", "frozen fish", "--k", "1", "--index", index)

    assert (status, err) == (0, "")
    assert out.startswith(" 1. Reefer Containers")
    assert "minus eighteen degrees" in out


def test_search_writes_a_run_of_documents(run: Run, index: Path, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text(
        '{"_id": "q2", "text": "frozen fish"}\n{"_id": "q1", "text": "permit for plants"}\n', encoding="utf-8"
    )

    many = ("--queries", tmp_path / "q.jsonl", "--run", tmp_path / "run.tsv")
    done = json_of(run("search", *many, "--k", "2", "--index", index, "--json"))

    header, *lines = (tmp_path / "run.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines]
    assert done["queries"] == 2
    assert header == "query-id\tcorpus-id\tscore"
    assert [row[0] for row in rows] == ["q2", "q2", "q1", "q1"]
    assert (rows[0][1], rows[2][1]) == ("CAR-1", "REG-1")
    assert float(rows[0][2]) > float(rows[1][2])


def test_ask_refuses_a_store_that_others_may_read(
    run: Run, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "s.sqlite"
    place.touch()
    place.chmod(0o660)
    monkeypatch.setenv("STORE_PATH", str(place))
    refused = json_of(run("ask", IN_SCOPE, "--index", index, "--json"), status=1)
    assert refused["code"] == "configuration_error"
    assert refused["error"].endswith(f"Run: chmod 600 {place}")


def test_ask_prints_the_body_of_the_http_answer(run: Run, index: Path) -> None:
    body = json_of(run("ask", IN_SCOPE, "--index", index, "--profile", "waypoint", "--json"))

    assert "permit" in body["answer"]
    assert body["refused"] is False
    assert body["citations"][0]["docId"] == "REG-1"
    assert body["sources"][0]["url"] == "https://example.org/permits"
    assert body["metadata"]["query"] == IN_SCOPE
    assert body["metadata"]["model"] == "extractive"


def test_a_decline_is_done_work(run: Run, index: Path) -> None:
    body = json_of(run("ask", OUT_OF_SCOPE, "--index", index, "--json"))

    assert body["refused"] is True
    assert body["confidence"] == {"level": "Low", "score": 0.0, "reason": "No relevant sources found", "raw": None}


def test_ask_for_people_shows_answer_citations_and_confidence(run: Run, index: Path) -> None:
    status, out, err = run("ask", IN_SCOPE, "--index", index)

    assert (status, err) == (0, "")
    assert "plant health office" in out
    assert "1. Import Permits > Plants  https://example.org/permits" in out
    assert "Confidence " in out


def test_ask_says_why_it_declines_and_the_figures_when_asked_for_them(run: Run, index: Path) -> None:
    _, out, _ = run("ask", OUT_OF_SCOPE, "--index", index)
    assert "What was found is too far from the question. The closest: " in out
    assert "cosine" not in out

    _, out, _ = run("ask", OUT_OF_SCOPE, "--index", index, "--explain")
    assert "(cosine " in out


def test_a_question_that_cannot_be_admitted_is_bad_usage(run: Run, index: Path) -> None:
    assert json_of(run("ask", " ", "--index", index, "--json"), status=2)["code"] == "empty_query"
    assert json_of(run("ask", "x" * 1001, "--index", index, "--json"), status=2) == {
        "error": "Query exceeds maximum length of 1000 characters",
        "code": "query_too_long",
    }


def test_ask_uses_the_llm_that_is_configured(run: Run, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LlmServer([reply("Importing plants needs a permit. [Import Permits > Plants]")]) as server:
        monkeypatch.setenv("LLM_BASE_URL", server.url)
        body = json_of(run("ask", IN_SCOPE, "--index", index, "--json"))

    assert body["answer"] == "Importing plants needs a permit. [Import Permits > Plants]"
    assert body["citations"][0]["docId"] == "REG-1"


def test_an_llm_that_fails_is_reported_without_its_words(
    run: Run, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LlmServer([error(503, message="vendor secret")]) as server:
        monkeypatch.setenv("LLM_BASE_URL", server.url)
        monkeypatch.setenv("LLM_MAX_RETRIES", "0")
        result = run("ask", IN_SCOPE, "--index", index, "--json")

    assert json_of(result, status=1) == {"error": "Pipeline error: LLM request failed", "code": "llm_unavailable"}
    assert "vendor secret" not in result[2]


@pytest.mark.parametrize("command", [("ask", "x"), ("search", "x"), ("show", "id_1")], ids=lambda c: c[0])
def test_without_an_index_every_reader_says_what_to_do(run: Run, tmp_path: Path, command: tuple[str, str]) -> None:
    status, out, err = run(*command, "--index", tmp_path / "nowhere")
    problem = json_of(run(*command, "--index", tmp_path / "nowhere", "--json"), status=1)

    assert (status, out) == (1, "")
    assert err.startswith("Error: No index is loaded. Run: ragctl ingest PATH")
    assert problem["code"] == "index_not_ready"


def test_show_prints_a_chunk_by_either_form_of_its_id(run: Run, index: Path) -> None:
    (hit,) = json_of(run("search", "frozen fish", "--k", "1", "--index", index, "--json"))["hits"]

    shown = json_of(run("show", hit["id"], "--index", index, "--json"))
    status, out, _ = run("show", hit["id"].removeprefix("id_"), "--index", index)

    assert shown["text"] == hit["text"]
    assert (shown["id"], shown["docId"], shown["category"]) == (hit["id"], "CAR-1", "02_carriers")
    assert (shown["chunkIndex"], shown["chunkCount"], shown["path"]) == (0, 1, "02_carriers/reefers.md")
    assert status == 0
    assert "minus eighteen degrees" in out


def test_show_of_a_chunk_that_is_not_there_fails(run: Run, index: Path) -> None:
    problem = json_of(run("show", "id_999", "--index", index, "--json"), status=1)

    assert problem == {"error": "The index has no chunk id_999", "code": "unknown_chunk"}


def test_doctor_passes_where_everything_is_there(run: Run, index: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    told = json_of(run("doctor", "--index", index, "--port", str(free), "--json"))

    assert told["ok"] is True
    assert [check["name"] for check in told["checks"]] == [
        "python", "packages", "model", "index", "manifest", "llm", "store", "seed rules", "port",
    ]  # fmt: skip
    details = {check["name"]: check["detail"] for check in told["checks"]}
    assert "3 documents, 3 chunks" in details["index"]
    said, terms = details["manifest"].split("; BM25 of ")
    assert said == "agrees with the collection about 3 documents and 3 chunks"
    assert terms == "33 terms"
    assert details["port"] == f"{free} is free"


def test_doctor_names_what_is_wrong_and_what_to_do(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, LlmServer([error(404)]) as server:
        port = taken.getsockname()[1]
        monkeypatch.setenv("LLM_BASE_URL", server.url.replace("/v1", "/nothing-here"))
        monkeypatch.setenv("LLM_API_KEY", "sk-never-shown")
        result = run("doctor", "--index", tmp_path, "--port", str(port), "--json")

    told = json_of(result, status=1)
    checks = {check["name"]: check for check in told["checks"]}
    assert told["ok"] is False
    assert [name for name, check in checks.items() if not check["ok"]] == ["index", "manifest", "llm", "port"]
    assert "Run: ragctl ingest PATH" in checks["index"]["detail"]
    assert f"PORT={port + 1} make run" in checks["port"]["detail"]
    assert "gives no answer" in checks["llm"]["detail"]
    assert "Check LLM_MODEL and LLM_BASE_URL" in checks["llm"]["detail"]
    assert "sk-never-shown" not in result[1] + result[2]


def test_doctor_notices_an_llm_that_cannot_be_reached(run: Run, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    monkeypatch.setenv("LLM_BASE_URL", f"http://127.0.0.1:{port}/v1")
    told = json_of(run("doctor", "--index", index, "--port", str(port), "--json"), status=1)

    llm = next(check for check in told["checks"] if check["name"] == "llm")
    assert llm["ok"] is False
    assert "cannot be reached (ConnectError)" in llm["detail"]


def test_doctor_asks_the_model_for_a_word_as_it_accepts_it(
    run: Run, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = error(400, code="unsupported_parameter", message="Unsupported parameter: 'max_tokens'")
    with LlmServer([refusal, reply("Yes.")]) as server:
        monkeypatch.setenv("LLM_BASE_URL", server.url)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            free = taken.getsockname()[1]
        told = json_of(run("doctor", "--index", index, "--port", str(free), "--json"))
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
    told = json_of(run("doctor", "--index", index, "--json"), status=1)

    model = next(check for check in told["checks"] if check["name"] == "model")
    assert model["ok"] is False
    assert "sha256 is" in model["detail"]
    assert "Run: make model" in model["detail"]


def test_a_wrong_setting_is_a_sentence(run: Run, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUEST_DEADLINE_S", "soon")

    problem = json_of(run("ask", "x", "--index", index, "--json"), status=1)

    assert problem["code"] == "configuration_error"
    assert "REQUEST_DEADLINE_S" in problem["error"]


@pytest.mark.slow
@pytest.mark.parametrize("text", [IN_SCOPE, f"{IN_SCOPE} Prüfung"])
def test_the_program_reads_the_index_from_the_environment_and_answers_where_the_terminal_knows_ascii_only(
    index: Path, text: str
) -> None:
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
