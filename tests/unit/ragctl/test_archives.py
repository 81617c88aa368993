"""Zip files among the documents: what is read of them, what is refused, and what a later ingest reads again."""

import io
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pytest

from knowledge.read.documents import ReadResult
from ragctl import archives
from ragctl.archives import Archives
from ragctl.ingest_request import IngestRequest
from ragctl.sources import read_sources

NUMBER = "103d4deadd2c80d39a5bc34d92cc7321"


def pack(files: Mapping[Any, Any]) -> bytes:
    data = io.BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as zipped:
        for name, content in files.items():
            zipped.writestr(name, content)
    return data.getvalue()


def read(folder: Path, *paths: str, exclude: tuple[str, ...] = ()) -> ReadResult:
    request = IngestRequest(paths=tuple(str(folder / path) for path in paths or ("",)), exclude=exclude)
    reading, readings = read_sources(request, cache=folder.parent / "cache", readings_path=folder.parent / "readings")
    readings.save()
    return reading


def paths(reading: ReadResult) -> list[str]:
    return [document.path for document in reading.documents]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    return tmp_path / "docs"


def test_a_zip_is_a_folder_with_all_of_its_rules(folder: Path) -> None:
    table = f"Tasks {NUMBER}"
    inner = {
        f"Home {NUMBER}.md": f"# Home\n\n[Fees](Home%20{NUMBER}/Fees%20{NUMBER}.md)",
        f"Home {NUMBER}/{table}.csv": "Task,Fee\nPump,1",
        f"Home {NUMBER}/{table}_all.csv": "Task,Fee\nPump,1\nTug,2",
        f"Home {NUMBER}/Row {NUMBER}.md": "One.",
        f"Home {NUMBER}/Row {NUMBER[::-1]}.md": "Two.",
        "index.html": f"<ul id='id::1'><li><a href='Home {NUMBER}.md'>Home {NUMBER}.md</a></li></ul>",
    }
    outer = {
        "Part-1.zip": pack(inner),
        ".ragignore": "drafts/",
        "drafts/a.md": "Draft.",
        "node_modules/x/README.md": "A program.",
        "__MACOSX/._b.md": "\0",
        "book.toml": "[book]\nsrc = '.'\n[output.html]\ncname = 'a.org'\nsite-url = '/b/'",
        "part.rs": "fn part() {}",
        "notes/b.md": "{{#include ../part.rs}} {{#include ../../../../secret.md}}",
        "map.mp4": "",
    }
    (folder / "a.zip").write_bytes(pack(outer))
    (folder.parent / "secret.md").write_text("Secret.", encoding="utf-8")

    reading = read(folder)

    assert paths(reading) == [
        "a.zip/Part-1.zip/Home.md",
        "a.zip/Part-1.zip/Home 103d4dea/Row 103d4dea.md",
        "a.zip/Part-1.zip/Home 103d4dea/Row 1237cc29.md",
        "a.zip/Part-1.zip/Home/Tasks.csv",
        "a.zip/notes/b.md",
    ]
    home, *_, note = reading.documents
    assert (home.title, home.doc_id, home.category) == ("Home", "a.zip/Part-1.zip/Home", "")
    assert "[Fees](Home/Fees.md)" in home.text
    assert (note.text.strip(), note.url, note.category) == ("fn part() {}", "https://a.org/b/notes/b.html", "notes")
    assert paths(read(folder, "a.zip", exclude=("a.zip/*/",))) == []
    assert reading.skipped["in .ragignore"] == reading.skipped["build output"] == reading.skipped[".mp4"] == 1
    assert str(folder / "a.zip/Part-1.zip/index.html") in {warning.path for warning in reading.warnings}


