"""What an index does, whatever keeps it: the same suite over an embedded one and one on Chroma's own server.

What no embedded index has, or what both are compared in, is below the line.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import chroma_server
import numpy as np
import pytest
import real_model
from desks import BYTE_A_NUMBER, WORDS, desk, desks
from fakes_embedding import ReadingEmbedder

from knowledge.build.ingest import ingest
from knowledge.build.server_ingest import ingest_to_server
from knowledge.build.summary import Summary
from knowledge.model.errors import RemovalsRefused, SearchFailed, SourceUnreadable
from knowledge.model.values import Claim, Failure, View
from knowledge.open.index import EmbeddedIndex, open_index
from knowledge.open.server_index import ServerIndex, open_server_index

pytestmark = pytest.mark.slow

DOCUMENTS = desks(48)
"""So few that either kind of index compares all of them."""
QUESTIONS = [f"What is fee{n} for the {WORDS[n % 8]}?" for n in range(0, 48, 16)] + ["The desk opens", "nothing known"]
FILTERS: list[tuple[dict[str, Any], int]] = [
    ({"category": {"$eq": "02"}}, 12),
    ({"category": "01"}, 12),
    ({"category": {"$in": ["01", "03"]}}, 24),
    ({"year": {"$gte": 2040}}, 8),
    ({"$and": [{"category": {"$eq": "02"}}, {"year": {"$gte": 2030}}]}, 5),
    ({"late_fee": {"$eq": 3}}, 9),
    ({"category": {"$eq": "09"}}, 0),
]
"""With how many documents each admits."""


@dataclass(frozen=True)
class Place:
    """Where an index is kept, and how one is made and opened there."""

    make: Callable[..., Summary]
    opened: Callable[[], EmbeddedIndex | ServerIndex]


def embedded(folder: Path) -> Place:
    return Place(
        make=lambda documents, **options: ingest(
            documents, **{"target": folder / "index", "embedder": ReadingEmbedder(), **options}
        ),
        opened=lambda: open_index(folder / "index", embedder=ReadingEmbedder()),
    )


def served(folder: Path, server: chroma_server.ChromaServer) -> Place:
    name = chroma_server.new_name()
    at = {"uri": server.uri, "work": folder / "work", "collection": name}
    return Place(
        make=lambda documents, **options: ingest_to_server(
            documents, **{**at, "embedder": ReadingEmbedder(), **options}
        ),
        opened=lambda: open_server_index(server.uri, embedder=ReadingEmbedder(), collection=name),
    )


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, chroma: chroma_server.ChromaServer) -> Iterator[list[Any]]:
    """The same documents in both kinds of index: embedded, served."""
    folder = tmp_path_factory.mktemp("both")
    places = [embedded(folder), served(folder, chroma)]
    for place in places:
        place.make(DOCUMENTS)
    indexes = [place.opened() for place in places]
    yield indexes
    for index in indexes:
        index.close()


@pytest.fixture(params=["embedded", "served"])
def place(request: pytest.FixtureRequest, tmp_path: Path, chroma: chroma_server.ChromaServer) -> Iterator[Place]:
    """A place without an index; the bars of those that are made there mean nothing."""
    with real_model.few_background_questions(100):
        yield embedded(tmp_path) if request.param == "embedded" else served(tmp_path, chroma)


def held(place: Place) -> dict[str, list[tuple[int, str]]]:
    """The chunks of each document: numbers and texts."""
    with closing(place.opened()) as index:
        chunks: dict[str, list[tuple[int, str]]] = {}
        for chunk in index.iter_chunks():
            chunks.setdefault(chunk.doc_id, []).append((chunk.number, chunk.text))
        assert (len(chunks), sum(map(len, chunks.values()))) == (index.documents, index.chunks)
        return chunks


def test_both_know_the_same_of_themselves(both: list[Any]) -> None:
    one, other = both
    assert (other.documents, other.chunks, dict(other.fields), other.late) == (48, one.chunks, dict(one.fields), True)
    assert list(other.iter_chunks()) == list(one.iter_chunks())
    assert [chunk.number for chunk in other.fetch([40, 7, 13, 7])] == [40, 7, 13, 7]
    assert other.fetch([]) == one.fetch([]) == ()
    assert other.chunk(7) == one.chunk(7)
    assert other.chunk(7).extra == desk(6).extra
    assert other.view(12, "What is fee11?") == one.view(12, "What is fee11?")
    assert other.view(12) == one.view(12)
    for index in both:
        assert index.chunk(999) is None
        assert index.view(999) is None
        with pytest.raises(SearchFailed, match="id_999"):
            index.fetch([1, 999])


@pytest.mark.parametrize(("where", "admitted"), [(None, 48), *FILTERS])
def test_both_find_the_same_with_the_same_scores(both: list[Any], where: dict[str, Any] | None, admitted: int) -> None:
    for index in both:
        assert len(index.search([View("The desk opens")], k=60, where=where).hits) == admitted
    for question in QUESTIONS:
        views = [View(question), View("harbour papers", 0.5), View("fee", 0.4, {"category": {"$in": ["03"]}})]
        for some in (views[:1], views):
            one, other = (index.search(some, k=10, where=where) for index in both)
            assert [hit.chunk for hit in other.hits] == [hit.chunk for hit in one.hits]
            assert [hit.score for hit in other.hits] == pytest.approx([hit.score for hit in one.hits], abs=1e-4)
            for mine, theirs in zip(other.hits, one.hits, strict=True):
                assert dict(mine.parts) == pytest.approx(dict(theirs.parts), abs=1e-4)
                assert (mine.match.units == theirs.match.units).all()
                assert mine.match.similarities == pytest.approx(theirs.match.similarities, abs=1e-4)
            assert (other.evidence is None) == (one.evidence is None)
            if one.evidence is not None:
                assert (other.evidence.score, other.evidence.bar) == pytest.approx(
                    (one.evidence.score, one.evidence.bar), rel=0.01
                )
                assert dict(other.evidence.signals) == pytest.approx(dict(one.evidence.signals), rel=0.01, abs=1e-3)
                assert other.evidence.asked.unknown == one.evidence.asked.unknown


def test_both_have_the_same_nearest(both: list[Any]) -> None:
    for text in QUESTIONS:
        vector = ReadingEmbedder().embed([text])[0]
        for where in (None, {"category": {"$eq": "02"}}):
            one, other = (index.nearest(vector, k=20, where=where) for index in both)
            cosines = {hit.chunk.number: hit.score for hit in one}
            assert [hit.score for hit in other] == pytest.approx([hit.score for hit in one], abs=BYTE_A_NUMBER)
            for hit in other:
                assert hit.score == pytest.approx(cosines.get(hit.chunk.number, one[-1].score), abs=BYTE_A_NUMBER)
                assert hit.parts["dense"] == hit.score
                assert np.linalg.norm(hit.vector) == pytest.approx(1, abs=0.01)
    for index in both:
        with pytest.raises(SearchFailed):
            index.nearest(np.full(384, np.nan, dtype=np.float32), k=3)


def test_both_have_the_same_candidates(both: list[Any]) -> None:
    for text in QUESTIONS:
        one, other = (index.candidates(text, ReadingEmbedder().embed([text])[0], k=60) for index in both)
        assert other.numbers.tolist() == one.numbers.tolist()
        assert other.dense.z == pytest.approx(one.dense.z, abs=1e-2)
        assert other.bm25.values == pytest.approx(one.bm25.values, abs=1e-5)
        assert other.bm25.z == pytest.approx(one.bm25.z, abs=1e-4)
        assert other.vectors == pytest.approx(one.vectors, abs=1e-5)


def test_both_check_statements_alike(both: list[Any]) -> None:
    claims = [
        Claim("Its fee for permit papers is fee11.", (12,)),
        Claim("Its fee for permit papers is fee12.", (12,)),
        Claim("The vessel desk opens.", ()),
    ]
    one, other = (index.support(claims, [5, 12, 20]) for index in both)
    for mine, theirs in zip(other, one, strict=True):
        assert (mine.chance, mine.cited) == pytest.approx((theirs.chance, theirs.cited), abs=1e-3)
        assert (mine.shared, mine.missing) == (theirs.shared, theirs.missing)
        assert [replace(one, chance=0) for one in mine.each] == [replace(one, chance=0) for one in theirs.each]
        assert [one.chance for one in mine.each] == pytest.approx([one.chance for one in theirs.each], abs=1e-3)
    assert both[0].pieces("four words of it") == both[1].pieces("four words of it") == 4


def test_an_ingest_does_what_changed_and_keeps_the_numbers(place: Place) -> None:
    place.make(DOCUMENTS[:12])
    before = held(place)

    again = ReadingEmbedder()
    same = place.make(DOCUMENTS[:12], embedder=again)
    assert (same.embedded, same.unchanged, again.texts) == (0, 12, [])

    once = ReadingEmbedder()
    one = place.make([*DOCUMENTS[:7], desk(7, "A zebra crosses."), *DOCUMENTS[8:11]], embedder=once)
    assert (one.embedded, one.changed, one.removed, one.unchanged) == (1, 1, 1, 10)
    assert "Desk 7\nA zebra crosses." in once.texts
    now = held(place)
    ((number, text),) = now.pop("d7")
    assert text == "A zebra crosses."
    assert number > max(number for chunks in before.values() for number, _ in chunks)
    assert now == {doc_id: chunks for doc_id, chunks in before.items() if doc_id not in ("d7", "d11")}
    with closing(place.opened()) as index:
        assert index.search([View("zebra")], k=1).hits[0].chunk.doc_id == "d7"
        assert "d11" not in {hit.chunk.doc_id for hit in index.search([View("What is fee11?")], k=60).hits}


def test_what_a_document_says_no_more_is_gone(place: Place) -> None:
    long = replace(DOCUMENTS[3], title="A desk with a very long name " * 20, digest="long")
    place.make([*DOCUMENTS[:3], long])
    place.make([*DOCUMENTS[:3], replace(long, title="Short", extra={"year": 1999}, category="", digest="short")])
    with closing(place.opened()) as index:
        (chunk,) = index.fetch([4])
        assert (chunk.title, chunk.category, chunk.extra) == ("Short", "", {"year": 1999})
        assert index.search([View("What is fee3?")], k=1).hits[0].chunk == chunk
        assert "late_fee" in index.fields


def test_what_cannot_be_read_now_stays(place: Place) -> None:
    place.make(DOCUMENTS[:8])
    before = held(place)
    place.make(DOCUMENTS[:4], lost=["desks/d4.md", "desks/d5.md"])
    assert held(place) == {f"d{n}": before[f"d{n}"] for n in range(6)}
    told = place.make(DOCUMENTS[:4], emptied={"desks/d4.md": Failure("desks/d4.md", "has no text now")})
    assert held(place) == {f"d{n}": before[f"d{n}"] for n in range(5)}
    assert [one.path for one in told.emptied] == ["desks/d4.md"]


def test_a_file_that_another_one_doubles_is_no_removal(place: Place) -> None:
    place.make(DOCUMENTS[:3])
    merged = replace(DOCUMENTS[0], digest="with others", extra={"other_paths": "desks/d1.md\ndesks/d2.md"})
    told = place.make([merged], max_removed_share=0.0)
    assert (told.changed, told.removed, list(held(place))) == (1, 2, ["d0"])


def test_what_is_refused_or_only_tried_changes_nothing(place: Place) -> None:
    place.make(DOCUMENTS[:10])
    before = held(place)

    told = place.make(DOCUMENTS[5:12], dry_run=True)
    assert (told.added, told.removed, told.unchanged) == (2, 5, 5)
    with pytest.raises(RemovalsRefused, match=r"would remove 8 of the 10 documents .*desks/d2\.md.*--allow-removals"):
        place.make(DOCUMENTS[:2], max_removed_share=0.5)
    for nothing in ([], [desk(1, " ")]):
        with pytest.raises(SourceUnreadable, match="no text in any of them"):
            place.make(nothing)
    with pytest.raises(SourceUnreadable, match="same doc_id"):
        place.make([desk(1), desk(1)])

    assert held(place) == before
    moved = [replace(one, doc_id=f"m{one.doc_id}", path=f"moved/{one.path}") for one in DOCUMENTS[:10]]
    assert place.make(moved, max_removed_share=0.5).documents == 10


# An index on a server whose words are counted


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory, chroma: chroma_server.ChromaServer) -> Iterator[Any]:
    place = served(tmp_path_factory.mktemp("counted"), chroma)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("knowledge.build.server_ingest.TABLE_CHUNKS", 0)
        place.make(DOCUMENTS)
    index = place.opened()
    yield index
    index.close()


def test_counted_words_find_the_same_best_chunk(both: list[Any], counted: ServerIndex) -> None:
    questions = [f"What is fee{n} for the {WORDS[n % 8]}?" for n in range(48)]
    best = [[index.search([View(q)], k=1).hits[0].chunk.number for q in questions] for index in (both[0], counted)]
    assert sum(one == other for one, other in zip(*best, strict=True)) >= 45
    assert dict(counted.fields) == dict(both[0].fields)


def test_counted_words_respect_filters(both: list[Any], counted: ServerIndex) -> None:
    def numbers(index: Any, where: Any) -> Sequence[int]:
        return sorted(hit.chunk.number for hit in index.search([View("What is fee7?")], k=60, where=where).hits)

    for where, _ in FILTERS:
        assert numbers(counted, where) == numbers(both[0], where)
    lean = [View("The desk opens"), View("fee7", 0.5, {"category": {"$eq": "03"}})]
    one, other = (index.search(lean, k=5).hits for index in (both[0], counted))
    assert [hit.chunk.category for hit in other] == [hit.chunk.category for hit in one]


def test_a_rare_word_is_found_by_the_server_that_the_vectors_miss(counted: ServerIndex) -> None:
    away = -ReadingEmbedder().embed([f"{DOCUMENTS[37].title}\n{DOCUMENTS[37].text}"])[0]
    found = counted.candidates("Fee37", away, k=3)
    best = int(np.argmax(found.bm25.values))
    assert counted.fetch([found.numbers[best]])[0].doc_id == "d37"
    assert found.dense.values[best] < 0
    assert len(found.numbers) == 4
