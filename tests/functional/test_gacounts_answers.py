"""GaCounts without an LLM: the scripted conversation, guides that contradict each other, and the answer cache."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from fakes_llm import LlmServer
from functional.gacounts_service import (
    COLORS,
    MEALS,
    SAMPLES,
    TRAINING,
    cached,
    cited,
    counted,
    gacounts,
    model,
    of_llm,
)
from functional.harness import REPOSITORY, Api, Json, Reply, Start, starting
from real_model import few_background_questions

from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.model.errors import SearchFailed
from knowledge.open.index import EmbeddedIndex
from knowledge.read.documents import read

CATEGORIES = {
    "gacounts": "documentation",
    "policy": "abo_policies",
    "brand": "brand_guidelines",
    "training": "ets_training",
}
FOLLOW_UPS_NOT_FOUND = 2
"""Without an LLM the expected document need not come first; it is cited in all but so many."""
TOGETHER = "searched for alone and together with the turns before"
REPORTING = "How do I report in GaCounts?"
NEW = "The GaCounts reporting deadline is the 10th of the following month"
OLD = "The GaCounts reporting deadline is the 15th of the following month"

type Dialogue = list[tuple[Json, Reply]]


@pytest.fixture(scope="module")
def api(gacounts_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The profile on a fresh store."""
    with starting(gacounts_index) as start:
        yield start(**gacounts(tmp_path_factory.mktemp("answers") / "s.sqlite"))


@pytest.fixture
def anew(fresh: Start, tmp_path: Path) -> Api:
    """The profile on a store of this test."""
    return fresh(**gacounts(tmp_path / "s.sqlite"))


@pytest.fixture(scope="module")
def spoken(gacounts_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dialogue]:
    """The dialogue, each session's turns in order, and what was answered."""
    with starting(gacounts_index) as start:
        api = start(**gacounts(tmp_path_factory.mktemp("dialogue") / "s.sqlite"))
        sessions: dict[str, Json] = {}
        told = []
        for line in (SAMPLES / "dialogue.jsonl").read_text(encoding="utf-8").splitlines():
            turn = json.loads(line)
            reply = api.ask(turn["question"], **sessions.get(turn["session"], {}))
            sessions.setdefault(turn["session"], {"sessionId": reply.json["sessionId"]})
            told.append((turn, reply))
        yield told


def _trail(reply: Reply) -> str:
    return "\n".join(reply.json["metadata"]["trail"])


def answer_to(spoken: Dialogue, question: str) -> Reply:
    return next(reply for turn, reply in spoken if turn["question"] == question)


def test_every_turn_is_answered_and_all_but_a_session_s_first_with_the_turns_before(spoken: Dialogue) -> None:
    sessions: dict[str, str] = {}
    for turn, reply in spoken:
        assert reply.status == 200
        assert reply.json["refused"] == (turn["expects"]["doc"] is None), turn["question"]
        assert reply.json["metadata"]["skipped"] == []
        assert (TOGETHER in _trail(reply)) == (turn["session"] in sessions), turn["question"]
        assert counted(reply, "Reframed") == 0
        assert sessions.setdefault(turn["session"], reply.json["sessionId"]) == reply.json["sessionId"]
    assert len(set(sessions.values())) == 3
    assert all(22 <= len(issued) <= 64 for issued in sessions.values())


def test_follow_ups_find_their_documents(spoken: Dialogue) -> None:
    follow_ups = [(turn, reply) for turn, reply in spoken if turn["expects"]["followUp"]]
    missed = [turn["question"] for turn, reply in follow_ups if not {*turn["expects"]["doc"]} & {*cited(reply)}]
    assert len(follow_ups) >= 6
    assert len(missed) <= FOLLOW_UPS_NOT_FOUND, missed


def test_acronyms_are_expanded_and_filters_detected_where_there_are_any(spoken: Dialogue) -> None:
    for turn, reply in spoken:
        expects, trail = turn["expects"], _trail(reply)
        if (acronym := expects["acronym"]) and not expects["followUp"]:
            assert acronym in trail, turn["question"]
        else:
            assert "expanded" not in trail, turn["question"]
        if (word := expects["filter"]) and not expects["followUp"]:
            assert "prefers, by the word" in trail, turn["question"]
            assert CATEGORIES[word] in trail, turn["question"]
        else:
            assert "prefers, by default: sourceEnvironment = production" in trail, turn["question"]


