"""What an index says of itself: its profile, its documents, and what happens to it when its manifest is damaged."""

import errno
import json
import os
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, run_fresh
from desks import desks
from fakes_embedding import HashingEmbedder
from made_files import write_files
from manifests import BRACKETS, damages, read_body
from shop import PAGES

from knowledge.build.ingest import ingest, remove
from knowledge.model.errors import IndexDamaged, IndexMismatch, SourceUnreadable
from knowledge.model.manifest import Provenance, loads
from knowledge.open.index import open_index

EMBEDDER = HashingEmbedder()
MADE = Provenance(profile="clockify", base_url="https://shop.example/", paths=("docs",), options={"exclude": ["*.tmp"]})


def chunks(folder: Path) -> dict[int, str]:
    with closing(open_index(folder, embedder=EMBEDDER)) as index:
        return {chunk.number: chunk.text for chunk in index.iter_chunks()}


def test_what_it_was_made_of_is_kept_and_changes_nothing_else(tmp_path: Path) -> None:
    ingest(desks(4), target=tmp_path, embedder=EMBEDDER)
    before = read_body(tmp_path)

    summary = ingest(desks(4), target=tmp_path, embedder=EMBEDDER, provenance=MADE)

    after = read_body(tmp_path)
    assert (summary.embedded, summary.unchanged) == (0, 4)
    assert {key for key in before if before[key] != after[key]} == {"made", "checksum"}
    assert loads((tmp_path / "manifest.json").read_bytes()).made == MADE
    written = (tmp_path / "manifest.json").stat().st_mtime_ns
    ingest(desks(4), target=tmp_path, embedder=EMBEDDER, provenance=MADE)
    assert (tmp_path / "manifest.json").stat().st_mtime_ns == written


def test_no_damaged_manifest_opens_and_an_ingest_repairs_each(tmp_path: Path) -> None:
    ingest(desks(4), target=tmp_path, embedder=EMBEDDER, provenance=MADE)
    ingest(desks(3), target=tmp_path, embedder=EMBEDDER, provenance=MADE)  # number 4 was in use
    whole, data = (tmp_path / "manifest.json").read_bytes(), read_body(tmp_path)["data"]
    for at, (name, text) in enumerate(damages(whole)):
        if at % 50 and not name.startswith(("nested", "a value", "UTF-16", "BOM", "twice", "format is 3")):
            continue  # that reading a manifest refuses all of them takes no index
        (tmp_path / "manifest.json").write_bytes(text)
        with pytest.raises((IndexDamaged, IndexMismatch), match="Run: ragctl ingest PATH"):
            pytest.fail(f"{name}: it has {open_index(tmp_path, embedder=EMBEDDER, warm=False).chunks} chunks")
        copy = shutil.copytree(tmp_path, tmp_path.with_name("repaired"))
        ingest(desks(3), target=copy, embedder=EMBEDDER)
        numbers = [number for number, _ in sorted(chunks(copy).items())]
        readable = b'"next_number": 5,' in text
        assert numbers == ([5, 6, 7] if readable else [1, 2, 3]), name
        assert name != "format is 3" or (copy / data).is_dir(), "readers have it open"
        shutil.rmtree(copy)


def test_a_file_system_that_cannot_flush_a_folder_loses_no_ingest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    switched: list[bool] = []
    replace, fsync = os.replace, os.fsync

    def noted(*paths: Any) -> None:
        replace(*paths)
        switched.append(True)

    def refusing(descriptor: int) -> None:
        if switched:
            raise OSError(errno.EIO, "Input/output error")
        fsync(descriptor)

    monkeypatch.setattr(os, "replace", noted)
    monkeypatch.setattr(os, "fsync", refusing)

    assert ingest(desks(4), target=tmp_path, embedder=EMBEDDER).added == 4
    assert (switched, len(chunks(tmp_path))) == ([True], 4)


def test_removing_is_what_an_ingest_without_the_document_does(tmp_path: Path) -> None:
    for name in ("removed", "ingested"):
        ingest(desks(4), target=tmp_path / name, embedder=EMBEDDER, provenance=MADE)

    summary = remove(tmp_path / "removed", doc_ids={"d1", "d3"}, embedder=EMBEDDER)
    left = desks(4)[::2]
    ingest(left, target=tmp_path / "ingested", embedder=EMBEDDER, provenance=MADE)

    assert (summary.documents, summary.removed, summary.unchanged, summary.embedded) == (2, 2, 2, 0)
    ours, theirs = (read_body(tmp_path / name) for name in ("removed", "ingested"))
    same = {"version", "made", "counts", "next_number", "fields", "sources", "calibration", "lexical"}
    assert {key: ours[key] for key in same} == {key: theirs[key] for key in same}
    assert chunks(tmp_path / "removed") == chunks(tmp_path / "ingested") == {1: left[0].text, 3: left[1].text}
    assert ingest(left, target=tmp_path / "removed", embedder=EMBEDDER, provenance=MADE).unchanged == 2
    assert ingest(desks(4), target=tmp_path / "removed", embedder=EMBEDDER, provenance=MADE).added == 2
    assert sorted(chunks(tmp_path / "removed")) == [1, 3, 5, 6]


def test_what_cannot_be_removed_leaves_the_index(tmp_path: Path) -> None:
    ingest(desks(2), target=tmp_path, embedder=EMBEDDER)
    before = (tmp_path / "manifest.json").read_bytes()
    with pytest.raises(SourceUnreadable, match="Nothing would be left"):
        remove(tmp_path, doc_ids={"d0", "d1"}, embedder=EMBEDDER)
    with pytest.raises(IndexMismatch, match="another embedding model"):
        remove(tmp_path, doc_ids={"d0"}, embedder=HashingEmbedder(model="other"))
    assert (tmp_path / "manifest.json").read_bytes() == before


