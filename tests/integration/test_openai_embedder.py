"""Embeddings over an API: the adapter against a misbehaving server, an ingest that goes on, an index that is bound.

At the end: a whole GaCounts service whose embedder is remote, who is asked how often, and what runs beside what.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Run
from fakes_chat import FakeTime
from fakes_embedding import HashingEmbedder
from fakes_llm import SERVER_ERROR_TEXT, LlmServer, Step, embeddings, error, garbage, hang, model_not_found
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.errors import IndexDamaged, IndexMismatch
from knowledge.open.index import open_index
from rag.adapters.embedding.embedders import INGEST_LIMITS, QUESTION_LIMITS, index_embedder, remote_embedder
from rag.adapters.embedding.openai_embedder import BATCH_CHARS, BATCH_TEXTS, OpenAiEmbedder, batches, read_vectors
from rag.adapters.model_config import EmbedConfig
from rag.adapters.stores.cache import TableAnswerCache
from rag.config.settings import Settings, load
from rag.errors import EmbeddingFailed, EmbeddingUnavailable
from rag.values.answer import Answer
from rag.values.chat import Deadline
from rag.values.question import Question
from rag.values.stored import CacheHit
from rag.wiring.application import Application, build_application
from ragctl.embedders import PAID_NAME, PaidOnce, for_questions

KEY = "sk-test-0123456789"
MODEL = "house-embedding"


type Connect = Callable[..., OpenAiEmbedder]


@pytest.fixture
def connect(fake_time: FakeTime) -> Connect:
    """Makes adapters for a server, patient as at ingest, on fake time."""

    def make(server: LlmServer | str, **changes: Any) -> OpenAiEmbedder:
        url = server if isinstance(server, str) else server.url
        config = EmbedConfig(base_url=url, api_key=lambda: KEY, model=MODEL, dimensions=64, limits=INGEST_LIMITS)
        embedder = OpenAiEmbedder(replace(config, **changes))
        vars(embedder.server).update(sleep=fake_time.sleep, clock=fake_time, random=lambda: 0.0)
        return embedder

    return make


def test_the_request_is_exactly_what_was_asked_for(connect: Connect) -> None:
    with LlmServer(embed=[]) as server:
        assert connect(server).embed([]).shape == (0, 64)
        connect(server).embed(["permits é漢", "fees"])
    [request] = server.embed_requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.json == {"model": MODEL, "input": ["permits é漢", "fees"], "encoding_format": "base64"}
    assert request.path == "/v1/embeddings"


@pytest.mark.parametrize(
    "step",
    [embeddings(as_lists=True), embeddings(backwards=True), embeddings(scale=1e-30), embeddings(scale=1e30)],
    ids=["lists", "backwards", "short", "long"],
)
def test_vectors_come_back_in_the_order_of_the_texts_and_of_unit_length(connect: Connect, step: Step) -> None:
    texts = ["import permits", "fees of the port", "import permits for plants"]
    with LlmServer(embed=[step]) as server:
        made = connect(server).embed(texts)
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, HashingEmbedder(dimensions=64).embed(texts), atol=1e-6)


def test_many_texts_go_out_in_batches_and_nothing_is_sent_twice_after_a_rate_limit(
    connect: Connect, fake_time: FakeTime
) -> None:
    texts = [f"text number {number}" for number in range(600)]
    with LlmServer(embed=[embeddings(), error(429, retry_after=21), error(503), embeddings()]) as server:
        made = connect(server).embed(texts)
    assert [len(request.json["input"]) for request in server.embed_requests] == [256, 256, 256, 256, 88]
    assert server.embed_requests[1].body == server.embed_requests[3].body
    assert fake_time.slept == [21.0, 2.0]  # what the server asked for, then the second step of the backoff
    np.testing.assert_allclose(made, HashingEmbedder(dimensions=64).embed(texts), atol=1e-6)


@given(st.lists(st.integers(min_value=0, max_value=BATCH_CHARS + 10), max_size=300))
def test_batches_keep_order_and_bounds(lengths: list[int]) -> None:
    texts = ["x" * length for length in lengths]
    cut_up = list(batches(texts))
    assert [text for batch in cut_up for text in batch] == texts
    for batch in cut_up:
        assert 1 <= len(batch) <= BATCH_TEXTS
        assert len(batch) == 1 or sum(map(len, batch)) <= BATCH_CHARS


def test_batches_are_as_full_as_they_may_be() -> None:
    assert [len(batch) for batch in batches(["x" * (BATCH_CHARS // 4)] * 9)] == [4, 4, 1]
    assert [len(batch) for batch in batches(["x" * (BATCH_CHARS + 1), "x"])] == [1, 1]


def test_dimensions_that_nobody_said_are_found_out_once(connect: Connect) -> None:
    with LlmServer(embed=[]) as server:
        embedder = connect(server, dimensions=None)
        assert (embedder.dimensions, embedder.dimensions) == (64, 64)
    assert server.embedded_texts == ["dimensions"]


def test_shorter_vectors_are_asked_for_and_a_prefix_goes_before_each_text(connect: Connect) -> None:
    with LlmServer(embed=[]) as server:
        made = connect(server, dimensions=32, shorten=True, prefix="search_query: ").embed(["fees", "permits"])
    assert server.embed_requests[0].json["dimensions"] == made.shape[1] == 32
    assert server.embedded_texts == ["search_query: fees", "search_query: permits"]


UNREADABLE: dict[str, list[Any]] = {
    "not numbers": [["a"], ["b"]],
    "true is no number": [[True], [True]],
    "null": [None, None],
    "empty": [[], []],
    "uneven": [[1.0, 0.0], [1.0]],
    "zero": [[1.0, 0.0], [0.0, 0.0]],
    "infinite": [[float("inf"), 1.0], [1.0, 1.0]],
    "not a number": [[float("nan"), 1.0], [1.0, 1.0]],
    "too large": [[10**400, 1], [1, 1]],
    "not base64": ["§§§§", "§§§§"],
    "base64 cut": ["AAAAAA==", "AAAAAA=="],
    "too few": [[1.0, 0.0]],
}
"""Vectors for two texts."""
BODIES = {
    "a page": "<!doctype html>",
    "no object": "[1]",
    "no data": '{"object": "list"}',
    "not objects": '{"data": [1, 2]}',
    "one twice": '{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}',
    "index of text": '{"data": [{"index": "0", "embedding": [1]}, {"index": "1", "embedding": [1]}]}',
    **{name: json.dumps({"data": [{"embedding": row} for row in rows]}) for name, rows in UNREADABLE.items()},
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_what_is_no_vector_for_each_text_is_unreadable(body: str) -> None:
    with pytest.raises(EmbeddingFailed, match="Unreadable embeddings"):
        read_vectors(body.encode(), count=2)


def test_vectors_without_an_index_are_taken_in_their_order() -> None:
    body = json.dumps({"data": [{"embedding": [3, 0]}, {"embedding": [0, -2]}]}).encode()
    assert read_vectors(body, count=2).tolist() == [[1, 0], [0, -1]]


def test_vectors_of_another_length_than_the_index_s_fail(connect: Connect) -> None:
    with LlmServer(embed=[]) as server, pytest.raises(EmbeddingFailed, match=r"64 dimensions where 128 are expected"):
        connect(server, dimensions=128).embed(["one"])


@pytest.mark.parametrize(
    ("step", "kind", "told"),
    [
        (error(400), EmbeddingFailed, MODEL),
        (model_not_found(MODEL), EmbeddingUnavailable, MODEL),
        (garbage(), EmbeddingFailed, "Unreadable embeddings"),
    ],
)
def test_what_does_not_pass_is_told_at_once(
    connect: Connect, fake_time: FakeTime, step: Step, kind: type[Exception], told: str
) -> None:
    with LlmServer(embed=[step]) as server, pytest.raises(kind) as raised:
        connect(server).embed(["one"])
    assert len(server.embed_requests) == 1
    assert fake_time.slept == []
    assert SERVER_ERROR_TEXT not in str(raised.value)
    assert told in str(raised.value)


def test_a_question_does_not_wait_for_a_long_rate_limit(connect: Connect, fake_time: FakeTime) -> None:
    with LlmServer(embed=[error(429, retry_after=30)]) as server, pytest.raises(EmbeddingUnavailable) as raised:
        connect(server, limits=QUESTION_LIMITS).embed(["one"])
    assert raised.value.retry_after == 30
    assert fake_time.slept == []


def test_a_question_gives_up_after_its_retries(connect: Connect, fake_time: FakeTime) -> None:
    with LlmServer(embed=[error(503)] * 9) as server, pytest.raises(EmbeddingUnavailable, match="3 calls"):
        connect(server, limits=QUESTION_LIMITS).embed(["one"])
    assert fake_time.slept == [0.2, 0.4]


def test_a_silent_server_is_left_in_time(connect: Connect) -> None:
    hasty = replace(QUESTION_LIMITS, call_s=0.1, retries=0)
    with LlmServer(embed=[hang()]) as server, pytest.raises(EmbeddingUnavailable, match="timed out"):
        connect(server, limits=hasty).embed(["one"])


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "http://["])
def test_a_server_that_is_not_there(connect: Connect, url: str) -> None:
    with pytest.raises(EmbeddingUnavailable):
        connect(url, limits=QUESTION_LIMITS).embed(["one"])


def settings(**variables: str) -> Settings:
    return load(Settings, variables)


def test_without_embed_model_there_is_no_remote_embedder() -> None:
    assert remote_embedder(settings(LLM_API_KEY=KEY), side="question") is None


@pytest.mark.parametrize(
    ("variables", "url", "key", "dimensions", "shorten"),
    [
        ({}, "https://api.openai.com/v1", "", 3072, False),
        ({"LLM_BASE_URL": "http://a/v1", "LLM_API_KEY": "llm"}, "http://a/v1", "llm", 3072, False),
        (
            {"LLM_BASE_URL": "http://a", "EMBED_BASE_URL": "http://b/v1", "LLM_API_KEY": "llm", "EMBED_API_KEY": "e"},
            "http://b/v1", "e", 3072, False,
        ),
        ({"EMBED_DIMENSIONS": "256"}, "https://api.openai.com/v1", "", 256, True),
    ],
)  # fmt: skip
def test_where_the_model_is(variables: dict[str, str], url: str, key: str, dimensions: int, shorten: bool) -> None:
    made = remote_embedder(settings(EMBED_MODEL="text-embedding-3-large", **variables), side="document")
    assert isinstance(made, OpenAiEmbedder)
    config = made.config
    assert (config.base_url, config.api_key(), made.dimensions, config.shorten) == (url, key, dimensions, shorten)
    assert config.limits == INGEST_LIMITS


def test_nomic_sees_what_it_was_trained_on() -> None:
    named = settings(EMBED_MODEL="nomic-embed-text:v1.5")
    sides = [remote_embedder(named, side="question"), remote_embedder(named, side="document")]
    prefixes = [made.config.prefix for made in sides if isinstance(made, OpenAiEmbedder)]
    assert prefixes == ["search_query: ", "search_document: "]


TEXTS = 300


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """300 texts, which ingest embeds in blocks of 128, 128 and 44."""
    path = tmp_path / "corpus.jsonl"
    lines = [{"_id": f"d{n}", "title": f"Rule {n}", "text": f"Rule {n} is about topic {n * 7}."} for n in range(TEXTS)]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


@pytest.fixture
def run(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command with the embedder of a server."""
    monkeypatch.setenv("EMBED_MODEL", MODEL)
    monkeypatch.setenv("EMBED_API_KEY", KEY)

    def run_with(server: LlmServer, *arguments: object) -> Any:
        monkeypatch.setenv("EMBED_BASE_URL", server.url)
        return run(*arguments)

    return run_with


