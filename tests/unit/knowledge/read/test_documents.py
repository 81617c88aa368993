"""What is read from files and folders, what it is called, and what is said of the rest."""

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from made_files import write_files as write

from knowledge.model.errors import IndexNotWritten, SourceUnreadable
from knowledge.model.values import Document, Failure
from knowledge.read import loading
from knowledge.read.documents import ReadResult, read
from knowledge.read.fields import Fields
from knowledge.read.loading import ConvertedText, Loading
from knowledge.read.walk import FoundFile, Selection


def read_one(folder: Path, content: str | bytes, name: str = "a.md") -> Document:
    (document,) = read([write(folder, {name: content})]).documents
    return document


def errors(found: tuple[Failure, ...], folder: Path) -> dict[str, str]:
    return {Path(failure.path).relative_to(folder).as_posix(): failure.error for failure in found}


def ids(reading: ReadResult) -> list[str]:
    return [document.doc_id for document in reading.documents]


# Titles, categories, addresses


def test_front_matter_fills_the_fields_and_the_rest_is_extra(tmp_path: Path) -> None:
    document = read_one(
        tmp_path,
        "---\ntitle: Import  permits\ncategory: rules\nsource_org: Customs\nsource_type: public\njurisdiction: NO\n"
        "last_updated: 2024-03-05\nsource_urls:\n  - N/A\n  - ''\n  - ftp://a.test\n  - https://b.test/x\n  - 7\n"
        "doc_id: P-1\npriority: 3\nrate: 0.5\nreviewed: true\nversion: '7'\nissued: 2024-01-02\n"
        "seen: 2024-01-02 10:00:00\ndate: 2016-02-06 19:32:10 -0800\nhs_code: 0101\n"
        "at: 12:30\nnothing:\nempty: ''\ntags: [a, b]\n"
        f"number: 12\nchunk_number: 7\nday: 2024-04-31\nhuge: {'9' * 5000}\nbig: {2**63}\n"
        "owner: {name: x}\nbad: .nan\nsection: Mine\nchunk_index: 4\npath: /etc\n---\n\n# Other title\n\nText.\n",
        "sub/a.md",
    )

    assert (document.doc_id, document.title, document.path) == ("P-1", "Import permits", "sub/a.md")
    assert (document.category, document.source_org, document.source_type) == ("rules", "Customs", "public")
    assert (document.jurisdiction, document.last_updated) == ("NO", "2024-03-05")
    assert (document.url, document.source_urls) == ("https://b.test/x", ("ftp://a.test", "https://b.test/x"))
    assert document.text.strip() == "# Other title\n\nKeywords: a, b\n\nText."
    numbers = {"priority": 3, "rate": 0.5, "reviewed": True, "number": 12}
    dates = {"issued": "2024-01-02", "seen": "2024-01-02T10:00:00", "date": "2016-02-06T19:32:10-08:00"}
    texts = {
        "version": "7",
        "hs_code": "0101",
        "at": "12:30",
        "day": "2024-04-31",
        "huge": "9" * 5000,
        "big": str(2**63),
    }
    assert document.extra == numbers | dates | texts
    assert document.extra["reviewed"] is True


def test_a_text_in_several_formats_is_one_document_with_their_paths(tmp_path: Path) -> None:
    text = (
        "# Parking rules\n\nA *permit* costs 35\u00a0euros, see [the o\ufb03ce](https://a.test/b).\n\n1. Ask for it.\n"
    )
    plain = "A permit costs 35 euros, see the office. Ask for it."
    readers = {name: lambda data, _: ConvertedText(data.decode()) for name in (".docx", ".pdf", ".html")}
    files = {
        "rules.docx": f"# Parking rules\n\n{plain}",
        "rules.md": text,
        "sent/rules.pdf": plain,
        "rules.txt": f"Parking rules\n\n{plain}",
    }
    other = {
        "rules.html": plain.replace("euros", "$").replace("35", "-35"),
        "index.md": "# Other\n\nWords.",
        "sub/index.md": "# Sub\n\nWords.",
    }
    write(tmp_path, files | other)

    reading = read([tmp_path], loading=Loading(readers=readers))

    kept = {document.path: (document.doc_id, document.extra) for document in reading.documents}
    assert kept == {
        "index.md": ("index", {}),
        "rules.html": ("rules", {}),
        "rules.md": ("rules.md", {"other_paths": "rules.docx\nrules.txt\nsent/rules.pdf"}),
        "sub/index.md": ("sub/index", {}),
    }
    assert reading.left_out == {"has the text of another file": 3}
    assert [document.text for document in reading.documents if document.path == "rules.md"] == [text]
    (tmp_path / "rules.md").unlink()
    (tmp_path / "rules.html").unlink()
    again = read([tmp_path], loading=Loading(readers=readers)).documents
    assert [(d.doc_id, d.path, d.extra.get("other_paths")) for d in again[1:2]] == [
        ("rules", "rules.docx", "rules.txt\nsent/rules.pdf")
    ]


