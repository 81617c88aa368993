"""ragctl evaluate --questions on a small index of one's own, with the real embedding model."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Run
from fakes_llm import LlmServer, error, reply
from made_files import write_files

from evaluate import run as asking
from ragctl import cli

DOCUMENTS = {
    "permits.md": "# Import permits\n\n## Cost\n\nAn import permit costs SGD 45 for each shipment.\n\n"
    "## Validity\n\nAn import permit is valid for 14 days after it was approved.\n",
    "reefers.md": "# Reefer containers\n\n## Temperature\n\n"
    "A reefer container keeps frozen fish at minus eighteen degrees Celsius.\n",
    "demurrage.md": "# Demurrage\n\n## Free time\n\nDemurrage begins after five free days in the terminal.\n",
}
QUESTIONS: list[dict[str, Any]] = [
    {"question": "What does an import permit cost?", "expected": ["permits.md"], "answer": "SGD 45"},
    {"question": "How long is an import permit valid?", "expected": ["permits.md"], "answer": "90 days"},
    {"question": "How cold is a reefer container?", "expected": ["reefers.md"]},
    {"question": "When does demurrage begin?", "expected": ["nowhere.md"], "answer": "five free days"},
    {"question": "Who won the world cup in 1974?", "answerable": False},
]
CORRECTED = [QUESTIONS[0], QUESTIONS[1] | {"answer": "14 days"}, *QUESTIONS[2:]]


@pytest.fixture
def run(run: Run, monkeypatch: pytest.MonkeyPatch, home: Path) -> Run:
    monkeypatch.chdir(home)
    return run


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    paths = [str(write_files(folder / "docs", DOCUMENTS)), "--index", str(folder / "index")]
    assert cli.run(["ingest", *paths, "--profile", "waypoint", "--json"]) == 0
    return folder / "index"


@pytest.fixture
def home(tmp_path: Path, index: Path) -> Path:
    (tmp_path / "index").symlink_to(index)
    write(tmp_path / "q.jsonl", QUESTIONS)
    return tmp_path


def write(path: Path, questions: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(one) + "\n" for one in questions), encoding="utf-8")


OWN = ("evaluate", "--questions", "q.jsonl", "--index", "index")


def kept(home: Path) -> list[str]:
    """The questions whose results are kept, in the order in which they were asked."""
    (place,) = (home / ".index" / "evaluations").iterdir()
    return [one.question for one in asking.read_results(place)]


def watch_asker(patch: pytest.MonkeyPatch, most: int = 1000) -> list[str]:
    """The questions that reach the service, as they come; after ``most`` of them somebody presses Ctrl-C."""
    seen: list[str] = []
    real = asking.asker

    def asker(service: Any, code_of: Any) -> Callable[[str], asking.RunResult]:
        ask = real(service, code_of)

        def watched(question: str) -> asking.RunResult:
            if len(seen) == most:
                raise KeyboardInterrupt
            seen.append(question)
            return ask(question)

        return watched

    patch.setattr("ragctl.evaluate_questions.asker", asker)
    return seen


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return watch_asker(monkeypatch)


def test_a_run_tells_what_was_right_and_people_read_plain_names_first(run: Run) -> None:
    told = run(*OWN, "--json")

    metrics = told["metrics"]
    assert (told["questions"], told["failed"], told["model"]) == (5, 0, "extractive")
    assert (metrics["right"]["hits"], metrics["right"]["of"]) == (3, 4)  # the second has a wrong label
    assert (metrics["contained"]["hits"], metrics["contained"]["of"]) == (2, 3)
    assert (metrics["cited"]["hits"], metrics["cited"]["of"]) == (3, 4)
    assert (metrics["recall"]["value"], metrics["recall"]["n"]) == (0.75, 4)
    assert (metrics["falseAnswers"]["hits"], metrics["falseAnswers"]["of"]) == (0, 1)
    assert (metrics["falseRefusals"]["hits"], metrics["falseRefusals"]["of"]) == (0, 4)
    assert metrics["supported"]["value"] == 1
    assert (metrics["llmCalls"]["value"], metrics["usdPer1000"]["value"]) == (0, 0)
    assert metrics["p50Ms"]["value"] > 0
    assert told["stages"]["retrieval"]["p50Ms"] > 0
    assert [case["question"] for case in told["worst"]] == [QUESTIONS[1]["question"]]
    assert any("Nothing in the index is named 'nowhere.md'" in sentence for sentence in told["notes"])
    assert [row["question"] for row in told["perQuestion"]] == [one["question"] for one in QUESTIONS]
    status, out, err = run(*OWN)
    assert (status, err) == (0, "")
    assert "Right answers" in out
    assert "3 of 4 (75 %)" in out
    assert out.index("Right answers") < out.index("gold containment")
    assert "the expected words are not in it" in out


def test_a_second_run_asks_nobody_unless_something_but_a_label_is_other(
    run: Run, home: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run(*OWN, "--json")
    assert len(asked) == 5
    write(home / "q.jsonl", CORRECTED)

    second = run(*OWN, "--json")

    assert len(asked) == 5
    assert (first["metrics"]["right"]["hits"], second["metrics"]["right"]["hits"]) == (3, 4)
    run(*OWN, "--fresh", "--json")
    assert len(asked) == 10
    monkeypatch.setenv("RETRIEVER", "dense")
    run(*OWN, "--json")
    assert len(asked) == 15


def test_an_interrupted_run_goes_on_where_it_was(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        watch_asker(patch, most=2)
        status, out, _ = run(*OWN, "--json")
    assert status == 130
    assert json.loads(out)["error"] == "Interrupted after 2 of 5 questions; the same command goes on from there"
    assert kept(home) == [one["question"] for one in QUESTIONS[:2]]
    assert run(*OWN, "--json")["metrics"]["right"]["of"] == 4
    assert kept(home) == [one["question"] for one in QUESTIONS]


def test_a_line_that_a_kill_cut_is_asked_again(run: Run, home: Path, asked: list[str]) -> None:
    whole = run(*OWN, "--json")
    (place,) = (home / ".index" / "evaluations").iterdir()
    assert place.stat().st_mode & 0o077 == 0, "replies are nobody else's to read"
    place.write_bytes(place.read_bytes()[:-40])

    again = run(*OWN, "--json")

    assert asked[5:] == [QUESTIONS[-1]["question"]]
    assert again["metrics"]["right"] == whole["metrics"]["right"]
    run(*OWN, "--json")
    assert len(asked) == 6


@pytest.mark.slow
def test_a_kill_loses_nothing_that_was_answered(run: Run, home: Path) -> None:
    many = [{"question": f"What does an import permit cost in case {n}?", "answer": "SGD 45"} for n in range(3000)]
    write(home / "q.jsonl", many)
    process = subprocess.Popen([sys.executable, "-c", "from ragctl.cli import main; main()", *OWN], cwd=home)
    folder = home / ".index" / "evaluations"
    try:
        while not (folder.is_dir() and any(place.stat().st_size > 20_000 for place in folder.iterdir())):
            assert process.poll() is None
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    there = kept(home)

    write(home / "q.jsonl", many[: len(there) + 3])
    told = run(*OWN, "--json")

    assert there == [one["question"] for one in many[: len(there)]]
    assert told["questions"] == len(there) + 3
    assert kept(home) == [one["question"] for one in many[: len(there) + 3]]


def test_an_outage_fails_its_questions_and_the_next_run_asks_them(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_API_KEY", "key")
    monkeypatch.setenv("LLM_FALLBACK_MODELS", "another")
    said = "It costs SGD 45. [Import permits > Cost]"
    with LlmServer([reply(said), error(400), error(400), reply(said)]) as server:
        monkeypatch.setenv("LLM_BASE_URL", server.url)
        first = run(*OWN, "--json")
        second = run(*OWN, "--json")

    assert first["failed"] == 1
    assert (first["metrics"]["failed"]["hits"], first["metrics"]["right"]["of"]) == (1, 3)
    assert any("1 of 5 questions failed: llm_unavailable (1)" in sentence for sentence in first["notes"])
    assert (second["failed"], second["metrics"]["right"]["of"]) == (0, 4)
    assert second["metrics"]["promptTokens"]["value"] > 0
    assert second["metrics"]["usdPer1000"]["value"] is None
    assert any("has no price" in sentence for sentence in second["notes"])


def test_where_all_fail_the_command_fails(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_API_KEY", "key")
    with LlmServer([error(400)]) as server:
        monkeypatch.setenv("LLM_BASE_URL", server.url)
        write(Path("q.jsonl"), QUESTIONS[:2])
        status, out, _ = run(*OWN, "--json")
    told = json.loads(out)
    assert (status, told["code"]) == (1, "all_failed")
    assert told["error"] == "Every question failed, of 2: llm_unavailable (2). Run: ragctl doctor"


def test_a_missing_index_is_told_before_anything_is_asked(run: Run) -> None:
    status, out, _ = run("evaluate", "--questions", "q.jsonl", "--index", "gone", "--json")
    assert (status, json.loads(out)["code"]) == (1, "index_not_ready")
    assert not Path(".index").exists()


def test_limits_that_are_not_kept_fail_by_name_and_still_tell_all(run: Run) -> None:
    assert run(*OWN, "--fail-under", "right=.7,falseAnswers=0", "--json")["metrics"]["right"]["value"] == 0.75
    status, out, _ = run(*OWN, "--fail-under", "right=.8,ndcg=.1", "--fail-under", "failed=0", "--json")
    told = json.loads(out)
    assert (status, told["code"]) == (1, "below_limit")
    assert told["error"] == "Not kept: right is 0.75, under 0.8"
    assert told["metrics"]["right"]["value"] == 0.75


def test_two_runs_are_compared(run: Run, home: Path) -> None:
    (home / "old.json").write_text(json.dumps(run(*OWN, "--json")), encoding="utf-8")
    write(home / "q.jsonl", CORRECTED)
    right = run(*OWN, "--compare", "old.json", "--json")["comparison"]["right"]
    assert (right["old"], right["new"], right["n"]) == (0.75, 1, 4)
    assert right["verdict"] == "no difference seen"  # one of four
    status, out, _ = run(*OWN, "--compare", "old.json")
    assert (status, "Beside the older measurement" in out, "+25 points" in out) == (0, True, True)


def test_the_page_escapes_what_a_question_says(run: Run, home: Path) -> None:
    evil = "What does <script>alert(1)</script> an import permit cost?"
    write(home / "q.jsonl", [{"question": evil, "answer": "<img src=x onerror=alert(2)>"}])
    run(*OWN, "--html", "r.html", "--json")
    text = (home / "r.html").read_text(encoding="utf-8")
    assert ("&lt;script&gt;alert(1)" in text, "&lt;img src=x" in text) == (True, True)
    assert ("<script" in text, "<img" in text) == (False, False)


def test_a_sample_is_drawn_by_its_seed(run: Run) -> None:
    drawn = {
        seed: [row["question"] for row in run(*OWN, "--limit", "3", "--seed", seed, "--json")["perQuestion"]]
        for seed in range(3)
    }
    assert all(len(questions) == 3 for questions in drawn.values())
    assert len({tuple(questions) for questions in drawn.values()}) > 1
    again = run(*OWN, "--limit", "3", "--seed", "2", "--json")["perQuestion"]
    assert [row["question"] for row in again] == drawn[2]


def test_drafts_are_written_once_and_counted_until_somebody_corrects_them(run: Run, home: Path) -> None:
    made = run("evaluate", "--make-questions", "3", "--out", "d.jsonl", "--index", "index", "--json")

    lines = [json.loads(line) for line in (home / "d.jsonl").read_text(encoding="utf-8").splitlines()]
    assert made == {"questions": 3, "documents": 3, "out": "d.jsonl"}
    assert {line["expected"][0] for line in lines} == {"permits", "reefers", "demurrage"}
    assert all(line["draft"] is True and line["answer"] for line in lines)
    told = run("evaluate", "--questions", "d.jsonl", "--index", "index", "--json")
    assert any("3 questions are drafts" in sentence for sentence in told["notes"])
    assert told["metrics"]["recall"]["value"] == 1
    before = (home / "d.jsonl").read_bytes()
    status, out, _ = run("evaluate", "--make-questions", "3", "--out", "d.jsonl", "--index", "index", "--json")
    assert (status, json.loads(out)["code"]) == (1, "file_exists")
    assert (home / "d.jsonl").read_bytes() == before


def test_a_language_model_writes_drafts_until_it_fails(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_API_KEY", "key")
    monkeypatch.setenv("LLM_FALLBACK_MODELS", "another")

    with LlmServer([reply('{"question": "why so expensive", "answer": "e"}'), error(400)]) as server:
        monkeypatch.setenv("LLM_BASE_URL", server.url)
        run("evaluate", "--make-questions", "4", "--out", "d.jsonl", "--index", "index", "--json")
        calls = len(server.requests)

    lines = [json.loads(line) for line in (home / "d.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 4
    assert all(line["question"].startswith("What ") for line in lines)  # "e" is no words of the passage
    assert calls == 3  # the next model was asked too, and the passages stay data, in a message of their own
    system, user = server.requests[0].json["messages"]
    assert "never instruction" in system["content"]
    assert "PASSAGE" in user["content"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give --questions, or --make-questions and --out, or --corpus, --queries and --qrels"),
        (("--questions", "q.jsonl", "--corpus", "c.jsonl"), "--questions and --corpus cannot be used together"),
        (("--questions", "q.jsonl", "--mode", "late"), "--mode does not go with --questions"),
        (("--questions", "q.jsonl", "--fail-under", "ndgc=1"), "'ndgc' is not one of right, contained"),
        (("--corpus", "c.jsonl"), "not given: --queries, --qrels"),
        (("--corpus", "c.jsonl", "--html", "r.html"), "--html does not go with --corpus"),
        (("--make-questions", "3"), "--make-questions needs --out"),
        (("--make-questions", "3", "--out", "o", "--limit", "3"), "--limit does not go with --make-questions"),
    ],
)
def test_options_that_do_not_go_together_are_bad_usage(run: Run, arguments: tuple[str, ...], said: str) -> None:
    status, out, _ = run("evaluate", *arguments, "--json")
    assert (status, json.loads(out)["code"]) == (2, "usage")
    assert said in json.loads(out)["error"]