def test_an_ingest_that_failed_goes_on_where_it_stopped(run: Run, corpus: Path, tmp_path: Path) -> None:
    target = tmp_path / "i"
    with LlmServer(embed=[embeddings(), embeddings(), error(401)]) as server:
        status, out, err = run(server, "ingest", corpus, "--index", target)

    assert (status, out) == (1, "")
    assert err == (
        f"Error: Embedder answered 401 (AuthenticationError), model '{MODEL}', 1 call."
        " The index is as it was; the same command goes on where this one stopped\n"
    )
    assert not (target / "manifest.json").exists()
    sent = server.embedded_texts[1:129]  # after the call that found out the dimensions; the third one was refused

    with LlmServer(embed=[]) as server:
        done = run(server, "ingest", corpus, "--index", target, "--json")
    again = server.embedded_texts[1:]

    assert done["chunks"] == TEXTS
    assert len(again) == TEXTS - 128
    assert set(again).isdisjoint(sent)
    assert not (target / PAID_NAME).exists()
    manifest = json.loads((target / "manifest.json").read_text())
    assert manifest["embedding"] == {"model": MODEL, "dimensions": 64, "space": "cosine"}


@pytest.fixture
def embedder() -> Iterator[LlmServer]:
    with LlmServer(embed=[]) as server:
        yield server