POLICY = "# Parking\n\nA permit costs {fee} euros a month. Ask the office for it.\n\nVisitors use bay 3.{more}"


@pytest.mark.parametrize(
    ("names", "older"),
    [
        (("parking v1", "parking v2 final"), ["", "parking v1.md"]),
        (("Parking_V2.1", "parking_v2"), ["parking_v2.md", ""]),
        (("ParkingRulesV1", "ParkingRulesV2"), ["", "ParkingRulesV1.md"]),
        (("parking rev 9", "parking rev 10"), ["", "parking rev 9.md"]),
        (("parking", "parking (v2)"), ["", "parking.md"]),
        (("parking draft", "parking final", "parking"), ["", "parking draft.md\nparking.md", "parking draft.md"]),
        (
            ("parking v2", "parking v3 draft", "parking v1"),
            ["parking v1.md\nparking v3 draft.md", "", "parking v3 draft.md"],
        ),
        (("parking v1.2.3", "parking v1.2.4"), ["", ""]),
        (("parking 1", "parking 2"), ["", ""]),
        (("parking v1", "bicycles v2"), ["", ""]),
        (("a/parking v1", "b/parking v2"), ["", ""]),
    ],
)
def test_versions_of_a_text_are_told_by_the_names_of_their_files(
    tmp_path: Path, names: tuple[str, ...], older: list[str]
) -> None:
    write(tmp_path, {f"{name}.md": POLICY.format(fee=20 + n, more="") for n, name in enumerate(names)})
    found = {document.path: document.extra.get("older_versions", "") for document in read([tmp_path]).documents}
    assert [found[f"{name}.md"] for name in names] == older


def test_release_notes_are_no_versions_of_a_text(tmp_path: Path) -> None:
    for n, letters in ((1, "abcdefgh"), (2, "ijklmnop")):
        changes = "".join(f"- {letter} of all\n" for letter in letters)
        write(tmp_path, {f"parking v{n}.md": POLICY.format(fee=n, more=f"\n\n## New\n\n{changes}")})
    assert [document.extra for document in read([tmp_path]).documents] == [{}, {}]


@pytest.mark.parametrize(
    ("one", "other", "documents"),
    [
        ({}, {}, 1),
        ({"title": "Terms of 2023"}, {"title": "Terms"}, 2),
        ({"jurisdiction": "NO"}, {"jurisdiction": "SE"}, 2),
        ({"jurisdiction": "NO"}, {}, 1),
        ({"date": "2023-01-01"}, {"date": "2024-01-01"}, 1),
        ({"url": "https://a.test/1"}, {"url": "https://a.test/2"}, 2),
        ({"text": "Page not ready."}, {"text": "Page not ready."}, 2),
        ({"text": "A day costs $40. " * 30}, {"text": "A day costs €40. " * 30}, 2),
        ({"text": "See [it](a.md) here. " * 30}, {"text": "See [it](b.md) here. " * 30}, 2),
    ],
)
def test_copies_in_one_format_are_long_alike_in_title_and_no_pages_of_a_site(
    tmp_path: Path, one: dict[str, str], other: dict[str, str], documents: int
) -> None:
    for name, stated in (("a", one), ("b", other)):
        fields = {"title": "Terms", "text": "Some words of the terms. " * 30} | stated
        text = fields.pop("text")
        front = "".join(f"{key}: {value}\n" for key, value in fields.items())
        write(tmp_path, {f"{name}.md": f"---\n{front}---\n{text}"})
    assert len(read([tmp_path]).documents) == documents


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: 2024\n---\nText", "2024"),
        ("---\ntitle: Logging in &amp; R&D &lt;new&gt;\n---\nText", "Logging in & R&D <new>"),
        ("# Logging in &amp; out\n\nText", "Logging in & out"),
        (
            "---\ntitle: Travel <em>before</em> the <b class=x>first</b> day<br>of work\n---\nText",
            "Travel before the first day of work",
        ),
        ("---\ntitle: '~~SQL~~ of `npm`, **bold** and [linked](x.md)'\n---\nText", "SQL of npm, bold and linked"),
        (
            "---\ntitle: __init__, _x_, 2 * 3, List<String> and the <head>\n---\nText",
            "__init__, _x_, 2 * 3, List<String> and the <head>",
        ),
        ("# ~~SQL~~ <em>databases</em> (deprecated)\n\nText", "SQL databases (deprecated)"),
        ("---\ntitle: ' '\n---\n### The *first* heading\n\nText", "The first heading"),
        ("Text\n\n```\n# not this\n```\n\nUnderlined\n===\n", "Underlined"),
        ("## Alone\n\n### Part\n\n### Part", "Alone"),
        ("## One\n\nText\n\n## Two\n\n## Three", "how to import food"),
        ("Text\n\n## Only part\n\nText", "how to import food"),
    ],
)
def test_title_is_the_front_matters_else_the_first_headings_else_the_files(
    tmp_path: Path, text: str, title: str
) -> None:
    assert read_one(tmp_path, text, "how-to_import-food.md").title == title


