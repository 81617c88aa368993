"""Eight threads ask one pipeline while the index is replaced underneath: every answer is right, none is a mixture."""

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import real_model
from faults.drawing import by_night

from knowledge.build.ingest import ingest
from knowledge.read.documents import read
from rag.config.settings import Settings, load
from rag.values.answer import Answer
from rag.values.chat import Deadline
from rag.values.question import Question
from rag.wiring.application import build_application

pytestmark = pytest.mark.slow

THREADS = 8
SWAPS = by_night(2, 6)
NEVER_S = 600
"""An edition that no answer shows after so long is not served at all; a loaded machine needs a second or two."""
TOPICS = {
    "Demurrage": "Demurrage is charged while a full container stays in the terminal beyond its free days.",
    "Detention": "Detention is charged while an empty container is not returned to the depot in time.",
    "Permits": "An import permit is needed for almost all goods that are brought into the country.",
    "Insurance": "Cargo insurance covers loss and damage from the warehouse of the seller to that of the buyer.",
}


def write_edition(folder: Path, edition: str) -> None:
    folder.mkdir(exist_ok=True)
    for title, text in TOPICS.items():
        body = f"# {title} {edition}\n\n{text} This is what the {edition} edition says of {title.lower()}.\n"
        (folder / f"{title.lower()}.md").write_text(body, encoding="utf-8")


def editions_in(answer: Answer) -> set[str]:
    """The editions that the text or a citation of ``answer`` comes from."""
    cited = {citation.hit.chunk.title.rsplit(" ", 1)[-1] for citation in answer.citations}
    return {*re.findall(r"edition-\d", answer.text), *cited}


@pytest.mark.parametrize("profile", by_night(["waypoint"], ["waypoint", "clockify"]))
def test_answers_come_from_one_edition(tmp_path: Path, profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Given a service on the first edition
    embedder = real_model.model()
    monkeypatch.setattr("rag.wiring.application.MiniLM", lambda *, threads: embedder)
    docs, target = tmp_path / "docs", tmp_path / "index"
    write_edition(docs, "edition-0")
    ingest(read([docs]).documents, target=target, embedder=embedder)
    monkeypatch.setenv("DEFAULT_THRESHOLD", "0.1")
    monkeypatch.setenv("RELEVANCE_THRESHOLD", "-1")
    service = build_application(load(Settings, {"RAG_PROFILE": profile, "INDEX_URI": str(target)}))
    editions: list[set[str]] = []
    refused: list[Answer] = []
    answered = threading.Condition()
    stop = threading.Event()

    def ask_until_stopped(number: int) -> None:
        title = list(TOPICS)[number % len(TOPICS)]
        question = Question(text=f"What does the handbook say of {title.lower()} and what is charged for?")
        while not stop.is_set():
            answer = service.pipeline.run(question, deadline=Deadline.after(NEVER_S, time.monotonic))
            with answered:
                editions.append(editions_in(answer))
                refused.extend([answer] if answer.refused else [])
                answered.notify_all()

    def is_served(edition: str) -> bool:
        """Until an answer holds ``edition``, however slow this machine is; False when that never happens."""
        with answered:
            return answered.wait_for(lambda: {edition} in editions, timeout=NEVER_S)

    # When eight threads ask while further editions are indexed and swapped in
    with ThreadPoolExecutor(THREADS) as pool:
        running = [pool.submit(ask_until_stopped, number) for number in range(THREADS)]
        try:
            served = [is_served("edition-0")]
            for number in range(1, SWAPS + 1):
                write_edition(docs, f"edition-{number}")
                ingest(read([docs]).documents, target=target, embedder=embedder)
                served.append(is_served(f"edition-{number}"))
        finally:
            stop.set()
        for future in running:
            future.result()
    service.index.handle.close()

    # Then every edition was served, and no answer holds words of two
    assert all(served), served
    assert all(len(found) == 1 for found in editions), [found for found in editions if len(found) != 1][:3]
    assert not refused
