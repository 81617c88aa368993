"""GaCounts' answer cache through the handler: what shares an answer, what never does, and what ends one."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from fakes_llm import LlmServer
from functional.gacounts_service import COLORS, MEALS, SAMPLES, TRAINING, cached, gacounts, model, of_llm
from functional.harness import REPOSITORY, Api, Start
from real_model import few_background_questions

from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.model.errors import SearchFailed
from knowledge.open.index import EmbeddedIndex
from knowledge.read.documents import read

READER = "a-reader-with-a-session"


@pytest.fixture
def api(fresh: Start, tmp_path: Path) -> Api:
    """The profile on a fresh store."""
    return fresh(**gacounts(tmp_path / "s.sqlite"))


# --- what it depends on


def test_a_filter_top_k_and_a_threshold_of_the_request_are_part_of_the_key(api: Api) -> None:
    for fields in ({}, {"filters": {"category": "abo_policies"}}, {"topK": 3}, {"threshold": 0.1}):
        assert [cached(api.ask(MEALS, **fields)) for _ in range(2)] == [False, True], fields


def test_an_answer_below_the_bar_is_not_kept(api: Api) -> None:
    replies = [api.ask("Which vaccine does my puppy need at eight weeks?", threshold=-1) for _ in range(2)]
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


# --- what ends one


@pytest.mark.parametrize("second_thoughts", [None, True])
def test_a_vote_against_evicts_and_keeps_out_until_it_is_withdrawn_or_turned(
    api: Api, second_thoughts: bool | None
) -> None:
    api.ask(TRAINING)
    hit = api.ask(TRAINING, sessionId=READER)
    assert cached(hit)
    assert api.vote(hit.json["responseId"], False).status == 202
    assert [cached(api.ask(TRAINING)) for _ in range(2)] == [False, False]
    api.vote(hit.json["responseId"], second_thoughts)
    assert [cached(api.ask(TRAINING)) for _ in range(2)] == [False, True]


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