def test_plain_text_is_titled_by_its_file_and_kept_as_it_is(tmp_path: Path) -> None:
    document = read_one(tmp_path, "---\ntitle: x\n---\n# no heading\n", "rate_card.TXT")
    assert (document.title, document.doc_id) == ("rate card", "rate_card")
    assert document.text == "---\ntitle: x\n---\n# no heading\n"


def test_category_is_the_first_folder_below_the_ingested_one(tmp_path: Path) -> None:
    write(tmp_path, {"top.md": "a", "one/two/deep.md": "b"})
    assert [d.category for d in read([tmp_path]).documents] == ["", "one"]
    assert [d.category for d in read([tmp_path / "one"]).documents] == ["two"]


@pytest.mark.parametrize(
    ("front", "url", "source_urls"),
    [
        ("url: https://a.test", "https://a.test", ()),
        ("url: /relative\nsource_urls: 'n/a, https://b.test/?a=1,2, https://c.test'",
         "https://b.test/?a=1,2", ("https://b.test/?a=1,2", "https://c.test")),
        ("url: javascript:alert(1)", "", ()),
        ("source: https://a.test", "https://a.test", ("https://a.test",)),
        ("sourceUrls: [internal://sop]", "", ("internal://sop",)),
    ],
)  # fmt: skip
def test_addresses(tmp_path: Path, front: str, url: str, source_urls: tuple[str, ...]) -> None:
    document = read_one(tmp_path, f"---\n{front}\n---\nText")
    assert (document.url, document.source_urls) == (url, source_urls)


# Bytes


@pytest.mark.parametrize(
    ("data", "text", "warning"),
    [
        ("\ufeff# Über\r\n\r\nText\r".encode(), "# Über\n\nText\n", None),
        ("# Über\n".encode("utf-16"), "# Über\n", None),
        (b"\xfe\xff" + "# Über\n".encode("utf-16-be"), "# Über\n", None),
        ("Gebühr: 5 €, “frei”".encode("cp1252"), "Gebühr: 5 €, “frei”", "Windows-1252"),
        (b"Geb\xfchr \x81 und noch etwas mehr", "Gebühr \x81 und noch etwas mehr", "Latin-1"),
        ("Gebühr für Ämter".encode() + b"\xff", "Gebühr für Ämter\ufffd", "UTF-8"),
        (
            "Название,Цена,Описание\nЯблоко,120,Красное сладкое яблоко из Крыма\n".encode("cp1251"),
            "Название,Цена,Описание\nЯблоко,120,Красное сладкое яблоко из Крыма\n",
            "cp1251",
        ),
    ],
)
def test_unicode_with_a_byte_order_mark_is_read_and_other_bytes_with_a_warning(
    tmp_path: Path, data: bytes, text: str, warning: str | None
) -> None:
    reading = read([write(tmp_path, {"a.md": data})])
    assert [d.text for d in reading.documents] == [text]
    assert len(reading.warnings) == bool(warning)
    assert not warning or warning in reading.warnings[0].error


