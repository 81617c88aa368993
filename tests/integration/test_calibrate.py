"""The bar of small indexes, with the real embedding model: as ragctl calibrate fits it, and as ingest measures it."""

import json
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import real_model
from command_line import Run
from filelock import FileLock
from made_files import write_files
from manifests import read_body, write_body
from shop import PAGES

from knowledge.build.durable import LOCK_NAME
from knowledge.build.ingest import ingest
from knowledge.model.manifest import Manifest, loads
from knowledge.model.values import Document, View
from knowledge.open.index import EmbeddedIndex, open_index
from knowledge.read.documents import read
from rag.values.chat import Deadline
from rag.values.question import Question
from rag.wiring.application import build_application
from ragctl.options import read_settings

ANSWERED = {
    "Returns": ["how long can i send boots back", "when do I get my refund?", "may worn boots be sent back?"],
    "Shipping": ["what does delivery to an island cost", "When do parcels leave the warehouse?"],
    "Resoling": ["new sole price", "can you glue a rubber sole on my boots"],
    "Sizes": ["do you have half sizes", "how do i measure my foot"],
    "Waxing": ["how do i wax the leather", "how long must beeswax stay on leather"],
    "Vouchers": ["how long is a voucher valid?", "can I spend a gift voucher in several orders"],
    "Guarantee": ["are laces covered by the guarantee", "for how long are seams guaranteed"],
    "Wholesale": ["how many pairs must a dealer order", "when must dealers pay the invoice"],
    "Newsletter": ["how do i stop the newsletter"],
    "Workshop": ["when do tours of the workshop start"],
}
SLOPPY = "i want my money again"
FAR = [
    "how do i reset the router",
    "What is the population of Chile?",
    "write a haiku about spring",
    "play some jazz",
    "Who won the chess championship in 1972?",
    "is aspirin good for a fever",
    "how do i file a patent",
    "translate hello into Italian",
    "why is my electricity bill so high",
    "what are the rules of cricket",
]


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    return written(tmp_path / "pages")


