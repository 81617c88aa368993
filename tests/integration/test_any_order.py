"""Write, ingest, publish, ask, vote and forget in any order: what is answered is what was published last, and no more.

The machine has a folder of documents, an index that is made of it, a copy of that index which the real handler serves,
and the store of its answers, turns and votes. Each edition of a page has a code of its own; answers are read for codes.
"""

import re
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import real_model
from fakes_stores import sqlite_table
from faults.drawing import by_night
from faults.tally import tally
from functional.harness import starting
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from knowledge.build.ingest import ingest
from knowledge.read.documents import read
from rag.adapters.stores.sessions import forget_session
from rag.values.stored import ErasedCounts

pytestmark = pytest.mark.slow

TOPICS = {
    "demurrage": "Demurrage is charged while a full container stays in the terminal beyond its free days, under code",
    "detention": "Detention is charged while an empty container is not returned to the depot in time, under code",
    "permits": "An import permit is needed for almost all goods brought into the country, and is filed under code",
    "insurance": "Cargo insurance covers loss and damage of goods from warehouse to warehouse, under code",
}
QUESTIONS = {
    "demurrage": "What is charged while a full container stays in the terminal beyond its free days?",
    "detention": "What is charged while an empty container is not returned to the depot in time?",
    "permits": "What is needed for almost all goods brought into the country?",
    "insurance": "What covers loss and damage of goods from warehouse to warehouse?",
}
SESSIONS = ("first-session-of-22-chars", "second-session-of-22-char")
topics, sessions = st.sampled_from(sorted(TOPICS)), st.sampled_from(SESSIONS)


class Service(RuleBasedStateMachine):
    """What happens to a service, and what is known of it: codes by topic, and what each session left in the store."""

    steps = 0

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()
        self._root = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self._docs, self._made, self._served = (self._root / name for name in ("docs", "made", "served"))
        self._docs.mkdir()
        self.edition = 0
        self.written: dict[str, str] = {}
        self.ingested: dict[str, str] = {}
        self.published: dict[str, str] = {}
        self.responses: dict[str, str] = {}
        self.turns = dict.fromkeys(SESSIONS, 0)
        for topic in TOPICS:
            self.write(topic)
        self.ingest()
        self.publish()
        start = self._stack.enter_context(starting(self._served))
        store = self._root / "store.sqlite"
        env = {"RAG_PROFILE": "gacounts", "STORE_PATH": str(store), "ENABLE_RESPONSE_CACHE": "true"}
        self.api = start(**env)
        self.table = self._stack.enter_context(sqlite_table(store))

    def teardown(self) -> None:
        self._stack.close()

    @rule(topic=topics)
    def write(self, topic: str) -> None:
        self.edition += 1
        code = f"zq{self.edition}x"
        (self._docs / f"{topic}.md").write_text(f"# {topic.title()}\n\n{TOPICS[topic]} {code}.\n", encoding="utf-8")
        self.written[topic] = code

    @precondition(lambda self: len(self.written) > 2)
    @rule(topic=topics)
    def remove(self, topic: str) -> None:
        (self._docs / f"{topic}.md").unlink(missing_ok=True)
        self.written.pop(topic, None)

    @rule()
    def ingest(self) -> None:
        with real_model.few_background_questions():
            documents = read([self._docs]).documents
            ingest(documents, target=self._made, embedder=real_model.model())
        self.ingested = dict(self.written)

    @rule()
    def publish(self) -> None:
        """Copy the index as a machine does that writes to a file system: the manifest last, at once."""
        shutil.copytree(self._made, self._served, dirs_exist_ok=True, ignore=shutil.ignore_patterns("manifest.json"))
        shutil.copyfile(self._made / "manifest.json", self._root / "manifest.json")
        (self._root / "manifest.json").replace(self._served / "manifest.json")
        self.published = dict(self.ingested)

    @rule(topic=topics, session=sessions)
    def ask(self, topic: str, session: str) -> None:
        reply = self.api.ask(QUESTIONS[topic], sessionId=session)
        assert reply.status == 200, reply.json
        body: dict[str, Any] = reply.json
        shown = {*re.findall(r"zq\d+x", str(body))}
        assert shown <= set(self.published.values()), "an edition that is not published is shown"
        if topic in self.published:
            assert self.published[topic] in body["answer"]
        self.responses[body["responseId"]] = session
        self.turns[session] += 1
        Service.steps += 1

    @precondition(lambda self: self.responses)
    @rule(data=st.data(), helpful=st.sampled_from([True, False, None]))
    def vote(self, data: st.DataObject, helpful: bool | None) -> None:
        response = data.draw(st.sampled_from(sorted(self.responses)))
        assert self.api.vote(response, helpful, sessionId=self.responses[response]).status == 202
        Service.steps += 1

    @rule(session=sessions)
    def forget(self, session: str) -> None:
        nothing = ErasedCounts(turns=0, responses=0, votes=0, answers=0)
        forgotten = forget_session(self.table, session) or nothing  # the file is made by the first question
        mine = {response for response, owner in self.responses.items() if owner == session}
        assert forgotten.responses == len(mine)
        assert (forgotten.turns > 0) == (self.turns[session] > 0)
        for response in mine:
            assert self.api.vote(response, True, sessionId=session).status == 404
            del self.responses[response]
        self.turns[session] = 0
        Service.steps += 1


def test_what_is_answered_is_what_was_published_last() -> None:
    Service.steps = 0
    few = settings(
        max_examples=by_night(5, 60), stateful_step_count=by_night(25, 40), suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(Service, settings=few)
    tally("questions, votes and forgettings in any order", cases=Service.steps, failures=0)
    assert Service.steps