def test_what_is_no_text_is_named_and_the_rest_read(tmp_path: Path) -> None:
    front = {"front.md": "---\ntitle: x\n---\n\n", "open.md": "---\ntitle: Never closed\n\nText."}
    binary = {"nul.md": b"\x89PNG\r\n\x1a\n\x00\x00", "packed.md": bytes(range(1, 256)) * 20}
    write(tmp_path, {"good.md": "Text", "zero.md": b"", "blank.txt": " \n\n", **front, **binary})
    write(tmp_path, {"cyrillic.txt": "Пошлина на ввоз".encode("cp1251")})
    os.mkfifo(tmp_path / "pipe.md")

    reading = read([tmp_path])

    assert ids(reading) == ["good", "open"]
    empty = {"zero.md": "is empty", "blank.txt": "is empty", "front.md": "has front matter but no text"}
    unclosed = {"open.md": "front matter has no closing '---': read as text"}
    assert errors(reading.warnings, tmp_path) == empty | unclosed
    assert reading.left_out == {"is empty": 2, "has front matter but no text": 1}
    assert errors(reading.failed, tmp_path) == {
        "nul.md": "is a binary file, not text",
        "packed.md": "is a binary file, not text",
        "cyrillic.txt": "is neither UTF-8 nor in another encoding that can be told: save it as UTF-8",
        "pipe.md": "is not a regular file",
    }


def test_files_without_text_and_folders_without_files_are_told_by_path(tmp_path: Path) -> None:
    draft = "---\ndraft: true\n---\n"
    write(tmp_path, {"a.md": "Text", "b.md": b"", "b.txt": "Text", "d.md": draft, "pics/x.png": b"p"})
    write(tmp_path, {"gone/deep/.keep": b"", "some/deep/x.md": "Text", "some/none/.keep": b""})
    reading = read([tmp_path / "some" / "deep", tmp_path], loading=Loading(today=date(2026, 1, 1)))

    emptied = {path: said.error for path, said in reading.emptied.items()}
    assert emptied == {"b.md": "is empty"} | dict.fromkeys(("gone", "some/none"), "is a folder without files")
    assert ids(reading) == ["x", "a", "b.txt"]  # the id of b.md is not b.txt's to take


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_named(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "x", "b.md": "y", "sub/c.md": "z"})
    (tmp_path / "a.md").chmod(0)
    (tmp_path / "sub").chmod(0)
    reading = read([tmp_path])
    (tmp_path / "sub").chmod(0o700)
    assert ids(reading) == ["b"]
    assert sorted(errors(reading.failed, tmp_path)) == ["a.md", "sub"]


def test_ten_megabytes_are_read_whole(tmp_path: Path) -> None:
    text = "# Title\n\n" + ("A paragraph of words. " * 450 + "\n\n") * 1_000
    document = read_one(tmp_path, text)
    assert (document.title, document.text) == ("Title", text)


# Folders


def test_folders_are_read_in_a_fixed_order_without_hidden_and_other_files(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "b.md": "b", "a/z.MD": "z", "a/b/c.markdown": "c", "d.txt": "d", "e.mdx": "e", ".hidden.md": "no",
            ".git/x.md": "no", "e.json": "{}", "f.png": b"\x89PNG", "other.jsonl": "{}", "a/f.PNG": b"", "Makefile": "",
            "corpus.jsonl": '{"_id": "q", "text": "t"}',
        },
    )  # fmt: skip

    reading = read([tmp_path])

    assert ids(reading) == ["b", "q", "d", "e", "a/z", "a/b/c"]
    assert (reading.failed, reading.warnings) == ((), ())
    assert reading.skipped == {"hidden": 2, ".json": 1, ".png": 2, ".jsonl": 1, "without a suffix": 1}
    assert reading == read([tmp_path])
    assert ids(read([tmp_path, tmp_path / "a", tmp_path / "d.txt"])) == ids(reading)


def test_links_are_followed_but_nothing_is_read_twice(tmp_path: Path) -> None:
    write(tmp_path, {"in/real/a.md": "a", "out/b.md": "b", "out/sub/c.md": "c"})
    folder = tmp_path / "in"
    (folder / "again.md").symlink_to(folder / "real" / "a.md")
    (folder / "file.md").symlink_to(tmp_path / "out" / "b.md")
    (folder / "loop").symlink_to(folder)
    (folder / "real" / "up").symlink_to("../..")
    (folder / "copy").symlink_to("real")
    (folder / "self").symlink_to("self")
    (folder / "gone.md").symlink_to("nowhere.md")
    (folder / "outside").symlink_to(tmp_path / "out" / "sub")
    (folder / "archive").symlink_to(tmp_path / "mnt" / "archive")  # a disk that is not mounted

    reading = read([folder])

    out = "is a link that leads out of the folder: not followed (--follow-links follows it)"
    assert ids(reading) == ["real/a"]
    assert ids(read([folder], selection=Selection(follow_links=True))) == ["real/a", "file", "outside/c"]
    assert ids(read([folder, tmp_path / "out"])) == ["real/a", "file", "outside/c"]
    assert errors(reading.failed, folder) == dict.fromkeys(("archive", "gone.md"), "is a link that leads nowhere")
    assert reading.lost == frozenset({"archive", "gone.md"})
    assert errors(reading.warnings, folder) == {
        "copy": "is a link to a folder that is read already",
        "file.md": out,
        "outside": out,
        "loop": "is a link back to a folder that it is in: not followed",
        "real/up": "is a link back to a folder that it is in: not followed",
        "self": "is a link that leads nowhere",
    }


