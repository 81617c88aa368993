"""ragctl evaluate, and search in all its modes, on a small corpus with the real embedding model."""

import json
from pathlib import Path

import pytest
import real_model
from command_line import Run
from fakes_embedding import HashingEmbedder

from evaluate.judge import score_run
from knowledge.build.ingest import ingest
from knowledge.read.documents import read

CORPUS = {
    "permits": ("Import Permits", "Importing plants needs a permit from the plant health office."),
    "reefers": ("Reefer Containers", "A reefer container keeps frozen fish at minus eighteen degrees Celsius."),
    "errors": ("Error messages", "ERR-4711 means that the session is over. Sign in again."),
    "timeouts": ("More messages", "ERR-4712 means that the server did not answer in time."),
    "demurrage": ("Demurrage", "It is charged for each day on which a container stays in the terminal."),
}
QUERIES = {
    "q1": "Which papers do I need to bring flowers into the country?",
    "q2": "ERR-4711",
    "q3": "How cold is the cargo space for salmon?",
    "unjudged": "What is the meaning of life?",
    "nothing": "Who won the world cup?",
}
QRELS = [("q1", "permits", 1), ("q2", "errors", 2), ("q3", "reefers", 1), ("nothing", "permits", 0), ("gone", "x", 1)]
MODES = ("dense", "bm25", "hybrid", "late")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The options of evaluate, with the files that they name and the index that it would make of them."""
    folder = tmp_path_factory.mktemp("beir")
    lines = {
        "corpus.jsonl": [json.dumps({"_id": i, "title": t, "text": x}) for i, (t, x) in CORPUS.items()],
        "queries.jsonl": [json.dumps({"_id": i, "text": x}) for i, x in QUERIES.items()],
        "qrels.tsv": ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in QRELS)],
    }
    for name, content in lines.items():
        (folder / name).write_text("\n".join(content) + "\n", encoding="utf-8")
    ingest(read([folder / "corpus.jsonl"]).documents, target=folder / "index", embedder=real_model.model())
    return {f"--{name.partition('.')[0]}": folder / name for name in lines} | {"--index": folder / "index"}


@pytest.fixture(scope="module")
def index(files: dict[str, Path]) -> Path:
    return files["--index"]


def flat(options: dict[str, Path]) -> list[object]:
    return [part for option in options.items() for part in option]


def test_evaluate_measures_every_mode_and_shows_people_a_table(run: Run, files: dict[str, Path]) -> None:
    told = run("evaluate", *flat(files), "--json")

    assert told["metrics"].keys() == set(MODES)
    for values in told["metrics"].values():
        assert values.keys() == {"ndcg@10", "recall@10", "mrr@10", "msPerQuery"}
        assert values["msPerQuery"] > 0
    assert (told["queries"], told["documents"], told["chunks"]) == (3, 5, 5)  # of five questions two have no answer
    hybrid, bm25 = told["metrics"]["hybrid"], told["metrics"]["bm25"]
    assert (hybrid["ndcg@10"], hybrid["recall@10"], hybrid["mrr@10"]) == (1, 1, 1)
    assert bm25["recall@10"] < 1  # no word of q3 is in any document
    status, out, _ = run("evaluate", *flat(files))
    assert (status, "3 queries, 5 documents, 5 chunks" in out) == (0, True)
    assert all(word in out for word in (*MODES, "ndcg@10", "1.000"))


def test_evaluate_finds_records_of_a_title_alone_and_tells_what_it_could_not_read(
    run: Run, files: dict[str, Path], tmp_path: Path
) -> None:
    corpus, asked = tmp_path / "corpus.jsonl", tmp_path / "queries.jsonl"
    lines = [
        '{"_id": "t1", "title": "Solar eclipse basics", "text": ""}',
        '{"_id": "t2"}',
        '{"_id": "d", "text": "x y"}',
    ]
    corpus.write_text("\n".join(lines), encoding="utf-8")
    asked.write_text('\ufeff{"_id": "q1", "text": "When is the next solar eclipse?"}', encoding="utf-8")
    (tmp_path / "qrels.tsv").write_text("q1 0 t1 1.0\n", encoding="utf-8")
    options = {"--corpus": corpus, "--queries": asked, "--qrels": tmp_path / "qrels.tsv", "--index": tmp_path / "i"}

    told = run("evaluate", *flat(options), "--mode", "bm25", "--json")

    assert told["metrics"]["bm25"]["ndcg@10"] == 1
    assert told["documents"] == 2
    assert told["failed"] == [{"path": f"{corpus}:2", "error": "has no 'text'"}]
    assert "failed" not in run("evaluate", *flat(files), "--mode", "bm25", "--json")


def test_evaluate_keeps_its_index_apart(
    run: Run, files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INDEX_URI", str(tmp_path / "mine"))
    options = flat({name: path for name, path in files.items() if name != "--index"})

    first = run("evaluate", *options, "--mode", "dense", "--json")
    built = (tmp_path / first["index"] / "manifest.json").stat().st_mtime_ns
    run("evaluate", *options, "--mode", "dense", "--json")

    assert first["index"].startswith(".index/eval-")
    assert (tmp_path / first["index"] / "manifest.json").stat().st_mtime_ns == built
    assert not (tmp_path / "mine").exists()


def test_evaluate_adds_to_an_index_and_replaces_none_of_others(
    run: Run, files: dict[str, Path], tmp_path: Path
) -> None:
    lines = files["--corpus"].read_text(encoding="utf-8").splitlines(keepends=True)
    corpus = tmp_path / files["--corpus"].name
    options = files | {"--corpus": corpus, "--index": tmp_path / "index"}
    asked = (*flat(options), "--mode", "bm25", "--json")

    corpus.write_text("".join(lines[:4]), encoding="utf-8")
    assert run("evaluate", *asked)["documents"] == 4
    corpus.write_text("".join(lines), encoding="utf-8")
    assert run("evaluate", *asked)["documents"] == 5
    there = (options["--index"] / "manifest.json").read_bytes()
    place = f"The index in '{options['--index']}' holds something else than {corpus}"
    sentence = f"{place}: name another folder, or remove it"
    for other in ("".join(lines[:4]), "".join(lines).replace("frozen fish", "fish")):
        corpus.write_text(other, encoding="utf-8")
        status, out, _ = run("evaluate", *asked)
        assert (status, json.loads(out)) == (1, {"error": sentence, "code": "index_in_use"})
    assert (options["--index"] / "manifest.json").read_bytes() == there
    # Nor one of another embedding model.
    ingest(read([files["--corpus"]]).documents, target=tmp_path / "other", embedder=HashingEmbedder())
    status, out, _ = run("evaluate", *flat(files | {"--index": tmp_path / "other"}), "--json")
    assert (status, json.loads(out)["code"]) == (1, "index_in_use")


@pytest.mark.parametrize(
    ("option", "content", "said"),
    [
        ("--qrels", "query-id\tcorpus-id\tscore\nq1\tpermits\n", "line 2: not a judgement"),
        ("--qrels", "q1\tpermits\t0\n", "No question in"),
        ("--corpus", "{}\n", "Nothing to index"),
        *((option, None, "No such file or directory") for option in ("--corpus", "--queries")),
    ],
)
def test_evaluate_names_what_it_cannot_use(
    run: Run, files: dict[str, Path], tmp_path: Path, option: str, content: str | None, said: str
) -> None:
    wrong = tmp_path / files[option].name
    if content is not None:
        wrong.write_text(content, encoding="utf-8")
    status, out, _ = run("evaluate", *flat(files | {option: wrong, "--index": tmp_path / "i"}), "--json")
    assert status == 1
    assert json.loads(out)["code"] == "source_unreadable"
    assert said in json.loads(out)["error"]
    assert content is not None or wrong.name in json.loads(out)["error"]


def test_scores_are_trec_evals_of_ten_documents() -> None:
    qrels = {"a": {"d1": 1, "d2": 0}, "b": {"d3": 2, "d4": 1}, "c": {"x": 1}}
    run = {"a": ["d2", "d1"], "b": ["d3", "z", "d4"], "c": []}
    found = score_run(run, qrels)
    # a: 1/log2(3); b: (2 + 1/log2(4)) / (2 + 1/log2(3)); c: 0
    assert found["ndcg@10"] == pytest.approx((0.6309298 + 2.5 / 2.6309298 + 0) / 3)
    assert found["recall@10"] == pytest.approx(2 / 3)
    assert found["mrr@10"] == pytest.approx((1 / 2 + 1 + 0) / 3)
    ranked = [f"d{n}" for n in range(11)]
    assert score_run({"a": ranked}, {"a": {"d10": 1}}) == {"ndcg@10": 0, "recall@10": 0, "mrr@10": 0}
    assert score_run({"a": ranked}, {"a": {"d9": 1}})["mrr@10"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("mode", "parts"), [("dense", {"dense"}), ("bm25", {"bm25"}), ("hybrid", {"dense", "bm25", "fused"})]
)
def test_search_in_each_mode_says_where_its_scores_come_from(run: Run, index: Path, mode: str, parts: set[str]) -> None:
    hits = run("search", "frozen fish in a reefer", "--mode", mode, "--index", index, "--json")["hits"]
    assert hits[0]["docId"] == "reefers"
    assert hits[0]["parts"].keys() == parts
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)


def test_bm25_finds_nothing_without_a_common_word(run: Run, index: Path) -> None:
    assert run("search", "salmon", "--mode", "bm25", "--index", index, "--json") == {"hits": []}


def test_a_hybrid_search_takes_the_profiles_weight(run: Run, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--mode", "hybrid", "--profile", "clockify", "--index", index, "--json")
    search = ("search", "how is the session over", *options)
    usual = run(*search)["hits"][0]["parts"]["fused"]
    monkeypatch.setenv("HYBRID_DENSE_WEIGHT", "0")
    assert run(*search)["hits"][0]["parts"]["fused"] != usual
