"""Real documents and real mischief: data that nobody on this project wrote."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from functional.harness import DECLINE, REPOSITORY, Api, post, starting

from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.read.documents import read

DATA = REPOSITORY.parent / "shared" / "data"
HANDBOOK = DATA / "docs_handbook" / "pages"
NAUGHTY = DATA / "adversarial" / "blns" / "blns.json"
SCRIPTS = DATA / "adversarial" / "xss" / "sample500.json"
PAGES = (
    "travel-and-leave/advanced-sick-leave.md",
    "travel-and-leave/fmla.md",
    "travel-and-leave/going-out-of-office.md",
    "travel-and-leave/paid-parental-leave.md",
    "travel-and-leave/voluntary-leave-transfer-program.md",
    "general-information-and-resources/tech-policies/bug-bounty.md",
    "general-information-and-resources/tech-policies/password-requirements.md",
    "general-information-and-resources/tech-policies/security-incidents.md",
)
EVERY = 5
"""Of the adversarial strings every fifth is tried as a session or a filter; test_adversarial.py asks all of them."""

needs_handbook = pytest.mark.skipif(not HANDBOOK.is_dir(), reason="shared/data/docs_handbook is not there")


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory, embedder: MiniLM) -> Iterator[Api]:
    """The function on a few pages of a public handbook."""
    target = tmp_path_factory.mktemp("handbook") / "index"
    reading = read([HANDBOOK / page for page in PAGES])
    assert reading.failed == ()
    assert len(reading.documents) == len(PAGES)
    ingest(reading.documents, target=target, embedder=embedder)
    with starting(target) as start:
        yield start()


@pytest.mark.slow
@needs_handbook
@pytest.mark.parametrize(
    ("question", "page", "said"),
    [
        ("How many weeks of paid parental leave can I take?", "paid-parental-leave", "12 weeks"),
        ("Who is eligible to receive donated leave hours?", "voluntary-leave-transfer-program", "donated hours"),
        ("How soon do I have to report a security incident?", "security-incidents", "within one hour"),
        ("How do I make strong, unique passwords with a password manager?", "password-requirements", "unique password"),
        ("How many hours of advanced sick leave can I request?", "advanced-sick-leave", "240 hours"),
    ],
)
def test_a_question_finds_its_page(handbook: Api, question: str, page: str, said: str) -> None:
    body = handbook.ask(question).json
    assert body["refused"] is False
    assert page in {citation["docId"] for citation in body["citations"]}
    assert said in " ".join(body["answer"].split())
    assert "{%" not in body["answer"]


@pytest.mark.slow
@needs_handbook
def test_what_the_handbook_does_not_hold_is_declined(handbook: Api) -> None:
    assert handbook.ask("How long should I boil an egg so that the yolk stays soft?").json["answer"] == DECLINE


@pytest.mark.parametrize("path", [NAUGHTY, SCRIPTS], ids=lambda path: path.stem)
def test_mischief_gets_an_answer_or_a_sentence(api: Api, path: Path) -> None:
    if not path.is_file():
        pytest.skip(f"shared/data/adversarial/{path.parent.name} is not there")
    texts = json.loads(path.read_text(encoding="utf-8"))
    assert len(texts) >= 400
    for text in texts[::EVERY]:
        # Given mischief as everything that is text beside the question
        for extra in ({"sessionId": text}, {"filters": {text: text}}):
            reply = api.call(post(json.dumps({"query": "permit", **extra})))
            # Then it is answered or refused, never a failure, and always sendable
            assert reply.status in {200, 400}, (text, reply.text)
            assert reply.headers["content-type"] == "application/json"
            assert reply.text.encode("utf-8")