def test_names_that_are_not_utf8_can_be_stored(tmp_path: Path) -> None:
    try:
        (Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md"))).write_text("Text")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    assert [document.path for document in read([tmp_path]).documents] == ["caf\ufffd.md"]


# Given files and converters


def test_a_given_file_is_read_whatever_its_name_is_unless_it_is_no_text_or_is_not_there(tmp_path: Path) -> None:
    write(tmp_path, {"notes.log": "# No heading\n\nA line.", "queries.jsonl": '{"_id": 1, "text": "t"}',
                     "a.docx": b"PK\x03\x04\0\0"})  # fmt: skip

    reading = read([tmp_path / "a.docx", tmp_path / "notes.log", tmp_path / "queries.jsonl"])

    assert [(document.doc_id, document.title) for document in reading.documents] == [("notes", "notes"), ("1", "1")]
    assert errors(reading.failed, tmp_path) == {
        "a.docx": "is no text and has the suffix '.docx'; accepted are .jsonl, .markdown, .md, .mdx, .txt"
    }
    with pytest.raises(SourceUnreadable, match="nowhere"):
        read([tmp_path, tmp_path / "nowhere"])


def test_templates_are_read_as_what_they_make_and_other_names_as_the_user_says(tmp_path: Path) -> None:
    names = ("index.html.md.erb", "a/page.md.j2", "b.mdx.tmpl", "c.qmd", "MANIFEST.in", "table.csv.erb", "x.erb")
    write(tmp_path, dict.fromkeys(names, "# Heading\n\nText."))

    def decoded(data: bytes, _: FoundFile | None) -> ConvertedText:
        return ConvertedText(data.decode())

    reading = read([tmp_path], loading=Loading(readers={".csv": decoded}, formats={".qmd": ".md"}))

    assert {document.doc_id: document.title for document in reading.documents} == dict.fromkeys(
        ("index", "a/page", "b", "c"), "Heading"
    )
    assert reading.skipped == {".erb": 2, ".in": 1}


def test_converters_read_their_suffix_as_markdown_and_whatever_a_document_raises_is_its_own_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def convert(data: bytes, _: FoundFile | None) -> ConvertedText:
        if data != b"hello":
            raise SourceUnreadable("is encrypted") if data == b"locked" else LookupError("no such\n page")
        return ConvertedText(f"---\ntitle: made\n---\n# {data.decode()}\n\nText")

    monkeypatch.setattr(loading, "parse_fields", lambda meta: Fields(title=meta.get("title", "").upper()))
    lines = '{"_id": "q", "text": "t"}\n{"_id": "r", "title": 7, "text": "t"}\n{"_id": "s", "text": "t"}'
    write(tmp_path, {"a.html": "x", "b.md": "---\ntitle: 7\n---\nText", "c.md": "Text", "corpus.jsonl": lines,
                     "d.html": "locked", "sub/e.HTML": "hello"})  # fmt: skip

    reading = read([tmp_path], loading=Loading(readers={".html": convert}))

    assert [(d.doc_id, d.title) for d in reading.documents] == [("c", "c"), ("q", "q"), ("s", "s"), ("sub/e", "MADE")]
    no_upper = "unexpected AttributeError: 'int' object has no attribute 'upper'"
    no_page = "unexpected LookupError: no such page"
    assert errors(reading.failed, tmp_path) == {
        "a.html": f"cannot be converted: {no_page}. Save it in another format, or --exclude it",
        "b.md": f"has front matter that cannot be read: {no_upper}. Mend it, or --exclude the file",
        "corpus.jsonl:2": no_upper,
        "d.html": "is encrypted",
    }


# Identity


@pytest.mark.parametrize(
    ("files", "given", "expected"),
    [
        ({"one/a.md": "1", "one/b.md": "2", "two/a.md": "3"}, ["one", "two"], ["one/a", "b", "two/a"]),
        ({"x/d/a.md": "1", "y/d/a.md": "2"}, ["x/d", "y/d"], ["d/a", "d/a.md"]),
        ({"a.md": "1", "a.txt": "2", "x/d/a.md": "3", "y/d/a.md": "4"}, [""], ["a", "a.txt", "x/d/a", "y/d/a"]),
        ({"a.md": "path", "b.md": "---\ndoc_id: a\n---\nown"}, [""], ["a.md", "a"]),
    ],
    ids=["the folder in front", "folders of one name", "the suffix", "an own id goes before a path"],
)
def test_ids_made_of_paths_do_not_collide(
    tmp_path: Path, files: dict[str, str], given: list[str], expected: list[str]
) -> None:
    write(tmp_path, files)
    assert ids(read([tmp_path / folder for folder in given])) == expected


def test_the_second_of_two_files_with_one_doc_id_has_one_of_its_path(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "---\nid: 7\n---\nfirst", "b.md": "---\ndoc_id: '7'\n---\nsecond", "c/7.md": "third"})
    reading = read([tmp_path])
    assert [(d.doc_id, d.text) for d in reading.documents] == [("7", "first"), ("b", "second"), ("c/7", "third")]
    assert errors(reading.warnings, tmp_path) == {
        "b.md": "has a doc_id that another document has: its path stands for it"
    }