def test_the_newer_document_comes_first_and_it_alone_is_quoted(spoken: Dialogue) -> None:
    for question, newer, older in ((MEALS, "ABO-002", "ABO-001"), (REPORTING, "DOC-001", "DOC-002")):
        reply = answer_to(spoken, question)
        related = [doc["docId"] for doc in reply.json["relatedDocs"]]
        assert related.index(newer) < related.index(older)
        assert (newer in cited(reply), older in cited(reply)) == (True, False)


def test_the_second_ask_is_cached_in_any_session_and_spelling(spoken: Dialogue) -> None:
    first, second = spoken[0][1], answer_to(spoken, "how do I report in gacounts")
    assert [reply for _, reply in spoken if cached(reply)] == [second]
    assert (counted(first, "CacheHit"), counted(second, "CacheHit", layer="l1")) == (0, 1)
    assert second.json["answer"] == first.json["answer"]
    assert second.json["metadata"]["trail"][-1] == "answered from the cache (l1)"
    assert second.json["sessionId"] != first.json["sessionId"]


def test_an_unknown_session_starts_empty_and_is_kept(api: Api) -> None:
    unknown = "never-heard-of-this-one-0"
    reply = api.ask(REPORTING, sessionId=unknown)
    assert reply.json["sessionId"] == unknown
    assert TOGETHER not in _trail(reply)
    assert TOGETHER in _trail(api.ask("And the deadline?", sessionId=unknown))


def test_of_two_guides_the_newer_is_the_answer_and_the_older_to_who_asks_for_its_year(
    api: Api, spoken: Dialogue
) -> None:
    body = api.ask("What is the GaCounts reporting deadline?").json
    assert body["relatedDocs"][0]["docId"] == "DOC-001"
    cites = body["answer"].split("(Source: ")[1]
    assert cites.startswith("https://ga.example.edu/gacounts/docs/reporting-guide-2025)")
    for answer in (body["answer"], answer_to(spoken, "And the deadline?").json["answer"]):
        assert answer.startswith(NEW)
        assert OLD not in answer
    assert OLD in api.ask("What was the GaCounts reporting deadline in 2023?").json["answer"]


def test_a_filter_top_k_and_a_threshold_of_the_request_are_part_of_the_key(anew: Api) -> None:
    for fields in ({}, {"filters": {"category": "abo_policies"}}, {"topK": 3}, {"threshold": 0.1}):
        assert [cached(anew.ask(MEALS, **fields)) for _ in range(2)] == [False, True], fields


def test_an_answer_below_the_bar_is_not_kept(anew: Api) -> None:
    replies = [anew.ask("Which vaccine does my puppy need at eight weeks?", threshold=-1) for _ in range(2)]
    assert replies[0].json["metadata"]["chunksRetrieved"] > 0, "the request let it through"
    assert [cached(reply) for reply in replies] == [False, False]


def test_numbers_tables_the_model_and_the_prompt_are_part_of_the_key(fresh: Start, tmp_path: Path) -> None:
    prompts, acronyms = tmp_path / "prompts", tmp_path / "acronyms.json"
    shutil.copytree(REPOSITORY / "prompts", prompts)
    known = json.loads((SAMPLES / "acronyms.json").read_text(encoding="utf-8"))
    acronyms.write_text(json.dumps({**known, "XQ": "Extra Questions"}), encoding="utf-8")
    with LlmServer(answer=model()) as server:
        env = gacounts(tmp_path / "s.sqlite", PROMPTS_DIR=str(prompts), **of_llm(server.url))
        fresh(**env).ask(MEALS)
        changes: tuple[dict[str, str], ...] = (
            {},
            {"RETRIEVAL_TOP_K": "7"},
            {"ACRONYMS_FILE": str(acronyms)},
            {"GEN_MODEL": "another"},
        )
        # Each of them is asked where the one before it has left its answer.
        found = [cached(fresh(**{**env, **change}).ask(MEALS)) for change in changes]
        system = prompts / "shared" / "system.txt"
        system.write_text(system.read_text(encoding="utf-8").replace("three", "four"), encoding="utf-8")
        found.append(cached(fresh(**env).ask(MEALS)))
    assert found == [True, False, False, False, False]


