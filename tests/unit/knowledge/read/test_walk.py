"""Which files of a folder are read: gitignore rules, build output, and what is counted of the rest."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from made_files import write_files

from knowledge.read import decoding
from knowledge.read.documents import ReadResult, read
from knowledge.read.loading import ConvertedText, Loading
from knowledge.read.walk import FoundFile, Selection, find_files


def write(folder: Path, *names: str) -> Path:
    return write_files(folder, dict.fromkeys(names, "Some words."))


def paths(reading: ReadResult) -> list[str]:
    return [document.path for document in reading.documents]


def test_a_ragignore_holds_for_its_folder_and_those_below_and_an_inner_one_wins(tmp_path: Path) -> None:
    write(tmp_path, "a.md", "drafts/b.md", "drafts/keep.md", "sub/private/c.md", "sub/d.tmp.md", "sub/e.md")
    (tmp_path / ".ragignore").write_bytes(b"# not \xff ready\ndrafts/*\nprivate/\n*.tmp.md\n")
    (tmp_path / "drafts" / ".ragignore").write_text("!keep.md\n", encoding="utf-8")
    reading = read([tmp_path])
    assert paths(reading) == ["a.md", "drafts/keep.md", "sub/e.md"]
    assert reading.skipped["in .ragignore"] == 3


def test_include_and_exclude_are_gitignore_patterns_for_all_but_what_is_named_itself(tmp_path: Path) -> None:
    write(tmp_path, "guide/a.md", "guide/old/b.md", "guide/c.txt", "other/d.md", ".hidden.md", "in/a.md", "in/b.txt")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "guide")
    selection = Selection(include=("guide/**/*.md",), exclude=("old/",))

    reading = read([tmp_path], selection=selection)

    assert paths(reading) == ["guide/a.md"]
    assert reading.skipped == {"excluded": 5, "hidden": 1}
    assert paths(read([tmp_path / ".hidden.md"], selection=selection)) == [".hidden.md"]
    linked = Selection(include=("*.md",), follow_links=True)
    assert paths(read([tmp_path / "in"], selection=linked)) == ["a.md", "link/a.md", "link/old/b.md"]


def test_what_programs_build_and_templates_are_left_out_and_folders_that_only_have_such_names_are_read(
    tmp_path: Path,
) -> None:
    write(tmp_path, "node_modules/x/README.md", "site/index.md", "public/notice.md", "venv/lib/y.md", "venv/pyvenv.cfg")
    write(tmp_path, "mkdocs.yml", "_includes/a.md", "layouts/own.md", "blog/layouts/b.md", "blog/hugo.toml")
    write(tmp_path, "modules/ROOT/partials/c.md", "modules/ROOT/pages/d.md", "modules/partials/own.md")
    reading = read([tmp_path])
    kept = {"public/notice.md", "layouts/own.md", "modules/ROOT/pages/d.md", "modules/partials/own.md"}
    assert set(paths(reading)) == kept
    assert reading.skipped == {"build output": 3, "templates": 3, ".yml": 1, ".toml": 1}


def test_files_for_programs_and_an_index_among_the_documents_are_left_out(tmp_path: Path) -> None:
    write(
        tmp_path,
        "a.md",
        "robots.txt",
        "sub/Robots.txt",
        "sub/Security.txt",
        "robots.md",
        "idx/data-1/lexical/words.txt",
        "app/words.txt",
    )
    for folder in ("idx", "app"):
        (tmp_path / folder / "manifest.json").write_text("{}", encoding="utf-8")
    reading = read([tmp_path])
    assert paths(reading) == ["a.md", "robots.md", "app/words.txt", "sub/Security.txt"]
    assert reading.skipped == {"for programs": 2, "an index": 1, ".json": 1}
    assert paths(read([tmp_path / "robots.txt"])) == ["robots.txt"]


def test_contents_error_pages_and_programs_pages_are_no_documents(tmp_path: Path) -> None:
    links = "# Summary\n\n[Start](a.md)\n\n# Part\n\n- [Chapter one](b.md)\n  - [Two]()\n"
    script = "<h1>Keys</h1><script>" + "let a = derive(1);" * 40 + "</script>"
    page = "<h1>Keys</h1><p>" + "Some words on keys. " * 60 + "</p>" + script
    data = f'<p>Some words.</p><script type="application/json">{{{"1," * 400}}}</script>'
    written = {
        "SUMMARY.md": links,
        "_Sidebar.md": "**Main**<br/>\n[Home](x)  \n[Other pages](y)\n",
        "b/summary.md": "# Summary\n\nThe year went well, as [one](a.md) and [two](b.md) say at length.",
        "404.html": "<p>Not found</p>",
        "fr/404.md": "Perdu",
        "errors/404.md": "Not there.",
        "errors/101.md": "Not allowed.",
        "long/404.md": "How to write an error page. " * 20,
        "tool.html": script,
        "page.html": page,
        "data.html": data,
        "contact.html": "<p>The office is open from nine to five.</p>" + script,
    }
    converted = Loading(readers={".html": lambda text, _: ConvertedText(text.split(b"<script")[0].decode())})

    reading = read([write_files(tmp_path, written)], loading=converted)

    kept = ["contact.html", "data.html", "page.html", "b/summary.md", "errors/101.md", "errors/404.md", "long/404.md"]
    assert paths(reading) == kept
    assert reading.left_out == {
        "is a table of contents": 2,
        "is an error page": 2,
        "is a program's page, with little text": 1,
    }
    assert paths(read([tmp_path / "SUMMARY.md"])) == ["SUMMARY.md"]


@pytest.mark.parametrize(
    "make", [os.mkfifo, os.mkdir, lambda path: path.write_bytes(b"!")], ids=["a pipe", "a folder", "no pattern"]
)
def test_a_folder_whose_ragignore_cannot_be_read_is_lost_not_read(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    write(tmp_path, "a.md", "sub/secret.md")
    make(tmp_path / "sub" / ".ragignore")
    reading = read([tmp_path])
    assert (paths(reading), reading.lost) == (["a.md"], frozenset({"sub"}))
    assert "cannot be looked into" in reading.failed[0].error


def test_of_a_table_that_notion_exports_twice_the_whole_is_read(tmp_path: Path) -> None:
    page = "0123456789abcdef" * 2
    write(tmp_path, f"Tasks {page}.csv", f"Tasks {page}_all.csv", "Fees.csv", "Fees_all.csv")
    found = find_files([tmp_path], wanted=lambda file: file.suffix == ".csv")
    kept = ["Fees.csv", "Fees_all.csv", f"Tasks {page}_all.csv"]
    assert sorted(place.path for place in found if isinstance(place, FoundFile)) == kept


# A passing trouble


def test_a_file_that_cannot_be_read_now_is_lost_and_leaves_its_id_to_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the other one would take the place of its chunks in the index."""
    write(tmp_path, "one/a.md", "one/a.txt", "two/a.md", "two/b.md")
    folders = [tmp_path / "one", tmp_path / "two"]
    whole = {document.doc_id for document in read(folders).documents}
    monkeypatch.setattr(decoding, "_without_waiting", broken(tmp_path / "one" / "a.md"))
    reading = read(folders)
    assert {document.doc_id for document in reading.documents} == whole - {"one/a"}
    assert (reading.lost, reading.failed[0].error) == (frozenset({"a.md"}), "cannot be read: Input/output error")