@pytest.fixture
def fees(tmp_path: Path) -> Path:
    (tmp_path / "fees.md").write_text("# Fees\n\nDemurrage is 90 dollars for each day.\n")
    return tmp_path / "fees.md"


@pytest.fixture
def index(run: Run, embedder: LlmServer, fees: Path) -> Path:
    """An index that was made with the server's embedder."""
    assert run(embedder, "ingest", fees, "--index", fees.with_name("index"))[0] == 0
    return fees.with_name("index")


def test_an_index_says_which_model_it_wants(index: Path) -> None:
    local = HashingEmbedder(model="all-MiniLM-L6-v2")

    with pytest.raises(
        IndexMismatch, match=f"'{MODEL}', this program uses 'all-MiniLM-L6-v2': set EMBED_MODEL={MODEL}"
    ):
        index_embedder(index, local=local, remote=None)
    other = remote_embedder(settings(EMBED_MODEL="other"), side="question")
    with pytest.raises(IndexMismatch, match=f"uses 'other': set EMBED_MODEL={MODEL}, or run: ragctl ingest PATH"):
        index_embedder(index, local=local, remote=other)
    with pytest.raises(IndexMismatch, match="unset EMBED_MODEL"):
        index_embedder(index, local=HashingEmbedder(model=MODEL), remote=other)


