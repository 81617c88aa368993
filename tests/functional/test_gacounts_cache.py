"""GaCounts' answer cache through the handler: what shares an answer, what never does, and what ends one."""

import json
import shutil
import sqlite3
import time
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
    counted,
    gacounts,
    kind_of,
    model,
    of_llm,
    served,
)
from functional.harness import IN_SCOPE, REPOSITORY, Api, Json, Start
from real_model import few_background_questions

from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.model.errors import SearchFailed
from knowledge.open.index import EmbeddedIndex
from knowledge.read.documents import read

READER = "a-reader-with-a-session"
LABEL = "[Singapore Import Permits and TradeNet > Documents needed for import customs clearance]"
SAYS = "Documents must be kept for five years after the permit is approved."
POLICY = {"filters": {"category": "abo_policies"}}


@pytest.fixture(scope="module")
def shared(gacounts_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """One function for the tests that only ask; each of them uses questions of its own."""
    with served(gacounts_index, tmp_path_factory.mktemp("cache") / "s.sqlite") as api:
        yield api


# --- what shares an answer


def test_spelling_alone_does_not_matter_and_a_number_makes_another_question(shared: Api) -> None:
    shared.ask(TRAINING)
    reply = shared.ask("  WHEN IS   the security training due each year\uff1f ")
    assert cached(reply)
    assert reply.json["metadata"]["query"] == "WHEN IS   the security training due each year\uff1f"
    shared.ask("Is the hotel limit 150 dollars?")
    assert not cached(shared.ask("Is the hotel limit 1.50 dollars?"))


@pytest.mark.parametrize(
    "fields",
    [POLICY, {"topK": 3}, {"threshold": 0.1}, {**POLICY, "topK": 3}, {"filters": {"priority": {"$gte": 7}}}],
)
def test_filters_top_k_and_threshold_are_part_of_the_key(shared: Api, fields: Json) -> None:
    question = "What is the meal allowance for overnight trips?"
    shared.ask(question)
    assert not cached(shared.ask(question, **fields))
    assert cached(shared.ask(question, **fields))
    assert cached(shared.ask(question))


def test_an_answer_below_the_bar_is_not_kept(shared: Api) -> None:
    question = "Which vaccine does my puppy need at eight weeks?"
    first = shared.ask(question, threshold=-1)
    assert not cached(first)
    assert first.json["metadata"]["chunksRetrieved"] > 0, "the request let it through"
    assert not cached(shared.ask(question, threshold=-1))


# --- what it depends on


def test_l2_is_shared_and_says_so(fresh: Start, tmp_path: Path) -> None:
    env = gacounts(tmp_path / "s.sqlite")
    first = fresh(**env).ask(MEALS)
    other = fresh(**env)
    second, third = other.ask(MEALS), other.ask(MEALS)
    assert [cached(reply) for reply in (first, second, third)] == [False, True, True]
    assert (counted(second, "CacheHit", layer="l2"), counted(third, "CacheHit", layer="l1")) == (1, 1)
    assert second.json["answer"] == first.json["answer"]
    assert len({reply.json["responseId"] for reply in (first, second, third)}) == 3


@pytest.mark.parametrize("knob", ["RETRIEVAL_TOP_K=7", "MIN_SIMILARITY=0.39", "MAX_CONTEXT_TOKENS=5000"])
def test_numbers_are_part_of_the_key(fresh: Start, tmp_path: Path, knob: str) -> None:
    env = gacounts(tmp_path / "s.sqlite")
    fresh(**env).ask(MEALS)
    name, _, value = knob.partition("=")
    changed = fresh(**env, **{name: value})
    assert not cached(changed.ask(MEALS))
    assert cached(changed.ask(MEALS))


def test_the_model_and_the_prompt_are_part_of_the_key(fresh: Start, tmp_path: Path) -> None:
    prompts = tmp_path / "prompts"
    shutil.copytree(REPOSITORY / "prompts", prompts)
    with LlmServer(answer=model()) as server:
        env = gacounts(tmp_path / "s.sqlite", PROMPTS_DIR=str(prompts), **of_llm(server.url))
        fresh(**env).ask(MEALS)
        assert cached(fresh(**env).ask(MEALS))
        assert not cached(fresh(**env, GEN_MODEL="another").ask(MEALS))
        assert not cached(fresh(**env, GEN_MODEL="gpt-4o", LLM_TEMPERATURE="0.1").ask(MEALS))
        system = prompts / "shared" / "system.txt"
        system.write_text(system.read_text(encoding="utf-8").replace("three", "four"), encoding="utf-8")
        assert not cached(fresh(**env, LLM_TEMPERATURE="0.7").ask(MEALS))


@pytest.mark.parametrize("table", ["ACRONYMS_FILE", "FILTER_RULES_FILE"])
def test_the_tables_are_part_of_the_key(fresh: Start, tmp_path: Path, table: str) -> None:
    env = gacounts(tmp_path / "s.sqlite")
    fresh(**env).ask(COLORS)
    assert cached(fresh(**env).ask(COLORS))
    other = tmp_path / "other.json"
    value = json.loads(Path(env[table]).read_text(encoding="utf-8"))
    more = {**value, "XQ": "Extra Questions"} if isinstance(value, dict) else value[1:]
    other.write_text(json.dumps(more), encoding="utf-8")
    assert not cached(fresh(**{**env, table: str(other)}).ask(COLORS))


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
    assert not cached(second)
    assert "mauve" in second.json["answer"]
    assert "mauve" not in first.json["answer"]


def test_without_a_store_or_with_the_cache_off_nothing_is_kept(fresh: Start, tmp_path: Path) -> None:
    off = fresh(**gacounts(tmp_path / "s.sqlite", ENABLE_RESPONSE_CACHE="false"))
    assert [cached(off.ask(COLORS)) for _ in range(2)] == [False, False]


def test_without_a_store_there_is_no_session_no_cache_and_no_feedback(fresh: Start) -> None:
    bare = fresh(**gacounts(None))
    replies = [bare.ask(COLORS) for _ in range(2)]
    assert [cached(reply) for reply in replies] == [False, False]
    assert [reply.json["sessionId"] for reply in replies] == [None, None]
    vote = bare.vote(replies[0].json["responseId"], True)
    assert (vote.status, vote.json["code"]) == (404, "unknown_response")


# --- what ends one


def test_a_vote_against_evicts_here_and_keeps_out(fresh: Start, tmp_path: Path) -> None:
    api = fresh(**gacounts(tmp_path / "s.sqlite"))
    api.ask(COLORS)
    hit = api.ask(COLORS, sessionId=READER)
    assert cached(hit)
    assert api.vote(hit.json["responseId"], False).status == 202
    assert not cached(api.ask(COLORS))
    assert not cached(api.ask(COLORS)), "it is not stored again while the vote stands"


def test_a_withdrawn_or_turned_vote_allows_it_again(fresh: Start, tmp_path: Path) -> None:
    api = fresh(**gacounts(tmp_path / "s.sqlite"))
    for question, second_thoughts in ((COLORS, None), (TRAINING, True)):
        first = api.ask(question, sessionId=f"{READER}-{second_thoughts}").json["responseId"]
        api.vote(first, False)
        assert not cached(api.ask(question))
        api.vote(first, second_thoughts)
        assert not cached(api.ask(question))
        assert cached(api.ask(question))


def test_a_vote_without_a_session_evicts_once_and_keeps_nothing_out(
    fresh: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hour = time.time() // 3600 * 3600
    monkeypatch.setattr(time, "time", lambda: hour)
    api = fresh(**gacounts(tmp_path / "s.sqlite"))
    api.ask(COLORS)
    seen = []
    for _ in range(6):
        reply = api.ask(COLORS)
        seen.append(cached(reply))
        assert api.vote(reply.json["responseId"], False).status == 202
    assert seen == [True, False, True, True, True, True]


def test_an_answer_to_a_rewritten_question_is_not_kept_where_the_prompt_holds_no_history_either(
    start: Start, tmp_path: Path
) -> None:
    follow_up = "And which papers does it take?"

    def write(request: Json) -> str:
        rewrites = kind_of(request) == "reframe"
        return IN_SCOPE if rewrites else f"{SAYS} {LABEL}"

    with LlmServer(answer=write) as server:
        env = {"ENABLE_RESPONSE_CACHE": "true", "HISTORY_TURNS": "5", "STORE_PATH": str(tmp_path / "s.sqlite")}
        api = start(**env, **of_llm(server.url))
        api.ask("How is the customs value of a shipment worked out?", sessionId=READER)
        reply = api.ask(follow_up, sessionId=READER)
        assert f"understood as: {IN_SCOPE}" in reply.json["metadata"]["trail"]
        assert not cached(api.ask(follow_up, sessionId=READER))
        assert not cached(api.ask(IN_SCOPE)), "a rewriting left nothing"
        assert cached(api.ask(IN_SCOPE)), "else the answer would be kept"


def test_a_broken_entry_is_as_good_as_none(fresh: Start, tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite"
    env = gacounts(store)
    fresh(**env).ask(COLORS)
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        broken = "UPDATE items SET attributes = json_set(attributes, '$.body', '{\"half') WHERE pk LIKE 'answer#%'"
        assert connection.execute(broken).rowcount == 1
    api = fresh(**env)
    reply = api.ask(COLORS)
    assert (cached(reply), reply.json["metadata"]["skipped"]) == (False, [])
    assert cached(api.ask(COLORS))


def test_an_answer_that_could_not_be_checked_is_not_kept(
    fresh: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise SearchFailed("The index has no chunk id_1")

    with LlmServer(answer=model()) as server:
        api = fresh(**gacounts(tmp_path / "s.sqlite", **of_llm(server.url)))
        with monkeypatch.context() as swapped:
            swapped.setattr(EmbeddedIndex, "support", fails)
            assert api.ask(COLORS).json["metadata"]["skipped"] == ["check"]
        assert [cached(api.ask(COLORS)) for _ in range(2)] == [False, True]
