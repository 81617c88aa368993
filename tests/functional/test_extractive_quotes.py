"""What the extractive engine makes of ordinary documents: lists, tables, commands, brackets, endless paragraphs."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from functional.harness import DECLINE, REPOSITORY, Api, Start, starting
from real_model import SAMPLES, few_background_questions

from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.read.documents import read

DOCUMENTS = {
    "llamas": "# Packing list for llamas\n\n- Rope and halter\n- Three blankets\n- Salt lick\n",
    "ostriches": "# Ostrich tariff\n\n| Zone | Fee |\n|---|---|\n| Zone A | 40 |\n| Zone B | 60 |\n",
    "flux": "# Flux command\n\n```\nflux restart --force --region sg\n```\n",
    "kiln": f"# Kiln operation\n\n{'so to light the kiln you open the damper and turn the gas valve and wait ' * 18}\n",
    "farms": "# Farming handbook\n\nSee the [FAR] rules for the farming form. Press [Enter] to submit it.\n",
    "doors": "---\ntitle: Data Center Access\nurl: https://doors.example\n---\nThe farming form opens the door.\n",
    "macros": "# Contact of the wombat desk\n\n- {% wombat_channel %}\n- ![wombat desk](desk.png)\n",
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, embedder: MiniLM) -> Iterator[Api]:
    folder = tmp_path_factory.mktemp("ordinary")
    for name, text in DOCUMENTS.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    target = tmp_path_factory.mktemp("index") / "index"
    with few_background_questions():
        ingest(read([folder]).documents, target=target, embedder=embedder)
    with starting(target) as start:
        yield start()


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("what do I pack for llamas?", "- Rope and halter\n- Three blankets\n- Salt lick [Packing list for llamas]"),
        ("ostrich tariff zone B fee", "| Zone B | 60 |\n\n[Ostrich tariff]"),
        ("how do I restart flux?", "```\nflux restart --force --region sg\n```\n\n[Flux command]"),
        ("how do I light the kiln?", "so to light the kiln you open the damper"),
    ],
)
def test_what_holds_the_answer_is_quoted(desk: Api, question: str, quoted: str) -> None:
    body = desk.ask(question).json
    assert quoted in body["answer"]
    assert (body["metadata"]["model"], body["refused"], body["citations"] != []) == ("extractive", False, True)


def test_brackets_of_a_quote_are_no_citations(desk: Api) -> None:
    body = desk.ask("How do I submit the farming form?").json
    assert "Press \\[Enter\\] to submit it. [Farming handbook]" in body["answer"]
    assert {citation["raw"] for citation in body["citations"]} <= {"[Farming handbook]", "[Data Center Access]"}
    for citation in body["citations"]:
        assert citation["raw"] == f"[{citation['fullTitle']}]"


def test_what_was_found_but_holds_no_words_is_a_decline(desk: Api) -> None:
    body = desk.ask("contact of the wombat desk", filters={"doc_id": "macros"}).json
    confidence = {"level": "Low", "score": 0, "reason": "No relevant sources found", "raw": None}
    assert (body["answer"], body["refused"], body["confidence"]) == (DECLINE, True, confidence)
    assert body["sources"] == body["citations"] == body["relatedDocs"] == []
    assert (body["metadata"]["model"], body["metadata"]["chunksRetrieved"]) == (None, 0)
    assert body["metadata"]["trail"][-1] == "what was found holds nothing that can be quoted"


def test_every_answer_to_the_sample_questions_quotes_its_own_sources(api: Api) -> None:
    """One or two quotes, each with its citation, some hundred characters, whatever the question."""
    for line in (SAMPLES / "waypoint" / "questions.jsonl").read_text(encoding="utf-8").splitlines()[::3]:
        body = api.ask(json.loads(line)["question"]).json
        if body["metadata"]["model"] is None:
            continue
        assert len(body["answer"]) <= 1200, line
        assert body["citations"], line
        assert body["answer"].endswith("]"), line
        for citation in body["citations"]:
            assert citation["raw"].startswith(f"[{citation['fullTitle']}"), line


HANDBOOK = REPOSITORY.parent / "shared" / "data" / "docs_handbook" / "pages"
LEAVE = (
    "advanced-sick-leave",
    "fmla",
    "going-out-of-office",
    "paid-parental-leave",
    "voluntary-leave-transfer-program",
)


@pytest.mark.slow
@pytest.mark.skipif(not HANDBOOK.is_dir(), reason="shared/data/docs_handbook is not there")
def test_pages_of_a_public_handbook_are_quoted_and_what_they_do_not_hold_is_declined(
    start: Start, tmp_path: Path, embedder: MiniLM
) -> None:
    incidents = HANDBOOK / "general-information-and-resources" / "tech-policies" / "security-incidents.md"
    reading = read([incidents, *(HANDBOOK / "travel-and-leave" / f"{page}.md" for page in LEAVE)])
    assert (reading.failed, len(reading.documents)) == ((), len(LEAVE) + 1)
    ingest(reading.documents, target=tmp_path / "index", embedder=embedder)
    api = start(INDEX_URI=str(tmp_path / "index"))
    for question, page, said in (
        ("How many weeks of paid parental leave can I take?", "paid-parental-leave", "12 weeks"),
        ("How soon do I have to report a security incident?", "security-incidents", "within one hour"),
        ("How many hours of advanced sick leave can I request?", "advanced-sick-leave", "240 hours"),
    ):
        body = api.ask(question).json
        assert page in {citation["docId"] for citation in body["citations"]}
        assert said in " ".join(body["answer"].split())
        assert "{%" not in body["answer"]
    assert api.ask("How long should I boil an egg so that the yolk stays soft?").json["answer"] == DECLINE
