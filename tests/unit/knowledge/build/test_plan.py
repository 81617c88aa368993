"""The plan of an index: numbers are kept, never reused; the embedded text carries the title once."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from fakes_embedding import ReadingEmbedder
from hypothesis import given
from hypothesis import strategies as st

from knowledge.build.plan import Plan, PreviousChunks, content_version, plan
from knowledge.build.previous import OldIndex, old_index
from knowledge.build.server_progress import ChunkTotals, IngestProgress
from knowledge.build.server_writer import VersionWriter
from knowledge.cut import chunking
from knowledge.cut.chunking import TextPiece
from knowledge.embedding import embed_text
from knowledge.engines.metadata import to_metadata
from knowledge.model.errors import SourceUnreadable
from knowledge.model.manifest import SourceRecord
from knowledge.model.values import Document, Failure


def document(doc_id: str, *paragraphs: str, path: str = "") -> Document:
    text = "\n\n".join(f"## {p}\n\nText of {p}." for p in paragraphs)
    return Document(doc_id=doc_id, title=f"Title {doc_id}", text=text, digest=text, path=path or f"{doc_id}.md")


def planned(documents: list[Document], previous: PreviousChunks | None = None) -> Plan:
    return plan(documents, previous=previous or PreviousChunks())


def as_previous(made: Plan) -> PreviousChunks:
    return PreviousChunks.of(made.chunks, made.sources, made.next_number)


def numbers_of(made: Plan) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for chunk in made.chunks:
        found.setdefault(chunk.section, []).append(chunk.number)
    return found


def test_numbers_start_at_one_in_the_order_of_the_documents() -> None:
    made = planned([document("a", "x", "y"), replace(document("0"), text=" \n\n "), document("b", "z")])
    assert [(c.number, c.doc_id, c.section, c.chunk_index, c.chunk_count) for c in made.chunks] == [
        (1, "a", "x", 0, 2), (2, "a", "y", 1, 2), (3, "b", "z", 0, 1)]  # fmt: skip
    assert made.next_number == 4
    assert [(source.doc_id, source.chunks) for source in made.sources] == [("a", 2), ("0", 0), ("b", 1)]


def test_of_equal_texts_in_a_document_each_keeps_its_number() -> None:
    before = as_previous(planned([document("a", "x", "x", "y")]))
    assert numbers_of(planned([document("a", "x", "x", "x", "y")], before)) == {"x": [1, 2, 4], "y": [3]}
    assert numbers_of(planned([document("a", "x", "y")], before)) == {"x": [1], "y": [3]}


SETS = st.dictionaries(st.sampled_from("abc"), st.lists(st.sampled_from(["p", "q", "r", "s"]), max_size=5), max_size=3)


@given(history=st.lists(SETS, min_size=2, max_size=6))
def test_over_any_history_numbers_are_unique_kept_and_never_reused(history: list[dict[str, list[str]]]) -> None:
    ever: dict[int, tuple[str, str]] = {}
    previous = PreviousChunks()
    for state in history:
        made = planned([document(name, *sections) for name, sections in state.items()], previous)

        now = [(c.doc_id, c.text) for c in made.chunks]
        kept = [min(len(numbers), now.count(key)) for key, numbers in previous.numbers.items()]
        assert len({c.number for c in made.chunks}) == len(made.chunks)
        assert sum(c.number < previous.next_number for c in made.chunks) == sum(kept)
        for chunk in made.chunks:
            assert ever.setdefault(chunk.number, (chunk.doc_id, chunk.text)) == (chunk.doc_id, chunk.text)
        previous = as_previous(made)


def test_two_documents_with_one_doc_id_are_refused_by_name() -> None:
    with pytest.raises(SourceUnreadable, match=r"'y\.md' and 'x\.md' have the same doc_id 'a'"):
        planned([document("a", "x", path="x.md"), document("a", "y", path="y.md")])


@pytest.mark.parametrize(
    ("path", "pieces"), [("a.md", 2), ("a.MD", 2), ("A.TXT", 1), ("corpus.jsonl", 1), ("corpus.jsonl#7", 1)]
)
def test_plain_texts_are_not_cut_at_headings(path: str, pieces: int) -> None:
    assert planned([document("a", "x", "y", path=path)]).sources[0].chunks == pieces


@pytest.mark.parametrize(
    ("url", "anchors", "expected"),
    [
        ("https://x.test/a", "github", "https://x.test/a#x"),
        ("https://x.test/a", "", "https://x.test/a"),
        ("https://x.test/a#b", "github", "https://x.test/a#b"),
        ("", "github", ""),
    ],
)
def test_a_section_has_an_address_of_its_own_where_the_site_s_anchors_are_known(
    url: str, anchors: str, expected: str
) -> None:
    assert planned([replace(document("a", "x"), url=url, anchors=anchors)]).chunks[0].url == expected


def test_the_chunks_of_a_thread_have_the_writers_and_days_of_their_messages() -> None:
    text = "## Ola, 2026-05-12\n\nYes.\n\n## Ray, Kay, 2026-05-11\n\nNo?\n\n## 2026-05-10\n\nIt?\n\n## Jo\n\nOh."
    extra = {"author": "Ola", "date": "2026-05-12T09:00:00", "newest_message": "Ola, 2026-05-12"}
    thread = replace(document("a", "x"), text=text, dated=20260512, extra=extra)
    dated = [(one.dated, one.extra["author"], one.extra["date"]) for one in planned([thread]).chunks]
    assert dated == [
        (20260512, "Ola", "2026-05-12"),
        (20260511, "Ray, Kay", "2026-05-11"),
        (20260510, "", "2026-05-10"),
        (20260512, "Ola", "2026-05-12T09:00:00"),
    ]


def test_lone_surrogates_are_replaced_because_nothing_can_store_them() -> None:
    odd = Document(
        doc_id="a\udc80", title="T\ud800", text="x\udfff", digest="d", path="\udc80.md",
        source_urls=("https://\ud800",), extra={"k\ud800": "v\ud800", "n": 1},
    )  # fmt: skip
    chunk = planned([odd]).chunks[0]
    assert (chunk.doc_id, chunk.title, chunk.text, chunk.path) == ("a?", "T?", "x?", "?.md")
    assert chunk.source_urls == ("https://?",)
    assert chunk.extra == {"k?": "v?", "n": 1}


@pytest.mark.parametrize(
    ("title", "text", "embedded"),
    [
        ("Permits", "Body.", "Permits\nBody."),
        ("Permits", "## Permits\nBody.", "## Permits\nBody."),
        ("Permits", "# Permits and more\n\nBody.", "Permits\n# Permits and more\n\nBody."),
        ("Permits", "Permits are needed.", "Permits\nPermits are needed."),
        ("", "Body.", "Body."),
    ],
)
def test_the_embedded_text_has_the_title_once(title: str, text: str, embedded: str) -> None:
    assert embed_text(title, text) == embedded


def test_the_version_is_that_of_content_and_settings() -> None:
    chunks = planned([document("a", "x", "y")]).chunks
    version = content_version(chunks, model="m")
    first, second = chunks
    others = ([replace(first, text="else"), second], [replace(first, category="else"), second],
              [replace(first, number=9), second], [first])  # fmt: skip

    assert version == content_version(planned([document("a", "x", "y")]).chunks, model="m")
    changed = {content_version(chunks, model="n"), *(content_version(other, model="m") for other in others)}
    assert len(changed - {version}) == 5
    assert to_metadata(chunks[0])["chunk_number"] == 1


# What stays as it was


A_AND_SUB = [document("a", "x"), document("sub/b", "y"), document("sub/c", "z"), document("d", "w")]


@pytest.mark.parametrize(
    ("before", "now", "lost", "numbers", "sources"),
    [
        (A_AND_SUB, [document("a", "new")], ["sub", "e.md"], {"new": [5], "y": [2], "z": [3]}, ["a", "sub/b", "sub/c"]),
        (A_AND_SUB[:2], [], [""], {"x": [1], "y": [2]}, ["a", "sub/b"]),
        ([document("a", "x", path="old/a.md")], [document("a", "y")], ["old"], {"y": [2]}, ["a"]),
    ],
    ids=["a folder", "the given folder itself", "but not what was read under another path"],
)
def test_what_could_not_be_read_keeps_its_chunks_and_their_numbers(
    before: list[Document], now: list[Document], lost: list[str], numbers: dict[str, list[int]], sources: list[str]
) -> None:
    after = plan(now, previous=as_previous(planned(before)), lost=lost)
    assert numbers_of(after) == numbers
    assert [source.doc_id for source in after.sources] == sources
    assert after.kept == set(sources) - {document.doc_id for document in now}


def test_a_document_that_cannot_be_cut_stays_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def split(text: str, **options: Any) -> tuple[TextPiece, ...]:
        if options["title"] == "Title a":
            raise LookupError("no such page")
        return chunking.split_text(text, **options)

    before = planned([document("a", "x"), document("b", "y")])
    monkeypatch.setattr("knowledge.build.plan.split_text", split)

    after = planned([document("a", "new"), document("b", "y")], as_previous(before))

    assert numbers_of(after) == {"x": [1], "y": [2]}
    error = "cannot be cut into chunks: unexpected LookupError: no such page"
    assert (after.kept, after.failed) == ({"a"}, (Failure("a.md", error),))  # type: ignore[comparison-overlap]
    assert numbers_of(planned([document("a", "new"), document("b", "y")])) == {"y": [1]}


def test_a_document_that_cannot_be_embedded_stays_as_it_was_and_a_new_one_is_left_out() -> None:
    before = as_previous(planned([document("a", "x"), document("b", "y")]))
    made = planned([document("a", "new"), document("b", "y"), document("c", "z")], before)
    after = made.without({"a": "no", "c": "no"}, before)
    assert numbers_of(after) == {"x": [1], "y": [2]}
    assert [(failure.path, failure.error) for failure in after.failed] == [("a.md", "no"), ("c.md", "no")]
    assert (after.kept, [source.doc_id for source in after.sources]) == (frozenset({"a"}), ["b", "a"])
    assert after.without({"a": "still"}, before).chunks == tuple(c for c in after.chunks if c.doc_id == "b")


def test_a_document_does_not_take_the_id_of_one_that_cannot_be_read_now() -> None:
    before = planned([document("x", "p", path="a.md"), document("b", "q")])
    after = plan([document("x", "new", path="b.md")], previous=as_previous(before), lost={"a.md"})
    assert after.chunks == before.chunks
    assert after.kept == {"x", "b"}
    assert after.failed == (Failure("b.md", "has the doc_id 'x' of 'a.md', which has no text to read now"),)


# An ingest to a server that is tried again


WRITTEN = SourceRecord(path="a.md", digest="1", doc_id="a", chunks=2)


def test_reading_documents_again_keeps_what_is_written_of_others(tmp_path: Path) -> None:
    progress = IngestProgress(ChunkTotals.zero(4, 8), next_number=3, sources=[WRITTEN])
    nothing = cast(Any, None)
    VersionWriter(nothing, "x", None, nothing, ReadingEmbedder(), plan, tmp_path).rewrite([], progress)
    assert progress.sources == [WRITTEN]


def test_progress_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    progress = IngestProgress(ChunkTotals.zero(4, 8), next_number=3, copied=300, slabs=2, sources=[WRITTEN], kept=["b"])
    progress.totals.numbers.update({1, 2})
    progress.save(tmp_path / "work")
    again = IngestProgress.load(tmp_path / "work")
    assert again is not None
    assert (again.next_number, again.copied, again.slabs) == (3, 300, 2)
    assert (again.sources, again.kept, again.totals.numbers) == ([WRITTEN], ["b"], {1, 2})
    assert IngestProgress.load(tmp_path / "none") is None


# A manifest that an ingest cannot use


DAMAGED = '{"format": 3, "data": "data-00ff", "next_number": 7, "fil'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (DAMAGED, OldIndex(next_number=7, data="data-00ff")),
        (DAMAGED.replace("3", "2") + '": {}}', OldIndex(next_number=7, data="data-00ff")),
        (DAMAGED + DAMAGED.replace("7", "9"), OldIndex(next_number=9, data="data-00ff")),
        ("\xff\xfe", OldIndex()),
    ],
)
def test_numbers_and_data_folder_are_found_in_a_damaged_manifest(tmp_path: Path, text: str, found: OldIndex) -> None:
    (tmp_path / "manifest.json").write_bytes(text.encode("latin-1"))
    assert old_index(tmp_path) == found