def test_a_file_that_is_written_while_it_is_read_is_read_again_and_lost_if_that_never_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "a.md"
    page.write_text("Half of", encoding="utf-8")
    monkeypatch.setattr(decoding, "_without_waiting", writing(page, times=1))
    assert read([tmp_path]).documents[0].text == "Half of it"
    monkeypatch.setattr(decoding, "_without_waiting", writing(page, times=decoding.READ_TRIES))
    reading = read([tmp_path])
    assert (reading.documents, reading.lost) == ((), frozenset({"a.md"}))
    assert "changes while it is read" in reading.failed[0].error


def broken(path: Path) -> Callable[[str, int], int]:
    def opener(name: str, flags: int) -> int:
        if Path(name) == path:
            raise OSError(errno.EIO, os.strerror(errno.EIO), name)
        return os.open(name, flags)

    return opener


def writing(path: Path, *, times: int) -> Callable[[str, int], int]:
    """An opener behind which somebody appends to the file, so many times."""
    left = times

    def opener(name: str, flags: int) -> int:
        nonlocal left
        descriptor = os.open(name, flags)
        if left:
            left -= 1
            before = path.read_text(encoding="utf-8")
            path.unlink()
            path.write_text(f"{before} it", encoding="utf-8")
        return descriptor

    return opener