def test_a_zip_of_software_is_read_only_if_it_is_given(folder: Path) -> None:
    program = {"README.md": "A program.", "a.exe": "", "b.dll": ""}
    (folder / "setup.zip").write_bytes(pack(program))
    (folder / "films.zip").write_bytes(pack({"a.mp4": "", "b.mp3": ""}))
    (folder / "old.zip").write_bytes(pack({"a.doc": ""}))
    (folder / "keep.zip").write_bytes(pack({"note.html": "<p>Note.", "note.json": "{}", "note.mp3": ""}))
    reading = read(folder)
    assert (paths(reading), reading.skipped) == (
        ["keep.zip/note.html"],
        {".zip": 1, "of software": 1, ".json": 1, ".mp3": 1},
    )
    assert [kind.describe() for kind in reading.passed_over if kind.kind == "of software"] == [
        "1 file of software (setup.zip): give it by name to read the documents"
    ]
    assert paths(read(folder, "setup.zip")) == ["setup.zip/README.md"]


def test_what_a_zip_must_not_do_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_FILES", 8)
    monkeypatch.setattr(archives, "MAX_BYTES", 4_000)
    link = ZipInfo("link.md")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    locked = bytearray(pack({"a.md": "Text."}))
    locked[6] |= 1
    locked[locked.find(b"PK\x01\x02") + 8] |= 1
    large = "cannot be unpacked: it has over 8 files, or unpacks to 100 times its size"
    outside = "cannot be unpacked: its name is of a place outside of the zip"
    hostile: dict[str, tuple[bytes, str, str]] = {
        "damaged.zip": (b"PK", "", "cannot be unpacked: File is not a zip file"),
        "deep.zip": (deep(4), "/2.zip/1.zip/0.zip", "cannot be unpacked: it is in 3 other zips"),
        "large.zip": (pack({"a.md": b"0" * 5_000}), "", large),
        "link.zip": (
            pack({link: "/etc/passwd"}),
            "/link.md",
            "cannot be unpacked: it is a link, which is not followed",
        ),
        "locked.zip": (bytes(locked), "/a.md", "cannot be unpacked: it is locked by a password"),
        "many.zip": (pack({f"{number}.md": "x" for number in range(9)}), "", large),
    } | {
        f"{number}.zip": (pack({name: "Out."}), f"/{name}", outside)
        for number, name in enumerate(("../a.md", "/a.md", "C:/a.md"))
    }
    for name, (data, _, _) in hostile.items():
        (folder / name).write_bytes(data)
    for _ in range(2):  # the second time of what was noted at the first
        reading = read(folder)
        assert (paths(reading), [*folder.parent.rglob("*.md")]) == ([], [])
        assert {failure.path: failure.error for failure in reading.failed} == {
            f"{folder}/{name}{member}": error for name, (_, member, error) in hostile.items()
        }


def deep(zips: int) -> bytes:
    return pack({f"{zips - 2}.zip": deep(zips - 1)} if zips > 1 else {"d.md": "Deep."})


@pytest.mark.parametrize("encoding", ["cp437", "utf-8"])
def test_names_without_a_mark_of_their_encoding_are_read(folder: Path, encoding: str) -> None:
    name = "Übergröße".encode(encoding)
    (folder / "a.zip").write_bytes(pack({"N" * len(name) + ".md": "Text."}).replace(b"N" * len(name), name))
    assert paths(read(folder)) == ["a.zip/Übergröße.md"]


def test_only_a_changed_zip_is_unpacked_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"a.md": "One.", "b.md": "Two."}
    (folder / "a.zip").write_bytes(pack(files))
    first = {document.path: document.digest for document in read(folder).documents}
    with monkeypatch.context() as patch:
        patch.delattr(Archives, "_fill")
        assert {document.path: document.digest for document in read(folder).documents} == first
    (folder / "a.zip").write_bytes(pack(files | {"b.md": "Three."}))
    second = {document.path: document.digest for document in read(folder).documents}
    assert {path for path, digest in second.items() if first[path] != digest} == {"a.zip/b.md"}
    (folder / "a.zip").unlink()
    assert (paths(read(folder)), [*(folder.parent / "cache" / ".zips").iterdir()]) == ([], [])