def test_an_update_of_the_documents_empties_what_it_changed(
    gacounts_index: Path, tmp_path: Path, embedder: MiniLM, fresh: Start
) -> None:
    index, documents = tmp_path / "index", tmp_path / "documents"
    shutil.copytree(gacounts_index, index)
    shutil.copytree(SAMPLES, documents)
    api = fresh(**gacounts(tmp_path / "s.sqlite"), INDEX_URI=str(index))
    first = api.ask(COLORS)
    assert cached(api.ask(COLORS))
    (documents / "brand_guidelines" / "parking.md").write_text("# Parking\n\nCars park behind the barn.\n", "utf-8")
    with few_background_questions():
        ingest(read([documents]).documents, target=index, embedder=embedder)
    elsewhere = api.ask(COLORS)
    assert (cached(elsewhere), cached(api.ask(COLORS))) == (True, True), "another document came"
    assert elsewhere.json["answer"] == first.json["answer"]
    assert elsewhere.json["metadata"]["timings"]["retrievalMs"] > 0, "it was looked for again"
    page = documents / "brand_guidelines" / "colors_and_fonts.md"
    page.write_text(page.read_text(encoding="utf-8") + "\n## Mauve\n\nOur brand colors have mauve now.\n", "utf-8")
    with few_background_questions():
        ingest(read([documents]).documents, target=index, embedder=embedder)
    second = api.ask(COLORS)
    assert (cached(first), cached(second)) == (False, False)
    assert ("mauve" in first.json["answer"], "mauve" in second.json["answer"]) == (False, True)


def test_without_a_store_there_is_no_session_no_cache_and_no_feedback(fresh: Start) -> None:
    bare = fresh(**gacounts(None))
    replies = [bare.ask(COLORS) for _ in range(2)]
    assert [(cached(reply), reply.json["sessionId"]) for reply in replies] == [(False, None)] * 2
    vote = bare.vote(replies[0].json["responseId"], True)
    assert (vote.status, vote.json["code"]) == (404, "unknown_response")


@pytest.mark.parametrize("second_thoughts", [None, True])
def test_a_vote_against_evicts_and_keeps_out_until_it_is_withdrawn_or_turned(
    anew: Api, second_thoughts: bool | None
) -> None:
    anew.ask(TRAINING)
    hit = anew.ask(TRAINING, sessionId="a-reader-with-a-session")
    assert cached(hit)
    assert anew.vote(hit.json["responseId"], False).status == 202
    assert [cached(anew.ask(TRAINING)) for _ in range(2)] == [False, False]
    anew.vote(hit.json["responseId"], second_thoughts)
    assert [cached(anew.ask(TRAINING)) for _ in range(2)] == [False, True]


def test_a_broken_entry_is_as_good_as_none(fresh: Start, tmp_path: Path) -> None:
    env = gacounts(tmp_path / "s.sqlite")
    fresh(**env).ask(COLORS)
    with closing(sqlite3.connect(tmp_path / "s.sqlite", isolation_level=None)) as connection:
        broken = "UPDATE items SET attributes = json_set(attributes, '$.body', '{\"half') WHERE pk LIKE 'answer#%'"
        assert connection.execute(broken).rowcount == 1
    api = fresh(**env)
    reply = api.ask(COLORS)
    assert (cached(reply), reply.json["metadata"]["skipped"]) == (False, [])
    assert cached(api.ask(COLORS))


def test_an_answer_that_could_not_be_checked_is_not_kept(
    with_llm: Start, gacounts_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise SearchFailed("The index has no chunk id_1")

    api = with_llm(answer=model(), INDEX_URI=str(gacounts_index), **gacounts(tmp_path / "s.sqlite"))
    with monkeypatch.context() as swapped:
        swapped.setattr(EmbeddedIndex, "support", fails)
        assert api.ask(COLORS).json["metadata"]["skipped"] == ["check"]
    assert [cached(api.ask(COLORS)) for _ in range(2)] == [False, True]