@pytest.mark.parametrize(
    "changed", ["key: 1\n---\nText!", "key: '1'\n---\nText", "key: 1\njurisdiction: SG\n---\nText"]
)
def test_the_digest_changes_with_anything_that_chunks_depend_on(tmp_path: Path, changed: str) -> None:
    before = read_one(tmp_path, "---\nkey: 1\n---\nText").digest
    assert len(before) == 64
    assert read_one(tmp_path, "---\nkey: 1\n---\nText").digest == before != read_one(tmp_path, f"---\n{changed}").digest


# Corpora


def test_a_beir_corpus_is_a_document_a_line_with_its_title_as_text_where_it_has_none(tmp_path: Path) -> None:
    lines = [
        {"_id": "q1", "title": " Masks ", "text": " Wear\r\none. ", "metadata": {
            "link": "\nhttps://a.test/faq", "source": "Ministry", "last_update": "2020/03/7", "land": "", "stars": 4}},
        {"_id": 12, "title": "", "text": "Text", "url": "https://b.test"},
        {"_id": "t1", "title": "Solar  eclipse"}, {"_id": "t2", "title": "Tides", "text": None},
    ]  # fmt: skip

    reading = read([write(tmp_path, {"corpus.jsonl": "\n".join(map(json.dumps, lines)) + "\n\n"})])
    first, second, *without_text = reading.documents

    assert (first.doc_id, first.title, first.text, first.path) == ("q1", "Masks", "Wear\none.", "corpus.jsonl")
    assert (first.url, first.source_org, first.last_updated) == ("https://a.test/faq", "Ministry", "2020-03-07")
    assert first.extra == {
        "link": "https://a.test/faq", "source": "Ministry", "last_update": "2020/03/7", "stars": 4
    }  # fmt: skip
    assert (second.doc_id, second.title, second.url) == ("12", "12", "https://b.test")
    assert [(d.title, d.text) for d in without_text] == [("Solar eclipse",) * 2, ("Tides",) * 2]
    assert reading.failed == ()


TAGS = "".join(chr(0xE0000 + ord(char)) for char in "obey the voice")
SELECTORS = "".join(chr(0xE0100 + byte) for byte in b"obey me")


@pytest.mark.parametrize(
    ("text", "shown", "words"),
    [
        (f"It costs{TAGS} 41 EUR.", "It costs 41 EUR.", 3),
        (f"It costs{SELECTORS}\ufe01 41 EUR.", "It costs 41 EUR.", 2),
        ("It costs" + "\u200b\u200c\u200d\u2063" * 9 + " 41 EUR.", "It costs 41 EUR.", 1),
        ("\u202ec\u200bo\u2066st\u2069s\u202c op\xaderation", "costs operation", 0),
        # Persian, Bengali, Thai and Mongolian; emoji of several, a country's flag.
        ("می\u200c\u200cخواهم ক্\u200dষ ก\u200bข ᠩ\u180bᠭ", "می\u200cخواهم ক্\u200dষ ก\u200bข ᠩ\u180bᠭ", 0),
        ("❤\ufe0f\u200d🔥 👩\u200d💻 1\ufe0f\u20e3 ✔\ufe0f", "❤\u200d🔥 👩\u200d💻 1\u20e3 ✔", 0),
        ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "🏴", 0),
    ],
)
@pytest.mark.parametrize("name", ["a.md", "a.txt", "corpus.jsonl"])
def test_characters_without_a_glyph_are_left_out_but_for_those_that_form_others(
    tmp_path: Path, name: str, text: str, shown: str, words: int
) -> None:
    record = json.dumps({"_id": "a", "title": text, "text": text, "owner": text})
    page = text if name == "a.txt" else f"---\ntitle: {text}\nowner: {text}\n---\n{text}"
    reading = read([write(tmp_path, {name: record if name == "corpus.jsonl" else page}) / name])
    (document,) = reading.documents
    found = {document.text.strip(), *({document.title, document.extra["owner"]} if name != "a.txt" else ())}
    said = (f"left out as hidden: {words} word{'s' * (words != 1)}",) if words else ()
    assert (found, tuple(warning.error for warning in reading.warnings)) == ({shown}, said)


