"""One look at a real index with all signals: what it finds, what filters and views do, what an update keeps."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from desks import desk, desks
from fakes_embedding import HashingEmbedder, ReadingEmbedder

from knowledge.build.ingest import ingest
from knowledge.cut.units import END, FIRST_TOKEN, START
from knowledge.model.errors import IndexMismatch
from knowledge.model.values import View
from knowledge.open.index import EmbeddedIndex, open_index

DOCUMENTS = desks(150)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("look") / "index"
    ingest(DOCUMENTS, target=target, embedder=ReadingEmbedder())
    return target


@pytest.fixture(scope="module")
def index(folder: Path) -> Iterator[EmbeddedIndex]:
    with closing(open_index(folder, embedder=ReadingEmbedder())) as index:
        yield index


def found(index: EmbeddedIndex, *views: View, **options: object) -> list[str]:
    return [hit.chunk.doc_id for hit in index.search(views, **{"k": 10, **options}).hits]  # type: ignore[arg-type]


def test_the_chunk_with_the_words_comes_first_and_every_signal_is_told(index: EmbeddedIndex) -> None:
    hits = index.search([View("What is fee77 for the vessel?")], k=5).hits
    assert hits[0].chunk.doc_id == "d77"
    assert len(hits) == 5
    assert set(hits[0].parts) == {"dense", "window", "bm25", "late"}
    base = hits[0].parts["dense"] + hits[0].parts["window"]
    assert hits[0].score > (base + 3 * hits[0].parts["late"]) / 5 > 0  # and BM25 adds a little


def test_a_unit_of_a_hit_has_the_tokens_of_its_own_words(index: EmbeddedIndex) -> None:
    hit = index.search([View("fee77")], k=1).hits[0]
    assert hit.match is not None
    first, second = hit.match.units
    assert hit.chunk.text[second[START] : second[END]] == "Its fee for permit papers is fee77."
    best = int(np.argmax(hit.match.similarities[0]))
    assert best >= second[FIRST_TOKEN] > first[FIRST_TOKEN] == hit.match.title_tokens


def test_a_filter_is_a_wall_that_loses_nothing(index: EmbeddedIndex) -> None:
    assert set(found(index, View("papers"), where={"year": {"$gte": 2147}}, k=50)) == {"d147", "d148", "d149"}
    inside = found(index, View("What is fee77?"), where={"category": {"$eq": "02"}}, k=50)
    assert len(inside) == len([d for d in DOCUMENTS if d.category == "02"])
    assert found(index, View("papers"), where={"category": {"$eq": "09"}}) == []


def test_a_view_within_a_filter_leans_and_hides_nothing(index: EmbeddedIndex) -> None:
    plain = View("The desk opens")
    leaning = View("The desk opens", 0.5, {"category": {"$eq": "03"}})
    before, after = found(index, plain), found(index, plain, leaning)
    assert before != after
    assert sum(int(name[1:]) % 4 == 3 for name in after) > sum(int(name[1:]) % 4 == 3 for name in before)
    assert found(index, View("What is fee77?"), View("What is fee77?", 0.1, {"category": {"$eq": "03"}}))[0] == "d77"


def test_views_are_blended_by_their_weights(index: EmbeddedIndex) -> None:
    only = index.search([View("fee12"), View("fee90", 1e-6)], k=2).hits[0]
    other = index.search([View("fee12", 1e-6), View("fee90")], k=2).hits[0]
    assert (only.chunk.doc_id, other.chunk.doc_id) == ("d12", "d90")


@pytest.mark.parametrize("text", ["", "?!", "unknownword"])
def test_a_question_without_a_known_word_finds_something(index: EmbeddedIndex, text: str) -> None:
    assert len(index.search([View(text)], k=3).hits) == 3


def test_an_update_reads_only_what_is_new_and_keeps_the_projection(folder: Path, tmp_path: Path) -> None:
    target, embedder = tmp_path / "index", ReadingEmbedder()
    ingest(DOCUMENTS, target=target, embedder=embedder)
    before = tokens(target)

    changed = [replace(desk(3, "The night desk is closed."), title="Desk 3"), *DOCUMENTS[:3], *DOCUMENTS[4:]]
    summary = ingest(changed, target=target, embedder=embedder)

    assert summary.embedded == 1
    after = tokens(target)
    assert np.array_equal(before["projection"], after["projection"])
    assert np.array_equal(before["codes"][:24], after["codes"][:24])
    with closing(open_index(target, embedder=embedder)) as index:
        assert found(index, View("night desk closed"))[0] == "d3"


def test_an_index_that_has_grown_more_than_twice_is_fitted_anew(tmp_path: Path) -> None:
    embedder = ReadingEmbedder()
    ingest(DOCUMENTS[:40], target=tmp_path, embedder=embedder)
    before = tokens(tmp_path)
    assert ingest(DOCUMENTS[:80], target=tmp_path, embedder=embedder).embedded == 40
    assert np.array_equal(before["projection"], tokens(tmp_path)["projection"])
    assert ingest(DOCUMENTS[:81], target=tmp_path, embedder=embedder).embedded == 81
    assert not np.array_equal(before["projection"], tokens(tmp_path)["projection"])


def test_an_index_of_a_remote_embedder_is_searched_without_and_says_so(tmp_path: Path) -> None:
    ingest(DOCUMENTS[:9], target=tmp_path, embedder=HashingEmbedder())
    assert json.loads((tmp_path / "manifest.json").read_text())["tokens"] is None
    with closing(open_index(tmp_path, embedder=ReadingEmbedder())) as index:
        assert not index.late
        assert len(index.nearest(ReadingEmbedder().embed(["harbour"])[0], k=3)) == 3
        with pytest.raises(IndexMismatch, match=r"no token vectors .* Run: ragctl ingest PATH"):
            index.search([View("harbour")], k=3)


def tokens(target: Path) -> dict[str, np.ndarray]:
    data = target / json.loads((target / "manifest.json").read_text())["data"]
    return {name: np.load(data / "tokens" / f"{name}.npy") for name in ("projection", "codes")}
