"""rag.wiring: which stores the settings name, where the tables come from, and where the chat model is."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from store_contract import make_answer

from knowledge.model.manifest import Provenance
from rag.adapters.dynamodb import DynamoDbTable
from rag.adapters.sqlite import SqliteTable
from rag.config.settings import Settings, load
from rag.errors import ConfigurationError
from rag.profiles import load_profile
from rag.values.question import Turn
from rag.wiring.models import ChatModels, allow_local_time, is_local
from rag.wiring.stores import OpenStores, build_stores
from rag.wiring.tables import Tables

type Make = Callable[..., OpenStores]
SESSION, TURN = "s" * 22, Turn(question="q", answer="a", at=1.0)


@pytest.fixture
def stores() -> Iterator[Make]:
    """Stores for settings; their connections end with the test."""
    with ExitStack() as ending:

        def make(**env: str) -> OpenStores:
            made = build_stores(load(Settings, env))
            assert made is not None
            ending.callback(made.renew)
            return made

        yield make


def test_a_path_is_a_file_that_is_made_on_first_use(stores: Make, tmp_path: Path) -> None:
    path = tmp_path / "deeper" / "s.sqlite"
    made = stores(STORE_PATH=str(path))
    made.warm()
    assert isinstance(made.table, SqliteTable)
    assert not path.exists()
    made.memory.remember(SESSION, TURN)
    assert path.is_file()
    assert [turn.answer for turn in stores(STORE_PATH=str(path)).memory.recall(SESSION, limit=5)] == ["a"]


def test_a_file_that_others_may_read_is_refused_at_the_start(stores: Make, tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    path.touch(0o600)
    path.chmod(0o644)
    with pytest.raises(ConfigurationError, match=f"^STORE_PATH: others than .*{path}, .*Run: chmod 600 {path}$"):
        stores(STORE_PATH=str(path))
    path.chmod(0o600)
    assert stores(STORE_PATH=str(path)).memory.recall(SESSION, limit=5) == ()


def test_a_table_comes_before_a_path_and_without_either_there_are_no_stores(stores: Make, tmp_path: Path) -> None:
    made = stores(TABLE_NAME="rag", STORE_PATH=str(tmp_path / "s.sqlite"))
    assert isinstance(made.table, DynamoDbTable)
    assert build_stores(load(Settings, {})) is None


def test_renewing_forgets_what_this_process_cached_drops_the_connection_and_loses_nothing(
    stores: Make, tmp_path: Path
) -> None:
    made = stores(STORE_PATH=str(tmp_path / "s.sqlite"))
    made.memory.remember(SESSION, TURN)
    made.cache.put("k", make_answer(), ttl_s=100.0)
    assert [hit.layer for hit in (made.cache.get("k"),) if hit] == ["l1"]
    assert isinstance(made.table, SqliteTable)
    with made.table.reading() as connection:
        pass
    made.renew()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
    assert [hit.layer for hit in (made.cache.get("k"), made.cache.get("k")) if hit] == ["l2", "l1"]
    assert [turn.answer for turn in made.memory.recall(SESSION, limit=5)] == ["a"]


ACRONYMS = '{"ABO": "Administrative Business Office"}'
RULES = '[{"keywords": ["logo"], "where": {"category": "brand"}, "priority": 1}]'


class KeptIndex:
    """An index that keeps ``tables``, None for one without a manifest."""

    def __init__(self, tables: Mapping[str, str] | None) -> None:
        self.manifest = None if tables is None else SimpleNamespace(made=Provenance(tables=tables))

    @contextmanager
    def lease(self) -> Iterator[KeptIndex]:
        yield self


def tables(kept: Mapping[str, str] | None = None, **env: str) -> Tables:
    return Tables(load(Settings, {"RAG_PROFILE": "gacounts", **env}), KeptIndex(kept))  # type: ignore[arg-type]


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def expanded(found: Tables) -> str:
    return found.acronyms().expand("Ask ABO")[0]


CSV = "acronym,long form\nABO,Administrative Business Office\n"


@pytest.mark.parametrize(("name", "text"), [("a.json", ACRONYMS), ("a.CSV", CSV), ("a.json", "\ufeff" + ACRONYMS)])
def test_the_file_that_is_named(tmp_path: Path, name: str, text: str) -> None:
    assert expanded(tables(ACRONYMS_FILE=written(tmp_path / name, text))) == "Ask Administrative Business Office (ABO)"


def test_else_those_that_the_index_keeps_if_any(tmp_path: Path) -> None:
    assert (expanded(tables()), tables().rules().rules) == ("Ask ABO", ())
    kept = {"acronyms.json": ACRONYMS, "filters.json": RULES}
    assert "Administrative" in expanded(tables(kept))
    assert "Administrative" in expanded(tables({"acronyms.csv": CSV}))
    assert len(tables(kept).rules().rules) == 1
    other = written(tmp_path / "other.json", '{"XY": "Extra"}')
    assert expanded(tables(kept, ACRONYMS_FILE=other)) == "Ask ABO"
    assert tables(kept).digest() != tables({"filters.json": RULES}).digest()


@pytest.mark.parametrize("name", ["ACRONYMS_FILE", "FILTER_RULES_FILE"])
def test_a_file_that_cannot_be_read_or_used_is_named_at_the_start(tmp_path: Path, name: str) -> None:
    (tmp_path / "latin.json").write_bytes(b"\xff\xfe\xfa")
    (tmp_path / "other.json").write_text("1")
    for file, told in (("missing", "'missing.json'"), ("latin", "'latin.json'"), ("other", "a JSON|one JSON")):
        with pytest.raises(ConfigurationError, match=told):
            tables(None, **{name: str(tmp_path / f"{file}.json")})


@pytest.mark.parametrize("name", ["ACRONYMS_FILE", "FILTER_RULES_FILE"])
def test_the_version_is_that_of_the_texts(tmp_path: Path, name: str) -> None:
    text = ACRONYMS if name == "ACRONYMS_FILE" else RULES
    place = written(tmp_path / "t.json", text)
    before = tables(None, **{name: place}).digest()
    assert before != tables().digest()
    moved = written(tmp_path / "elsewhere.json", text)
    assert tables(None, **{name: moved}).digest() == before
    written(Path(place), text.replace("ABO", "ABX").replace("logo", "logos"))
    assert tables(None, **{name: place}).digest() != before


LOCAL, REMOTE = "http://localhost:11434/v1", "https://api.openai.com/v1"
HERE = (
    LOCAL,
    "http://[::1]:8080/v1",
    "http://192.168.1.20:1234/v1",
    "http://host.docker.internal:1/v1",
    "http://gpu.local",
)
ELSEWHERE = (REMOTE, "https://8.8.8.8/v1", "nonsense", "http://[::1")


def test_an_address_here_or_on_a_private_network_is_local() -> None:
    assert tuple(url for url in HERE + ELSEWHERE if is_local(url)) == HERE


@pytest.mark.parametrize(
    ("profile", "given", "deadline_s"),
    [
        ("house", {"LLM_BASE_URL": LOCAL}, 120),
        ("clockify", {"RAG_OLLAMA_URL": "http://localhost:11434"}, 120),
        ("house", {"LLM_BASE_URL": LOCAL, "REQUEST_DEADLINE_S": "9"}, 9),
        ("house", {"LLM_BASE_URL": REMOTE}, 27),
        ("clockify", {}, 27),
    ],
    ids=["local", "local by the seed's variable", "set", "remote", "no model"],
)
def test_a_local_model_may_take_longer_unless_a_deadline_is_set(
    profile: str, given: dict[str, str], deadline_s: float
) -> None:
    knobs = load(load_profile(profile).settings, given)
    settings = load(Settings, {"RAG_PROFILE": profile, **given})
    assert allow_local_time(settings, knobs).request_deadline_s == deadline_s


@pytest.mark.parametrize(
    ("given", "fallback"),
    [
        ({"LLM_API_KEY": "k"}, ("openai/gpt-oss-20b",)),
        ({"LLM_BASE_URL": REMOTE}, ()),
        ({"LLM_BASE_URL": LOCAL}, ()),
        ({"LLM_BASE_URL": REMOTE, "LLM_FALLBACK_MODELS": "gpt-4o-mini"}, ("gpt-4o-mini",)),
    ],
    ids=["Groq", "OpenAI", "local", "set"],
)
def test_no_model_of_another_vendor_stands_in(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], fallback: tuple[str, ...]
) -> None:
    made: list[Any] = []
    monkeypatch.setattr("rag.wiring.models.build_chat_model", made.append)
    ChatModels(load(Settings, given), load(load_profile("house").settings, given)).answer_model()
    assert [config.fallback_models for config in made] == [fallback]
