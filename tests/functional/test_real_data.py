"""Real documents, which nobody on this project wrote."""

from collections.abc import Iterator

import pytest
from functional.harness import DECLINE, REPOSITORY, Api, starting

from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.read.documents import read

HANDBOOK = REPOSITORY.parent / "shared" / "data" / "docs_handbook" / "pages"
LEAVE = ("advanced-sick-leave", "fmla", "going-out-of-office", "paid-parental-leave")
POLICIES = ("bug-bounty", "password-requirements", "security-incidents")
PAGES = [f"travel-and-leave/{name}.md" for name in (*LEAVE, "voluntary-leave-transfer-program")]
PAGES += [f"general-information-and-resources/tech-policies/{name}.md" for name in POLICIES]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not HANDBOOK.is_dir(), reason="shared/data/docs_handbook is not there"),
]


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory, embedder: MiniLM) -> Iterator[Api]:
    """The function on a few pages of a public handbook."""
    target = tmp_path_factory.mktemp("handbook") / "index"
    reading = read([HANDBOOK / page for page in PAGES])
    assert (reading.failed, len(reading.documents)) == ((), len(PAGES))
    ingest(reading.documents, target=target, embedder=embedder)
    with starting(target) as start:
        yield start()


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


def test_what_the_handbook_does_not_hold_is_declined(handbook: Api) -> None:
    assert handbook.ask("How long should I boil an egg so that the yolk stays soft?").json["answer"] == DECLINE
