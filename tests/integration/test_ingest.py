"""Ingest against a real Chroma on a real disk: incremental, exact, one writer at a time.

An index of which little changed is changed in a copy, and answers as one that is made anew.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes_embedding import HashingEmbedder, ReadingEmbedder

from knowledge.build import previous
from knowledge.build.durable import LOCK_NAME
from knowledge.build.embed import EMBED_BATCH_TEXTS
from knowledge.build.ingest import ingest, remove
from knowledge.build.summary import Summary
from knowledge.cut import chunking
from knowledge.embedding import MiniLM
from knowledge.engines.collection import Collection
from knowledge.model.errors import IndexMismatch, RemovalsRefused, SourceUnreadable
from knowledge.model.manifest import Manifest
from knowledge.model.values import Document, Embedder, Scalar, TextEncoding, View
from knowledge.open.index import open_index
from knowledge.open.place import read_manifest
from knowledge.open.source import verify


def document(name: str, *sections: str, **extra: Scalar) -> Document:
    text = "\n\n".join(f"## {s}\n\nAll about {s} of {name}." for s in sections)
    return Document(
        doc_id=name, title=name, text=text, digest=repr((text, extra)), path=f"{name}.md",
        category="01_regulatory", extra=extra,
    )  # fmt: skip


DOCUMENTS = [document("permits", "import", "export"), document("tariffs", "sea", "air"), document("zones", "free")]


def run(target: Path, documents: list[Document], embedder: HashingEmbedder | None = None, **options: Any) -> Summary:
    return ingest(documents, target=target, embedder=embedder or HashingEmbedder(), **options)


def contents(target: Path, embedder: Embedder | None = None) -> dict[int, tuple[str, str]]:
    with closing(open_index(target, embedder=embedder or HashingEmbedder())) as index:
        return {chunk.number: (chunk.doc_id, chunk.section) for chunk in index.iter_chunks()}


def counts(summary: Summary) -> tuple[int, int, int, int]:
    return summary.added, summary.changed, summary.removed, summary.unchanged


def snapshot(target: Path) -> dict[str, tuple[bytes, int]]:
    return {
        path.relative_to(target).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in target.rglob("*")
        if path.is_file() and path.name != LOCK_NAME
    }


def test_when_nothing_changed_the_index_is_not_touched(tmp_path: Path) -> None:
    first = run(tmp_path, DOCUMENTS)
    assert (first.documents, first.chunks, first.embedded, counts(first)) == (3, 5, 5, (3, 0, 0, 0))
    before = snapshot(tmp_path)
    embedder = HashingEmbedder()

    second = run(tmp_path, DOCUMENTS[::-1], embedder)

    assert counts(second) == (0, 0, 0, 3)
    assert (second.version, second.chunks, second.embedded) == (first.version, 5, 0)
    assert embedder.calls == 0
    assert snapshot(tmp_path) == before


def test_only_what_changed_is_embedded_and_the_removed_disappears(tmp_path: Path) -> None:
    run(tmp_path, DOCUMENTS)
    embedder = HashingEmbedder()

    summary = run(
        tmp_path, [document("permits", "import", "transit"), DOCUMENTS[1], document("news", "today")], embedder
    )

    assert counts(summary) == (1, 1, 1, 1)
    assert sorted(embedder.texts) == [
        "news\n## today\n\nAll about today of news.",
        "permits\n## transit\n\nAll about transit of permits.",
    ]
    assert contents(tmp_path) == {
        1: ("permits", "import"), 3: ("tariffs", "sea"), 4: ("tariffs", "air"), 6: ("permits", "transit"),
        7: ("news", "today"),
    }  # fmt: skip


def test_new_metadata_reaches_the_index_without_embedding(tmp_path: Path) -> None:
    run(tmp_path, DOCUMENTS)
    embedder = HashingEmbedder()
    summary = run(tmp_path, [document("permits", "import", "export", year=2026), *DOCUMENTS[1:]], embedder)
    assert (summary.changed, summary.embedded) == (1, 0)
    with closing(open_index(tmp_path, embedder=embedder, warm=False)) as index:
        assert index.fields["year"] == "int"
        found = index.nearest(embedder.embed(["export"])[0], k=5, where={"year": {"$gte": 2026}})
        assert sorted(hit.chunk.number for hit in found) == [1, 2]


def test_another_model_embeds_everything_anew_and_keeps_the_numbers(tmp_path: Path) -> None:
    run(tmp_path, DOCUMENTS)
    before = contents(tmp_path)
    other = HashingEmbedder(model="other")
    summary = run(tmp_path, DOCUMENTS, other)
    assert (summary.embedded, summary.unchanged) == (5, 3)
    assert contents(tmp_path, other) == before


def test_other_chunk_sizes_are_a_rebuild_that_embeds_new_texts_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = replace(document("long", "a"), text="# long\n\n" + "A sentence of some length. " * 20)
    run(tmp_path, [*DOCUMENTS, long])
    monkeypatch.setattr("knowledge.build.plan.MAX_CHARS", 200)
    monkeypatch.setattr("knowledge.build.plan.OVERLAP_CHARS", 0)
    summary = run(tmp_path, [*DOCUMENTS, long])
    assert summary.unchanged == 4
    assert summary.embedded == summary.chunks - 5 > 0


def test_an_unusable_index_is_rebuilt_and_its_numbers_stay_used(tmp_path: Path) -> None:
    run(tmp_path, DOCUMENTS)
    database = next(tmp_path.glob("data-*/chroma/chroma.sqlite3"))
    database.write_bytes(database.read_bytes()[:-1] + b"x")
    summary = run(tmp_path, DOCUMENTS)
    assert counts(summary) == (3, 0, 0, 0)
    assert list(contents(tmp_path)) == [6, 7, 8, 9, 10]


def test_a_document_without_text_is_named_and_not_counted(tmp_path: Path) -> None:
    documents = [*DOCUMENTS, Document(doc_id="e", title="e", text=" ", digest="e", path="empty.md")]
    for summary in (run(tmp_path, documents), run(tmp_path, documents)):
        assert summary.empty == ("empty.md",)
        assert summary.documents == summary.added + summary.unchanged == 3


def test_a_document_that_cannot_be_cut_is_named_each_time_and_indexed_when_it_can_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def split(text: str, **options: Any) -> tuple[chunking.TextPiece, ...]:
        if text == DOCUMENTS[1].text:
            raise ZeroDivisionError
        return chunking.split_text(text, **options)

    with monkeypatch.context() as broken:
        broken.setattr("knowledge.build.plan.split_text", split)
        for summary in (run(tmp_path, DOCUMENTS), run(tmp_path, DOCUMENTS)):
            assert [failure.path for failure in summary.failed] == [DOCUMENTS[1].path]
            assert (summary.documents, summary.empty) == (2, ())
        with pytest.raises(SourceUnreadable, match="1 could not be cut") as nothing:
            run(tmp_path, DOCUMENTS[1:2])
        assert [failure.path for failure in nothing.value.failed] == [DOCUMENTS[1].path]

    summary = run(tmp_path, DOCUMENTS)
    assert (summary.documents, summary.added, summary.failed) == (3, 1, ())


def test_equal_texts_are_embedded_once_and_progress_counts_what_is_embedded(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    many = [document(f"d{n}", "x", "y") for n in range(EMBED_BATCH_TEXTS)]
    twin = replace(many[0], doc_id="twin", path="twin.md")
    summary = run(tmp_path, [*many, twin], on_progress=lambda *at: seen.append(at))
    assert (summary.chunks, summary.embedded) == (258, 256)
    assert seen == [(128, 256), (256, 256)]


def test_on_a_mounted_file_system_what_was_replaced_goes_by_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("knowledge.build.write.MOUNTS", str(tmp_path))
    for count in (1, 2, 3):
        run(tmp_path, DOCUMENTS[:count])
    kept = sorted(tmp_path.glob("data-*"))
    assert len(kept) == 3, "each was replaced just now"

    current = json.loads((tmp_path / "manifest.json").read_text())["data"]
    old = next(path for path in kept if path.name != current)
    os.utime(old, (time.time() - 901,) * 2)
    run(tmp_path, DOCUMENTS[:2])

    assert set(tmp_path.glob("data-*")) > {*kept} - {old}
    assert not old.exists()


def test_the_data_folder_before_is_kept_for_one_ingest_and_leftovers_go(tmp_path: Path) -> None:
    run(tmp_path, DOCUMENTS[:1])
    first = {path.name for path in tmp_path.glob("data-*")}
    (tmp_path / "data-0dead").mkdir()
    (tmp_path / "data-0dead" / "half").write_text("x")

    run(tmp_path, DOCUMENTS[:2])
    second = {path.name for path in tmp_path.glob("data-*")}
    run(tmp_path, DOCUMENTS)
    third = {path.name for path in tmp_path.glob("data-*")}

    assert len(first) == 1 < len(second) == len(third) == 2
    assert first < second
    assert not first & third
    assert json.loads((tmp_path / "manifest.json").read_text())["data"] in third


def test_a_failing_embedder_leaves_the_old_index_and_no_litter(tmp_path: Path) -> None:
    class Failing(HashingEmbedder):
        def embed(self, texts: object) -> object:  # type: ignore[override]
            raise MemoryError

    run(tmp_path, DOCUMENTS)
    before = snapshot(tmp_path)

    with pytest.raises(MemoryError):
        run(tmp_path, [document("new", "x")], Failing())

    assert snapshot(tmp_path) == before


def test_a_chroma_folder_made_elsewhere_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "chroma.sqlite3").write_bytes(b"theirs")
    with pytest.raises(IndexMismatch, match="made elsewhere"):
        run(tmp_path, DOCUMENTS)
    assert (tmp_path / "chroma.sqlite3").read_bytes() == b"theirs"
    assert not list(tmp_path.glob("data-*"))


@pytest.mark.slow
def test_a_stray_dotenv_or_variable_does_not_reach_chroma(tmp_path: Path) -> None:
    for number, line in enumerate((b"CHROMA_SERVER_NOFILE=abc\n", b"\xff\xfe\x00", b"CHROMA_API_IMPL=nowhere\n")):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / ".env").write_bytes(line)
    code = (
        "import os, sys; sys.path[:0] = eval(sys.argv[1]); from pathlib import Path\n"
        "from knowledge.engines.collection import Collection; from pydantic_settings import BaseSettings\n"
        "for folder in ('0', '../1', '../2'):\n"
        "    os.chdir(folder)\n"
        "    Collection.create(Path('c'), 'abc').close()\n"
        "assert '_from_arguments' not in repr(BaseSettings.__init__)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, repr(sys.path)], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={"MIGRATIONS": "nonsense", "PATH": ""},
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")
    assert len(list(tmp_path.glob("*/c/chroma.sqlite3"))) == 3


def test_a_text_that_pages_share_hides_no_removal(tmp_path: Path) -> None:
    notice = "## Notice\n\nAll of this is for information only."
    pages = [replace(page, text=f"{page.text}\n\n{notice}", digest=f"{page.digest} and notice") for page in DOCUMENTS]
    run(tmp_path, pages)
    with pytest.raises(RemovalsRefused, match="remove 2 of the 3 documents"):
        run(tmp_path, pages[:1], max_removed_share=0.5)


class Choking(MiniLM):
    """Cannot read a text that holds the word."""

    def read(self, text: str) -> TextEncoding:
        if "xyzzy" in text:
            raise RuntimeError("no such shape")
        return super().read(text)


def test_what_the_model_cannot_read_is_one_documents_trouble(tmp_path: Path) -> None:
    ingest([document("a", "fine"), document("b", "fine")], target=tmp_path, embedder=Choking())
    after = [document("a", "fine", "xyzzy"), document("b", "other"), document("c", "xyzzy")]
    summary = ingest(after, target=tmp_path, embedder=Choking())
    assert contents(tmp_path, Choking()) == {1: ("a", "fine"), 4: ("b", "other")}
    assert [failure.path for failure in summary.failed] == ["a.md", "c.md"]
    assert summary.failed[0].error == "cannot be embedded (at 'xyzzy'): unexpected RuntimeError: no such shape"
    assert (summary.kept, counts(summary)) == (1, (0, 1, 0, 1))


# A little change


WORDS = ["harbour", "customs", "permit", "tariff", "vessel", "invoice", "cargo", "broker", "quay", "crane", "pilot"]
ASKED = ["harbour customs rule 7", "the crane of the pilot", "new rules by night", "number12 invoice", "whales"]


def rule(number: int, said: str = "", **extra: str) -> Document:
    first, second = WORDS[number % 11], WORDS[number % 7]
    text = f"## On {first}\n\nThe {first} rule is number{number} of the {second}.{said}\n\n## Fees\n\nOf {second}."
    return Document(doc_id=f"d{number}", title=f"Rule {number}", text=text, digest=repr((text, extra)),
                    path=f"d{number}.md", extra=extra)  # fmt: skip


BEFORE = [rule(number) for number in range(20)]  # fewer chunks than candidates: of equal ones no other is left out
AFTER = [
    *(replace(BEFORE[0], doc_id="copy", path="copy.md", digest="copy"), rule(99, " New rules apply by night.")),
    *(rule(3, " New rules apply by day."), rule(4, year="2026"), replace(BEFORE[7], title="Other", digest="7")),
    *(one for number, one in enumerate(BEFORE) if number not in {3, 4, 7, 8}),
]


def update_with(target: Path, documents: list[Document], share: float, embedder: Embedder | None = None) -> Summary:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(previous, "UPDATE_SHARE", share)
        return ingest(documents, target=target, embedder=embedder or ReadingEmbedder())


def manifest_of(target: Path) -> Manifest:
    found = read_manifest(target)
    assert found is not None
    return found


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """The same index twice."""
    update_with(tmp_path / "updated", BEFORE, 0)
    shutil.copytree(tmp_path / "updated", tmp_path / "anew")
    return tmp_path / "updated", tmp_path / "anew"


def assert_same_answers(updated: Path, anew: Path) -> None:
    embedder = ReadingEmbedder()
    with closing(open_index(updated, embedder=embedder)) as one, closing(open_index(anew, embedder=embedder)) as other:
        assert list(one.iter_chunks()) == list(other.iter_chunks())
        assert one.fields == other.fields
        for text in ASKED:
            vector = embedder.embed([text])[0]
            for where in (None, {"year": "2026"}):
                near, also = (index.nearest(vector, k=30, where=where) for index in (one, other))
                assert [hit.score for hit in near] == pytest.approx([hit.score for hit in also], abs=1e-6)
            now, made = (index.search([View(text)], k=10) for index in (one, other))
            assert [hit.chunk.number for hit in now.hits] == [hit.chunk.number for hit in made.hits]
            assert [hit.parts for hit in now.hits] == [pytest.approx(hit.parts, abs=1e-5) for hit in made.hits]


def test_what_changed_is_put_into_a_copy_that_answers_as_one_made_anew(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    updated, anew = two
    before = manifest_of(updated)
    made = update_with(anew, AFTER, 0)
    embedder = ReadingEmbedder()

    monkeypatch.setattr(Collection, "create", lambda *_: pytest.fail("made anew"))
    now = update_with(updated, AFTER, 1, embedder)

    assert (now.added, now.changed, now.removed, now.unchanged) == (2, 3, 1, 16)
    assert (now.version, now.chunks) == (made.version, made.chunks)
    assert len(set(embedder.texts)) < 20
    assert_same_answers(updated, anew)
    manifest = manifest_of(updated)
    assert manifest.calibration == before.calibration
    assert manifest_of(anew).calibration != before.calibration
    assert (manifest.updated, manifest_of(anew).updated) == (12, 0)
    verify(updated / manifest.data, manifest.files)  # to ask questions wrote nothing
    verify(updated / before.data, before.files)


def test_removals_alone_are_on_disk_too(two: tuple[Path, Path]) -> None:
    updated, anew = two
    update_with(anew, BEFORE[2:], 0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(previous, "UPDATE_SHARE", 1)
        remove(updated, doc_ids={"d0", "d1"}, embedder=ReadingEmbedder())

    assert_same_answers(updated, anew)
    manifest = manifest_of(updated)
    assert manifest.updated == 4
    verify(updated / manifest.data, manifest.files)


def test_changes_add_up_until_all_is_made_anew(two: tuple[Path, Path]) -> None:
    target, _ = two
    counts = []
    for generation in range(1, 4):
        update_with(target, [rule(0, f" Again {generation}."), *BEFORE[1:]], 0.12)
        counts.append(manifest_of(target).updated)
    assert counts == [2, 4, 0]