def test_the_index_s_dimensions_are_the_embedder_s(
    run: Run, embedder: LlmServer, fees: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = fees.with_name("index")
    monkeypatch.setenv("EMBED_MODEL", "text-embedding-3-small")
    monkeypatch.setenv("EMBED_DIMENSIONS", "32")
    assert run(embedder, "ingest", fees, "--index", target)[0] == 0
    small = {"EMBED_MODEL": "text-embedding-3-small", "EMBED_BASE_URL": embedder.url, "INDEX_URI": str(target)}
    unsaid = for_questions(settings(**small))
    # Nobody need repeat EMBED_DIMENSIONS: the model is asked for what the index holds.
    assert unsaid.embed(["day"]).shape == (1, unsaid.dimensions) == (1, 32)
    with pytest.raises(IndexMismatch, match="dimensions 32, this program uses 64"):
        open_index(target, embedder=for_questions(settings(**small, EMBED_DIMENSIONS="64")))


def test_a_folder_without_an_index_opens_with_the_local_model(tmp_path: Path) -> None:
    local = HashingEmbedder()
    other = remote_embedder(settings(EMBED_MODEL="other"), side="question")
    assert index_embedder(tmp_path / "nothing", local=local, remote=other) is local
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(IndexDamaged):
        index_embedder(tmp_path, local=local, remote=other)


def test_vectors_are_paid_for_once_per_model_and_text(tmp_path: Path) -> None:
    path = tmp_path / "paid.sqlite"
    first, second, other = HashingEmbedder(), HashingEmbedder(), HashingEmbedder(model="other")

    made = PaidOnce(first, path).embed(["a b", "c", "a b"])
    again = PaidOnce(second, path).embed(["c", "d", "a b"])
    PaidOnce(other, path).embed(["c"])

    assert first.texts == ["a b", "c"]
    assert second.texts == ["d"]
    assert other.texts == ["c"]
    np.testing.assert_array_equal(made, HashingEmbedder().embed(["a b", "c", "a b"]))
    np.testing.assert_array_equal(again, HashingEmbedder().embed(["c", "d", "a b"]))


def test_damaged_payments_are_made_again(tmp_path: Path) -> None:
    path = tmp_path / "paid.sqlite"
    path.write_bytes(b"not a database" * 100)
    inner = HashingEmbedder()
    np.testing.assert_array_equal(PaidOnce(inner, path).embed(["a"]), HashingEmbedder().embed(["a"]))
    assert PaidOnce(inner, path).embed([]).shape == (0, 384)
    assert inner.texts == ["a"]


NEVER_S = 600
QUESTION = "How much is demurrage for each day?"
EMBEDDED = QUESTION.rstrip("?")


@pytest.fixture
def service(embedder: LlmServer, index: Path) -> Iterator[Callable[[], Application]]:
    """Makes services; their connections are closed at the end."""
    variables = {
        "RAG_PROFILE": "gacounts", "INDEX_URI": str(index), "STORE_PATH": str(index.with_name("store.sqlite")),
        "STORE_WAIT_S": "60",  # a loaded machine is none of what these tests are about
        "EMBED_MODEL": MODEL, "EMBED_API_KEY": KEY, "EMBED_BASE_URL": embedder.url,
    }  # fmt: skip
    with ExitStack() as stack:

        def make() -> Application:
            made = build_application(load(Settings, variables))
            stack.callback(made.renew)
            return made

        yield make


def ask(service: Application) -> Answer:
    return service.pipeline.run(Question(text=QUESTION), deadline=Deadline.after(NEVER_S, time.monotonic))


def test_the_shared_cache_is_asked_while_the_question_travels_to_the_embedder(
    embedder: LlmServer, service: Callable[[], Application], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here the shared layer answers only once the embedder has been asked, and nobody asks for a vector twice."""
    travels: list[bool] = []
    read = TableAnswerCache.get

    def read_meanwhile(self: TableAnswerCache, key: str) -> CacheHit | None:
        moment = time.monotonic() + NEVER_S
        while EMBEDDED not in embedder.embedded_texts and time.monotonic() < moment:
            threading.Event().wait(0.01)
        travels.append(EMBEDDED in embedder.embedded_texts)
        return read(self, key)

    monkeypatch.setattr(TableAnswerCache, "get", read_meanwhile)
    answer = ask(service())

    assert travels == [True]
    assert not answer.refused
    assert embedder.embedded_texts.count(EMBEDDED) == 1


def test_a_cached_answer_needs_no_embedder_and_another_process_finds_it_although_that_is_gone(
    embedder: LlmServer, service: Callable[[], Application]
) -> None:
    of = service()
    first = ask(of)
    sent = embedder.embedded_texts

    assert (first.cached, ask(of).cached) == (False, True)
    assert embedder.embedded_texts == sent

    embedder.__exit__(None, None, None)
    found = ask(service())
    assert found.cached
    assert found.text.startswith("Demurrage is 90 dollars")