@pytest.fixture
def run(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Each command as in a shell of its own, in ``tmp_path``: what one has chosen is not there for the next."""
    monkeypatch.chdir(tmp_path)

    def run_alone(*arguments: object) -> Any:
        monkeypatch.setenv("RAG_PROFILE", "")
        monkeypatch.setenv("INDEX_URI", "")
        return run(*arguments)

    return run_alone


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    drafts = ("Waxing", "Vouchers")
    files = {f"{'drafts/' if name in drafts else ''}{name}.md": text for name, text in PAGES.items()}
    return write_files(tmp_path / "docs", files)


def test_the_profile_of_the_index_answers(run: Run, pages: Path) -> None:
    run("ingest", pages, "--profile", "clockify", "--index", "mine", "--json")
    question = "new sole price"

    assert run("ask", question, "--index", "mine", "--json")["metadata"]["profile"] == "clockify"
    status, out, err = run("ask", question, "--index", "mine", "--profile", "gacounts")
    assert (status, "gacounts" in out) == (0, True)
    assert "mine was made for the profile clockify" in err
    run("ingest", pages, "--index", "mine", "--json")
    assert read_body(Path("mine"))["made"]["profile"] == "clockify"
    run("ingest", pages, "--index", "mine", "--profile", "gacounts", "--json")
    assert read_body(Path("mine"))["made"]["profile"] == "gacounts"


def test_the_only_index_that_there_is_answers_and_says_so(run: Run, pages: Path) -> None:
    run("ingest", pages, "--profile", "clockify", "--json")
    status, out, err = run("ask", "new sole price")
    assert (status, "clockify, extractive" in out) == (0, True)
    assert err == "Note: there is no index .index/house; .index/clockify is used\n"
    run("ingest", pages, "--json")  # no index but its own is made anew
    assert read_body(Path(".index/house"))["made"]["profile"] == "house"
    status, out, err = run("ask", "new sole price")
    assert (status, "house, extractive" in out, err) == (0, True, "")


def test_documents_are_listed_and_removed(run: Run, pages: Path) -> None:
    run("ingest", pages, "--index", "mine", "--json")

    listed = run("ls", "--index", "mine", "--json")
    assert (len(listed["documents"]), listed["profile"], listed["paths"]) == (10, "house", [str(pages)])
    (found,) = run("ls", "VOUCH", "--index", "mine", "--json")["documents"]
    assert found == {
        "title": "Vouchers", "path": "drafts/Vouchers.md", "docId": "drafts/Vouchers",
        "chunks": 1, "dated": None, "otherPaths": [], "url": None,
    }  # fmt: skip

    status, out, err = run("rm", "drafts/V*", "drafts", "Sizes", "--index", "mine")
    assert status == 0
    assert "Removed drafts/Waxing.md" in out
    assert "7 documents and 7 chunks are left" in out
    assert ".ragignore" in err
    assert len(run("ls", "--index", "mine", "--json")["documents"]) == 7
    assert run("ask", "new sole price", "--index", "mine", "--json")["refused"] is False

    status, out, _ = run("rm", "Returns.md", "nothing/*", "--index", "mine", "--json")
    assert (status, json.loads(out)["code"]) == (1, "unknown_document")
    assert len(run("ls", "--index", "mine", "--json")["documents"]) == 7


def test_doctor_names_a_damaged_manifest_and_commands_report_it(run: Run, pages: Path) -> None:
    run("ingest", pages, "--index", "mine", "--profile", "clockify", "--json")
    manifest = Path("mine/manifest.json")
    for text in (b"", b"[" * BRACKETS):
        manifest.write_bytes(text)
        status, out, _ = run("doctor", "--index", "mine", "--json")
        said = {check["name"]: check for check in json.loads(out)["checks"]}
        assert (status, said["manifest"]["ok"]) == (1, False)
        assert said["manifest"]["detail"].startswith("manifest.json: ")
        status, out, _ = run("ask", "new sole price", "--index", "mine", "--json")
        assert (status, json.loads(out)["code"]) == (1, "index_not_ready")

    assert run("ingest", pages, "--index", "mine", "--json")["added"] == 10
    assert run("ask", "new sole price", "--index", "mine", "--json")["refused"] is False


VOUCHERS = (PAGES["Vouchers"], "How long is a gift voucher valid?", "Who won the football world cup in 2018?")
OFFICE = ("# Office\n\nThe office is open from Monday to Friday.\n", "When is the office open?", "play some jazz")


@pytest.mark.parametrize(
    ("profile", "page"), [("waypoint", VOUCHERS), ("gacounts", VOUCHERS), ("clockify", VOUCHERS), ("waypoint", OFFICE)]
)
def test_an_index_of_one_chunk_answers_in_every_profile(
    run: Run, tmp_path: Path, profile: str, page: tuple[str, str, str]
) -> None:
    text, near, far = page
    write_files(tmp_path / "one", {"page.md": text})
    assert run("ingest", "one", "--profile", profile, "--json")["chunks"] == 1
    answer = run("ask", near, "--profile", profile, "--json")
    assert (answer["refused"], len(answer["citations"])) == (False, 1)
    assert run("ask", far, "--profile", profile, "--json")["refused"] is True


def test_asking_for_the_profile_loads_neither_numpy_nor_chroma() -> None:
    code = (
        "import sys; from knowledge.open.place import read_provenance as look; look('.'); print('numpy' in sys.modules)"
    )
    assert run_fresh(code) == "False\n"
