"""The index layer: the current state of a sound index, and nothing beside it."""

from contextlib import closing
from pathlib import Path
from typing import Any

import chromadb
import pytest
from fakes_embedding import HashingEmbedder
from made_files import write_files

from knowledge.build.ingest import ingest
from knowledge.model.errors import IndexDamaged, IndexUnavailable
from knowledge.model.values import Document
from knowledge.open.index import open_index
from knowledge.open.place import read_manifest
from knowledge.open.source import verify
from layerbuilder import __main__ as program
from layerbuilder import index as index_layer


def document(text: str) -> Document:
    return Document(doc_id="d", title="Permits", text=text, digest=f"{len(text):064x}", path="d.md")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index that was replaced once, so that it has an earlier state and a lock beside the current one."""
    target = tmp_path / "index"
    for text in ("Permits take five working days.", "Permits take six working days, or seven."):
        ingest([document(text)], target=target, embedder=HashingEmbedder())
    return target


def files(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_the_command_copies_the_current_state_alone_and_whole_or_says_why_not(
    index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = read_manifest(index)
    assert manifest is not None
    out = tmp_path / "layer"
    write_files(index, {"data-0000000000ff/old.bin": "an earlier state", ".lock": ""})
    write_files(out, {"index/data-000000000001/x": "of the build before"})

    assert program.main(["index", "--index", str(index), "--out", str(out)]) == 0

    assert {path.name for path in out.iterdir()} == {"index"}
    assert {path.name for path in (out / "index").iterdir()} == {"manifest.json", manifest.data}
    verify(out / "index" / manifest.data, manifest.files)
    copied = files(out / "index")
    assert set(copied) == {"manifest.json", *(f"{manifest.data}/{name}" for name in manifest.files)}
    assert copied.items() <= files(index).items()
    assert program.main(["index", "--index", str(tmp_path / "none"), "--out", str(out)]) == 1
    assert "layerbuilder: " in capsys.readouterr().err


@pytest.mark.parametrize("how", ["altered", "truncated", "missing"])
def test_a_damaged_index_is_refused_and_nothing_is_written(index: Path, tmp_path: Path, how: str) -> None:
    manifest = read_manifest(index)
    assert manifest is not None
    name = max(manifest.files, key=lambda name: manifest.files[name].bytes)
    victim = index / manifest.data / name
    content = victim.read_bytes()
    if how == "missing":
        victim.unlink()
    else:
        victim.write_bytes(bytes([content[0] ^ 1]) + content[1:] if how == "altered" else content[:-1])
    out = tmp_path / "layer"
    with pytest.raises(IndexDamaged, match=name.rpartition("/")[2]):
        index_layer.build(out, index=index)
    assert not out.exists()


def foreign(place: Path, *, dimensions: int = 384, collection: str = "waypoint_kb") -> Path:
    """A Chroma folder as a program of somebody else's leaves it: open, with another file in it."""
    client = chromadb.PersistentClient(str(place))
    made = client.create_collection(collection, embedding_function=None)
    vectors = HashingEmbedder(dimensions=dimensions).embed(["Permits take five days.", "Fees are due at once."])
    made.add(ids=["a", "b"], embeddings=vectors, documents=["Permits take five days.", "Fees are due at once."])
    (place / "notes.txt").write_text("not for deployment", encoding="utf-8")
    return place


def test_a_chroma_folder_made_elsewhere_is_copied_and_opens(tmp_path: Path) -> None:
    embedder = HashingEmbedder(model="all-MiniLM-L6-v2")
    index_layer.build(tmp_path / "layer", index=foreign(tmp_path / "theirs"), embedder=embedder)
    copied = tmp_path / "layer" / "index"
    assert "notes.txt" not in files(copied)
    for path in copied.rglob("*"):
        path.chmod(0o555)
    with closing(open_index(copied, embedder=embedder)) as opened:
        hits = opened.nearest(embedder.embed(["five days"])[0], k=1)
        assert (opened.chunks, hits[0].chunk.text) == (2, "Permits take five days.")


@pytest.mark.parametrize(
    ("made", "says"), [({"dimensions": 64}, "64"), ({"collection": "theirs"}, "waypoint_kb"), (None, "not a database")]
)
def test_what_the_function_could_not_open_is_refused(tmp_path: Path, made: dict[str, Any] | None, says: str) -> None:
    place = tmp_path / "theirs"
    if made is None:
        write_files(place, {"chroma.sqlite3": "no database"})
    else:
        foreign(place, **made)
    with pytest.raises(IndexUnavailable, match=says):
        index_layer.build(tmp_path / "layer", index=place, embedder=HashingEmbedder(model="all-MiniLM-L6-v2"))
    assert not (tmp_path / "layer").exists()