def test_bad_lines_of_a_corpus_are_named_and_the_rest_read(tmp_path: Path) -> None:
    lines = ['{"_id": "a", "text": "one"}', "{", "[]", '{"text": "x"}', '{"_id": "b", "title": " ", "text": ""}',
             '{"_id": true, "text": "x"}', '{"_id": "a", "text": "again"}',
             '{"_id": "c", "text": "two", "metadata": [1]}', '{"_id": "d", "title": "a", "text": 7}',
             "[" * 100_000]  # fmt: skip

    reading = read([write(tmp_path, {"corpus.jsonl": "\n".join(lines)})])

    assert [(d.doc_id, d.text) for d in reading.documents] == [("a", "one"), ("c", "two")]
    assert reading.lost == frozenset({"corpus.jsonl"})
    found = {line.rpartition(":")[2]: error for line, error in errors(reading.failed, tmp_path).items()}
    assert found.pop("10")
    assert {line: error[:16] for line, error in found.items()} == {
        "2": "is not JSON: Exp",
        "3": "is not a JSON ob",
        "4": "has no '_id'",
        "5": "has no 'text'",
        "6": "has no '_id'",
        "7": "has the doc_id '",
        "9": "has no 'text'",
    }


def test_documents_whose_texts_are_in_a_file_are_the_same_and_none_is_in_memory(tmp_path: Path) -> None:
    lines = [json.dumps({"_id": f"r{n}", "text": f"Record {n} é\ud800"}) for n in range(3)]
    pages = {f"{n}.md": f"---\ntitle: Page {n}\n---\nText {n} of a page, ü.\n" for n in range(4)}
    folder = write(tmp_path / "docs", {"corpus.jsonl": "\n".join([*lines, "no JSON"]), **pages, "empty.md": ""})

    with (tmp_path / "texts").open("w+b") as file:
        kept = read([folder], texts=file)
        documents = kept.documents
        assert list(documents) == list(read([folder]).documents)
        assert [document.text for document in documents[5:2:-2]] == [documents[5].text, documents[3].text]
        assert (len(documents), len(documents[1:]), documents[-1]) == (7, 6, list(documents)[-1])
        file.truncate(0)
        assert {document.text for document in documents} == {""}
    assert replace(kept, documents=()) == replace(read([folder]), documents=())
    with Path("/dev/full").open("w+b", buffering=0) as full, pytest.raises(IndexNotWritten, match="No space left"):
        read([folder], texts=full)


def mail(name: str, *headers: str, day: int = 11) -> str:
    """A message that has been read: ``headers`` are its id and those that it answers."""
    front = f"title: Skip\nauthor: {name}\ndate: 2026-05-{day}T10:00:00+02:00\nmessage_ids: [{', '.join(headers)}]\n"
    return f"---\n{front}---\n## {name}, 2026-05-{day}\n\nText of {name}.\n"


MAIL = Loading(readers={".eml": lambda data, found: ConvertedText(data.decode())})


def threads(folder: Path, files: Mapping[str, str]) -> dict[str, tuple[str, str, list[str]]]:
    """The doc_id, the other paths and the writers of each document, by path."""
    shutil.rmtree(folder, ignore_errors=True)
    reading = read([write(folder, files)], loading=MAIL)
    return {
        one.path: (one.doc_id, str(one.extra.get("other_paths", "")), re.findall("^## (.*),", one.text, re.MULTILINE))
        for one in reading.documents
    }


