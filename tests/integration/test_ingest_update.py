"""An index of which little changed is changed in a copy, and answers as one that is made anew."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from fakes_embedding import ReadingEmbedder

from knowledge.build import update
from knowledge.build.ingest import ingest
from knowledge.build.remove import remove
from knowledge.build.summary import Summary
from knowledge.engines.embedded.collection import Collection
from knowledge.model.manifest import Manifest
from knowledge.model.values import Document, View
from knowledge.open.index import open_index
from knowledge.open.source import read_manifest, verify

WORDS = ["harbour", "customs", "permit", "tariff", "vessel", "invoice", "cargo", "broker", "quay", "crane", "pilot"]
ASKED = ["harbour customs rule 7", "the crane of the pilot", "new rules by night", "number12 invoice", "whales"]


def document(number: int, said: str = "", **extra: str) -> Document:
    first, second = WORDS[number % 11], WORDS[number % 7]
    text = f"## On {first}\n\nThe {first} rule is number{number} of the {second}.{said}\n\n## Fees\n\nOf {second}."
    return Document(doc_id=f"d{number}", title=f"Rule {number}", text=text, digest=repr((text, extra)),
                    path=f"d{number}.md", extra=extra)  # fmt: skip


BEFORE = [document(number) for number in range(20)]  # fewer chunks than candidates: of equal ones no other is left out
AFTER = [
    *(replace(BEFORE[0], doc_id="copy", path="copy.md", digest="copy"), document(99, " New rules apply by night.")),
    *(document(3, " New rules apply by day."), document(4, year="2026"), replace(BEFORE[7], title="Other", digest="7")),
    *(one for number, one in enumerate(BEFORE) if number not in {3, 4, 7, 8}),
]


def run(target: Path, documents: list[Document], share: float, embedder: ReadingEmbedder | None = None) -> Summary:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(update, "UPDATE_SHARE", share)
        return ingest(documents, target=target, embedder=embedder or ReadingEmbedder())


def manifest_of(target: Path) -> Manifest:
    found = read_manifest(target)
    assert found is not None
    return found


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """The same index twice."""
    run(tmp_path / "updated", BEFORE, 0)
    shutil.copytree(tmp_path / "updated", tmp_path / "anew")
    return tmp_path / "updated", tmp_path / "anew"


def assert_same_answers(updated: Path, anew: Path) -> None:
    embedder = ReadingEmbedder()
    one, other = (open_index(folder, embedder=embedder) for folder in (updated, anew))
    assert list(one.iter_chunks()) == list(other.iter_chunks())
    assert one.fields == other.fields
    for text in ASKED:
        vector = embedder.embed([text])[0]
        for where in (None, {"year": "2026"}):
            near, also = (index.nearest(vector, k=30, where=where, with_vectors=True) for index in (one, other))
            assert [hit.score for hit in near] == pytest.approx([hit.score for hit in also], abs=1e-6)
        now, made = (index.search([View(text)], k=10) for index in (one, other))
        assert [hit.chunk.number for hit in now.hits] == [hit.chunk.number for hit in made.hits]
        assert [hit.parts for hit in now.hits] == [pytest.approx(hit.parts, abs=1e-5) for hit in made.hits]
    one.close()
    other.close()


def test_what_changed_is_put_into_a_copy_that_answers_as_one_made_anew(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    updated, anew = two
    before = manifest_of(updated)
    made = run(anew, AFTER, 0)
    embedder = ReadingEmbedder()

    monkeypatch.setattr(Collection, "create", lambda *_: pytest.fail("made anew"))
    now = run(updated, AFTER, 1, embedder)

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
    run(anew, BEFORE[2:], 0)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(update, "UPDATE_SHARE", 1)
        remove(updated, doc_ids={"d0", "d1"}, embedder=ReadingEmbedder())

    assert_same_answers(updated, anew)
    manifest = manifest_of(updated)
    assert manifest.updated == 4
    verify(updated / manifest.data, manifest.files)


def test_changes_add_up_until_all_is_made_anew(two: tuple[Path, Path]) -> None:
    target, _ = two
    counts = []
    for generation in range(1, 4):
        run(target, [document(0, f" Again {generation}."), *BEFORE[1:]], 0.12)
        counts.append(manifest_of(target).updated)

    assert counts == [2, 4, 0]
