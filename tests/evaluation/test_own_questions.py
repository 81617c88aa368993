"""``ragctl evaluate --questions``, as a user runs it, over the samples and over public sets: floors for its figures."""

import json
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
import real_model
from evaluation.rates import indexed_ids, json_lines, public_data
from faults.drawing import by_night

from evaluate.question_files import read_qrels
from ragctl import cli

pytestmark = [pytest.mark.slow, pytest.mark.sampled, pytest.mark.usefixtures("no_settings")]

MAX_ASKED, MAX_FAR = by_night((50, 25), (100, 50))

SAMPLES = {
    "waypoint": "right=.62,ndcg=.86,falseRefusals=.1,sureFalseAnswers=.2",
    "gacounts": "right=.62,ndcg=.81,falseRefusals=.16,sureFalseAnswers=.35",
    "clockify": "right=.5,ndcg=.81,falseRefusals=.14,sureFalseAnswers=.25",
}
"""Asked by somebody who has read the documents and not the code: short, misspelt, several at once, near misses."""
PUBLIC = {
    "squad_v11_dev": "right=.78,falseRefusals=.06,falseAnswers=.3,ece=.25",
    "clapnq_dev": "right=.95,falseRefusals=.04,falseAnswers=.4,ece=.15",
    "covid_faq": "right=.65,falseRefusals=.04,falseAnswers=.35,ece=.2",
}
"""What ``--fail-under`` holds the figures to."""


def evaluate(questions: Path, index: Path, profile: str, floors: str) -> None:
    """Run the command over questions and an index, print its table, and fail with what it says."""
    names = ("--questions", questions, "--index", index, "--profile", profile, "--fail-under", floors)
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = cli.run([str(part) for part in ("evaluate", *names)])
    print(f"{questions.name}, {out.getvalue().partition('Where the time goes')[0]}")
    assert status == 0, err.getvalue()


@pytest.mark.parametrize("name", SAMPLES)
def test_what_people_ask_the_samples(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = real_model.SAMPLES / name
    for variable, file in (("ACRONYMS_FILE", "acronyms.json"), ("FILTER_RULES_FILE", "filters.json")):
        if (folder / file).exists():
            monkeypatch.setenv(variable, str(folder / file))
    index = real_model.sample_index(name, tmp_path_factory)
    evaluate(folder / "asked.jsonl", index, name, SAMPLES[name])


@pytest.mark.parametrize("name", by_night(["clapnq_dev"], list(PUBLIC)))
def test_what_public_sets_ask(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path)
    data = public_data(name)
    asked = tmp_path / f"{name}.jsonl"
    lines = _asked(data, indexed_ids(data))
    asked.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    evaluate(asked, real_model.public_index(data, tmp_path_factory), "waypoint", PUBLIC[name])


def _asked(data: Path, there: set[str]) -> Iterator[dict[str, object]]:
    """The questions that the passages ``there`` answer, the set's near misses, and far ones."""
    qrels = read_qrels(data / "qrels.tsv")
    spans = data.name.startswith("squad")  # the others' answers are written freely
    gold = {line["_id"]: line["answers"][0] for line in json_lines(data / "answers.jsonl")} if spans else {}
    known = [line for line in json_lines(data / "queries.jsonl") if qrels.get(line["_id"], {}).keys() & there]
    for line in known[:: max(1, len(known) // MAX_ASKED)]:
        expected = sorted(qrels[line["_id"]].keys() & there)
        yield {"question": line["text"], "expected": expected, "answer": gold.get(line["_id"], "")}
    near = data / "unanswerable.jsonl"
    for line in json_lines(near)[:MAX_FAR] if near.exists() else ():
        yield {"question": line["text"], "answerable": False}
    far = (public_data("out_of_scope") / "queries.txt").read_text(encoding="utf-8").splitlines()
    yield from ({"question": text, "answerable": False} for text in far[:MAX_FAR])