def written(folder: Path) -> Path:
    return write_files(folder, {f"{title}.md": f"# {title}\n\n{text}\n" for title, text in PAGES.items()})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of the pages, for copies."""
    root = tmp_path_factory.mktemp("calibrate")
    ingest(read([written(root / "pages")]).documents, target=root / "index", embedder=real_model.model())
    return root / "index"


@pytest.fixture
def index(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "index", symlinks=True))


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """Twenty questions that the pages answer, one of them far from their words, and four that they do not."""
    lines: list[dict[str, object]] = [
        {"question": text, "expected": title} for title, texts in ANSWERED.items() for text in texts
    ]
    lines += [{"question": SLOPPY, "expected": "Returns"}]
    lines += [{"question": text, "answerable": False} for text in FAR[:4]]
    return questions(tmp_path / "asked.jsonl", lines)


def questions(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def manifest(index: Path) -> Manifest:
    return loads((index / "manifest.json").read_bytes())


def test_a_question_that_was_refused_is_answered_afterwards_by_a_service_that_was_running(
    run: Run, index: Path, asked: Path
) -> None:
    service = build_application(read_settings(index=str(index), profile=None))

    def refused(text: str) -> bool:
        return service.pipeline.run(Question(text=text), deadline=Deadline.after(60, service.pipeline.clock)).refused

    before = manifest(index)
    assert [refused(SLOPPY), *map(refused, FAR[:4])] == [True] * 5

    told = run("calibrate", "--questions", asked, "--threshold-for", "false-refusals", "--index", index, "--json")

    assert told["questions"] == {"answerable": 20, "unanswerable": 4}
    assert told["threshold"]["taken"]
    assert told["threshold"]["before"]["falseRefusals"] == 0.05
    assert told["threshold"]["bound"] == {"mean": round(1 / 21, 4), "surely": round(1 - 0.05 ** (1 / 20), 4)}
    assert told["bar"]["inUse"] < told["bar"]["measured"]
    assert told["confidence"]["verdict"].endswith("more answers labelled right or wrong are needed")
    assert not refused(SLOPPY)
    assert refused(FAR[0])
    with service.index.lease() as opened:
        assert opened.version == told["version"] != before.version  # no answer that was cached before is served

    again = run("calibrate", "--questions", asked, "--index", index, "--json")
    assert (again["written"], again["bar"]["inUse"]) == (False, told["bar"]["inUse"])

    assert run("calibrate", "--reset", "--index", index, "--json")["written"]
    assert manifest(index) == before


def test_without_being_asked_to_it_changes_nothing_that_is_no_better(run: Run, index: Path, asked: Path) -> None:
    there = (index / "manifest.json").read_bytes()
    easy = [line for line in asked.read_text(encoding="utf-8").splitlines() if SLOPPY not in line]
    asked.write_text("\n".join(easy), encoding="utf-8")

    told = run("calibrate", "--questions", asked, "--index", index, "--json")

    assert told["threshold"]["before"] == {"falseRefusals": 0, "falseAnswers": 0, "backgroundPassed": 0.0588}
    assert told["threshold"]["after"]["falseRefusals"] > 0
    assert (told["threshold"]["taken"], told["written"]) == (False, False)
    assert "no better than the one in use" in told["threshold"]["verdict"]
    assert (index / "manifest.json").read_bytes() == there


def test_an_index_without_a_good_threshold_is_told(run: Run, index: Path, tmp_path: Path) -> None:
    strange = [{"question": text, "expected": "Returns"} for text in FAR[:4]]
    known = [{"question": text, "expected": title} for title, texts in ANSWERED.items() for text in texts]
    missing = [{"question": f"do {title.lower()} cost more on Sundays", "answerable": False} for title in PAGES]
    asked = questions(tmp_path / "asked.jsonl", known + strange + missing)

    status, out, _ = run("calibrate", "--questions", asked, "--index", index)

    assert status == 0
    assert "this index allows no good threshold" in out
    assert "the best compromise" in out
    assert "nothing to write" in out


def test_a_dry_run_says_the_same_and_writes_nothing(run: Run, index: Path, asked: Path) -> None:
    there = (index / "manifest.json").read_bytes()
    arguments = ("calibrate", "--questions", asked, "--threshold-for", "both", "--index", index, "--json")
    told = run(*arguments, "--dry-run")
    assert (told["written"], told["dryRun"], told["threshold"]["taken"]) == (False, True, True)
    assert (index / "manifest.json").read_bytes() == there
    done = run(*arguments)
    assert done["written"]
    assert {**done, "written": False, "dryRun": True} == told


@pytest.mark.parametrize(("faithful", "sign"), [(1.0, "+"), (0.0, "-")])
def test_labelled_completions_give_the_shift_of_the_confidence_in_a_model(
    run: Run, index: Path, tmp_path: Path, faithful: float, sign: str
) -> None:
    lines: list[dict[str, Any]] = [
        {"question": text, "expected": title, "completion": PAGES[title], "faithful": faithful}
        for title, texts in ANSWERED.items()
        for text in texts
    ]
    told = run("calibrate", "--questions", questions(tmp_path / "a.jsonl", lines), "--index", index, "--json")
    [note] = [note for note in told["notes"] if "CONFIDENCE_SHIFT=" in note]
    assert f"shift {sign}" in note


def test_too_few_labels_say_how_many_are_missing(run: Run, index: Path, tmp_path: Path) -> None:
    few: list[dict[str, Any]] = [
        {"question": texts[0], "expected": title} for title, texts in list(ANSWERED.items())[:5]
    ]
    asked = questions(tmp_path / "few.jsonl", [*few, {"question": "thanks!"}, {"question": "why?"}])

    told = run("calibrate", "--questions", asked, "--index", index, "--json")

    assert told["threshold"]["verdict"] == "14 more answerable questions are needed (19 in all); the bar stays"
    assert told["confidence"]["verdict"] == "44 more answers labelled right or wrong are needed"
    assert told["notes"] == ["2 of 7 questions count for nothing: not labelled, or nothing asked"]
    assert not told["written"]
    false_answers = run(
        "calibrate", "--questions", asked, "--threshold-for", "false-answers", "--index", index, "--json"
    )
    assert false_answers["threshold"]["verdict"].startswith("19 more unanswerable questions are needed")
    for line in few:
        line |= {"completion": PAGES[line["expected"]], "faithful": 1.0}
    told = run("calibrate", "--questions", questions(tmp_path / "b.jsonl", few), "--index", index, "--json")
    assert any("14 more labelled completions are needed" in note for note in told["notes"])


def test_without_questions_it_tells_the_bar_and_what_labels_would_give(
    run: Run, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELEVANCE_THRESHOLD", "0.3")
    there = (index / "manifest.json").read_bytes()
    told = run("calibrate", "--index", index, "--json")
    assert told["bar"]["inUse"] == told["bar"]["measured"]
    assert told["notes"][0].startswith("a threshold of 0.3 is set")
    assert told["notes"][1].startswith("With 19 or more answerable questions")
    assert (index / "manifest.json").read_bytes() == there


def test_a_file_without_questions_or_labels_is_named(run: Run, index: Path, tmp_path: Path) -> None:
    for content, said in (("\n", "holds no question"), ('{"question": "a?"}\n', "None of the questions is labelled")):
        (tmp_path / "wrong.jsonl").write_text(content, encoding="utf-8")
        status, out, _ = run("calibrate", "--questions", tmp_path / "wrong.jsonl", "--index", index, "--json")
        assert (status, json.loads(out)["code"]) == (1, "source_unreadable")
        assert said in json.loads(out)["error"]


def test_an_interrupted_write_leaves_the_old_manifest(
    run: Run, index: Path, asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = (index / "manifest.json").read_bytes()

    def stop(*_: object) -> None:
        raise OSError(28, "No space left on device")

    arguments = ("calibrate", "--questions", asked, "--threshold-for", "false-refusals", "--index", index, "--json")
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", stop)
        status, out, _ = run(*arguments)

    said = json.loads(out)
    assert (status, said["code"]) == (1, "index_not_written")
    assert said["error"].startswith(f"The index in '{index}' could not be written: the disk is full")
    assert (index / "manifest.json").read_bytes() == there
    assert run(*arguments)["written"]


def test_an_ingest_keeps_what_labels_gave_and_says_that_they_are_older(
    run: Run, index: Path, asked: Path, pages: Path
) -> None:
    arguments = ("calibrate", "--questions", asked, "--threshold-for", "false-refusals", "--index", index, "--json")
    told = run(*arguments)
    (pages / "Waxing.md").write_text("# Waxing\n\nWe sell no wax any more.\n", encoding="utf-8")

    status, _, err = run("ingest", pages, "--index", index)

    assert (status, "run ragctl calibrate --questions again" in err) == (0, True)
    after = run("calibrate", "--index", index, "--json")
    assert after["bar"]["inUse"] == told["bar"]["inUse"]
    assert after["notes"][0] == "the labels that the index has were fitted to other documents"
    assert "run ragctl calibrate --questions again" in run("ingest", pages, "--index", index, "--json")["note"]
    run(*arguments)
    assert run("calibrate", "--index", index, "--json")["notes"][0].startswith("With 19")
    assert "note" not in run("ingest", pages, "--index", index, "--json")


def test_an_ingest_mends_damaged_labels(run: Run, index: Path, pages: Path) -> None:
    body = read_body(index)
    body["calibration"]["labels"] = {"bar": "low", "older": False}
    write_body(index, body)
    status, _, err = run("calibrate", "--reset", "--index", index)
    assert (status, "Run: ragctl ingest" in err) == (1, True)
    run("ingest", pages, "--index", index, "--json")
    assert run("calibrate", "--index", index, "--json")["written"] is False
    assert "labels" not in read_body(index)["calibration"]


def test_what_cannot_be_calibrated_is_told(run: Run, index: Path, asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("calibrate", "--questions", asked, "--threshold-for", "both", "--index", index, "--json")
    with FileLock(index / LOCK_NAME):  # it waits for no other writer
        status, out, _ = run(*arguments)
    assert (status, json.loads(out)["code"]) == (1, "index_locked")
    with monkeypatch.context() as patch:
        patch.setenv("RETRIEVER", "dense")
        status, out, _ = run(*arguments)
    assert (status, json.loads(out)["code"]) == (1, "no_evidence")
    write_body(index, read_body(index) | {"calibration": None})
    status, out, _ = run("calibrate", "--index", index, "--json")
    assert (status, json.loads(out)["code"]) == (1, "index_mismatch")
    assert "Run: ragctl ingest PATH" in json.loads(out)["error"]


@pytest.mark.parametrize(
    "arguments", [("--threshold-for", "both"), ("--reset", "--questions", "q.jsonl"), ("--threshold-for", "much")]
)
def test_options_that_do_not_go_together(run: Run, index: Path, arguments: tuple[str, ...]) -> None:
    assert run("calibrate", *arguments, "--index", index)[0] == 2


# Indexes of one to ten chunks: the bar that ingest measures


def passes(index: EmbeddedIndex, question: str) -> bool:
    found = index.search([View(question)], k=3).evidence
    assert found is not None
    return found.bar is not None and found.score >= found.bar


@pytest.mark.parametrize("count", [1, 10])
def test_a_small_index_answers_what_it_holds_and_little_else(tmp_path: Path, count: int) -> None:
    documents = [
        Document(doc_id=title, title=title, text=text, digest=text, path=f"{title}.txt")
        for title, text in list(PAGES.items())[:count]
    ]
    ingest(documents, target=tmp_path, embedder=real_model.model())
    with closing(open_index(tmp_path, embedder=real_model.model())) as index:
        asked = [question for title in list(PAGES)[:count] for question in ANSWERED[title]]

        assert [question for question in asked if not passes(index, question)] == []
        assert sum(passes(index, question) for question in FAR) <= 1