def test_a_thread_is_one_document_newest_first_that_keeps_its_id_when_it_grows(tmp_path: Path) -> None:
    files = {"b.eml": mail("Kay", "1"), "c.eml": mail("Ola", "2", "1", day=12), "d.eml": mail("Jo", "4", day=14)}
    assert threads(tmp_path / "m", files) == {
        "c.eml": ("b", "b.eml", ["Ola", "Kay"]),
        "d.eml": ("d", "", ["Jo"]),
    }
    files |= {"a.eml": mail("Kim", "3", "0", "2", day=13), "copy.eml": files["c.eml"]}
    assert threads(tmp_path / "m", files)["a.eml"] == ("b", "b.eml\nc.eml\ncopy.eml", ["Kim", "Ola", "Kay"])
    del files["a.eml"], files["b.eml"]
    assert threads(tmp_path / "m", files)["copy.eml"] == ("c", "c.eml", ["Ola"])


def test_mails_are_joined_by_subject_only_if_one_answers_and_names_none(tmp_path: Path) -> None:
    files = {
        "a.eml": mail("Kay", "1"),
        "b.eml": mail("Ola", "2", day=12),
        "c.eml": mail("Jo", "3", "'subject:'", day=13),
    }
    assert threads(tmp_path / "m", files) == {"c.eml": ("b", "b.eml", ["Jo", "Ola"]), "a.eml": ("a", "", ["Kay"])}


def test_what_ends_several_messages_word_for_word_is_left_out(tmp_path: Path) -> None:
    seal, notice = "\nKay Ray\nGate 2, Leeds\n", f"\n{'This mail is for you. ' * 5}\n"
    files = {
        "a.eml": mail("Kay", "1") + seal + notice,
        "b.eml": mail("Kay", "2", "1").replace("Text", "Here is the next text")
        + seal
        + "\n## Kay, 2026-05-11 > Attachment: a\n\nA",
        "c.eml": mail("Ola", "3", day=12) + notice,
        "d.eml": mail("Jo", "4", day=13) + notice,
        "copy.eml": mail("Jo", "4", day=13) + notice,
        **{f"{n}.eml": mail("Kim", f"5{n}", day=14).replace("Text", f"Dear {n},\n\nWe\nmove.") for n in range(3)},
    }
    reading = read([write(tmp_path, files)], loading=MAIL)
    assert {one.path: one.text for one in reading.documents if one.path not in ("0.eml", "1.eml", "2.eml")} == {
        "b.eml": "## Kay, 2026-05-11\n\nHere is the next text of Kay.\n\n## Kay, 2026-05-11 > Attachment: a\n\nA"
        "\n\n## Kay, 2026-05-11 10:00\n\nText of Kay.",
        "c.eml": "## Ola, 2026-05-12\n\nText of Ola.",
        "d.eml": "## Jo, 2026-05-13\n\nText of Jo.",
    }
    assert [one.text.count("We\nmove.") for one in reading.documents if one.path[0] in "012"] == [1, 1, 1]


def test_the_messages_of_a_mailbox_are_documents_below_it(tmp_path: Path) -> None:
    parts = [mail("Kay", "1"), mail("Ola", "2", "1", day=12), "", mail("Jo", "3", day=13).replace("Skip", "a/b.txt 1")]
    parts += [mail("Kim", "4", day=14)]
    box = ConvertedText("", parts=tuple(ConvertedText(part, () if part else ("is damaged",)) for part in parts))
    reading = read([write(tmp_path, {"list.mbox": "x"})], loading=Loading(readers={".mbox": lambda data, found: box}))
    assert [(one.path, one.doc_id, one.title) for one in reading.documents] == [
        ("list.mbox/Skip.eml", "list.mbox/Skip", "Skip"),
        ("list.mbox/a b.txt 1.eml", "list.mbox/a b.txt 1", "a/b.txt 1"),
        ("list.mbox/Skip 2.eml", "list.mbox/Skip 2", "Skip"),
    ]
    assert [one.extra.get("newest_message") for one in reading.documents] == ["Ola, 2026-05-12", None, None]
    assert errors(reading.warnings, tmp_path) == {"list.mbox:3": "holds no text; is damaged"}


def test_a_large_mailbox_is_read_in_parts_that_end_with_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "MAILBOX_BYTES", 40)
    one = b"From ola Tue May 12 09:14:00 2026\nSubject: Skip\n\nFrom 9:00 on.\n\n"
    seen: list[bytes] = []

    def reader(data: bytes, found: FoundFile | None) -> ConvertedText:
        seen.append(data)
        return ConvertedText("", parts=(ConvertedText(mail(f"Kay{len(seen)}", str(len(seen)))),))

    reading = read([write(tmp_path, {"list.mbox": 3 * one})], loading=Loading(readers={".mbox": reader}))
    assert seen == [one, one, one]
    assert [one.path for one in reading.documents] == [f"list.mbox/Skip{end}.eml" for end in ("", " 2", " 3")]
