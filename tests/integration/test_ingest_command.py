"""ragctl ingest as a person uses it: what goes in, what is said of the rest, and what the next run remembers."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Run, runner
from made_files import write_files
from PIL import Image
from web_server import Answer, WebServer, html

import documents
from ragctl.console import INTERRUPTED, CommandFailed
from ragctl.ingest import watch_files
from ragctl.sources import map_in_processes


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture
def run(command: Run) -> Run:
    """Runs a command with ``--json``, whose exit status is to be ``status``; what it prints."""

    def run(*arguments: object, status: int = 0) -> Any:
        found = command(*arguments, "--json")
        if status:
            assert found[0] == status, found
        return json.loads(found[1]) if status else found

    return run


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_files(
        tmp_path / "docs",
        {"a.md": "# Permits\n\n## Import\n\nA permit is needed.", "b.md": "# Fees\n\nThe fee is 40 dollars."},
    )


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "index"


def listed(run: Run, index: Path) -> dict[str, str]:
    """The addresses of the documents of an index, by path."""
    return {d["path"]: d["url"] for d in run("ls", "--index", index)["documents"]}


def test_what_failed_is_named_and_fails_the_command_only_where_that_was_asked_for(
    run: Run, command: Run, docs: Path, index: Path
) -> None:
    (docs / "c.md").write_bytes(bytes(range(256)))
    lenient = run("ingest", docs, "--index", index)
    strict = run("ingest", docs, "--index", index, "--strict", status=1)
    assert lenient["documents"] == strict["documents"] == 2
    assert [failure["error"] for failure in strict["failed"]] == ["is a binary file, not text"]
    status, out, err = command("ingest", docs, "--index", index)
    assert (status, "documents  2" in out) == (0, True)
    assert f"Failed: {docs / 'c.md'}: is a binary file, not text\n" in err


def test_a_file_that_becomes_unreadable_keeps_its_place_until_it_is_gone(run: Run, docs: Path, index: Path) -> None:
    run("ingest", docs, "--index", index)
    (docs / "b.md").write_bytes(b"\0")

    broken = run("ingest", docs, "--index", index)
    (docs / "b.md").unlink()
    refused = run("ingest", docs, "--index", index, status=1)
    gone = run("ingest", docs, "--index", index, "--allow-removals")

    assert (broken["kept"], broken["removed"], broken["documents"]) == (1, 0, 2)
    assert refused["code"] == "removals_refused"
    assert "b.md" in refused["error"]
    assert (gone["removed"], gone["documents"]) == (1, 1)


def test_what_is_empty_now_keeps_what_it_held_until_told_otherwise(
    run: Run, command: Run, docs: Path, index: Path
) -> None:
    write_files(
        docs, {"c.md": "", "notes/d.md": "# Hours\n\nOpen on Mondays.", "e.md": "# Tax\n\nThe tax is 5 dollars."}
    )
    run("ingest", docs, "--index", index)
    (docs / "a.md").write_bytes(b"")
    (docs / "e.md").write_text("---\ntitle: Tax\n---\n", encoding="utf-8")
    (docs / "notes" / "d.md").unlink()

    kept = run("ingest", docs, "--index", index, status=1)
    again = run("ingest", docs, "--index", index, status=1)
    status, out, err = command("ingest", docs, "--index", index)
    gone = run("ingest", docs, "--index", index, "--allow-removals")

    assert kept["emptied"] == again["emptied"]
    assert {Path(place["path"]).name: place["error"] for place in kept["emptied"]} == {
        "a.md": "is empty, it held 1 chunk",
        "e.md": "has front matter but no text, it held 1 chunk",
        "notes": "is a folder without files, it held 1 chunk",
    }
    assert (kept["documents"], kept["kept"], kept["removed"], kept["failed"]) == (4, 3, 0, [])
    assert [Path(warning["path"]).name for warning in kept["warnings"]] == ["c.md"]
    assert (status, "--allow-removals" in err) == (1, True)
    assert f"kept       3: {docs / 'a.md'} is empty, it held 1 chunk" in out
    assert (gone["documents"], gone["removed"], gone["emptied"]) == (1, 3, [])
    assert run("ingest", docs, "--index", index)["unchanged"] == 1


def test_a_folder_that_is_not_mounted_keeps_all_that_it_held(run: Run, docs: Path, index: Path) -> None:
    run("ingest", docs, "--index", index)
    away = docs.rename(docs.parent / "away")
    (docs / ".cache").mkdir(parents=True)

    kept = run("ingest", docs, "--index", index, status=1)
    docs.joinpath(".cache").rmdir()
    docs.rmdir()
    away.rename(docs)

    assert [place["error"] for place in kept["emptied"]] == ["is a folder without files, it held 2 documents"]
    assert (kept["documents"], kept["kept"]) == (2, 2)
    assert run("ingest", docs, "--index", index)["unchanged"] == 2


def test_what_moved_out_of_an_emptied_place_is_not_kept_twice(run: Run, docs: Path, index: Path) -> None:
    write_files(docs, {"old/c.md": "# Hours\n\nOpen on Mondays.", "d.md": "# Tax\n\nThe tax is 5 dollars."})
    run("ingest", docs, "--index", index)
    (docs / "old" / "c.md").rename(docs / "c.md")
    write_files(docs, {"e.md": (docs / "d.md").read_text(), "d.md": ""})
    moved = run("ingest", docs, "--index", index)
    assert (moved["documents"], moved["emptied"]) == (4, [])
    assert set(listed(run, index)) == {"a.md", "b.md", "c.md", "e.md"}


def test_where_nothing_can_be_read_the_command_fails_and_the_index_stays(run: Run, docs: Path, index: Path) -> None:
    run("ingest", docs, "--index", index)
    for page in docs.iterdir():
        page.write_bytes(b"\0")
    failed = run("ingest", docs, "--index", index, status=1)
    assert (failed["documents"], failed["kept"], len(failed["failed"])) == (2, 2, 2)
    assert run("search", "permit", "--index", index)["hits"][0]["docId"] == "a"


def test_a_page_without_text_a_draft_and_other_files_are_counted_and_no_failures(
    run: Run, docs: Path, index: Path
) -> None:
    write_files(
        docs, {"c.md": "---\ntitle: x\n---\n", "d.md": "---\ndraft: true\n---\nText", "e.gif": "", ".git/f.md": "no"}
    )
    Image.new("1", (8, 8)).save(docs / "logo.png")
    done = run("ingest", docs, "--index", index, "--strict")
    assert done["leftOut"] == {"has front matter but no text": 1, "is a draft": 1, "is a picture without text": 1}
    assert done["skipped"] == {".gif": 1, "hidden": 1}
    assert (done["examples"], done["passedOver"]) == ({".gif": "e.gif", "hidden": ".git"}, [])
    assert "logo.png" not in str(done["warnings"])
    assert run("ingest", docs, "--index", index, "--drafts")["documents"] == 3


def test_of_a_site_s_folder_the_pages_are_read(run: Run, tmp_path: Path, index: Path) -> None:
    files = {
        "_config.yml": "exclude: [notes.md]",
        "notes.md": "# Notes\n\nFor us.",
        "SUMMARY.md": "# Summary\n\n- [Keys](keys.md)\n- [Fees](fees.md)",
        "404.html": "<p>There is no such page.</p>",
        "robots.txt": "User-agent: *",
        "keys.md": "# Keys\n\nThe safe is in the hall.",
    }
    done = run("ingest", write_files(tmp_path / "site", files), "--index", index)
    assert (done["documents"], done["skipped"]) == (1, {".yml": 1, "for programs": 1, "excluded by the site": 1})
    assert done["leftOut"] == {"is an error page": 1, "is a table of contents": 1}


def test_a_text_in_two_formats_is_one_document_until_one_of_them_is_gone(run: Run, docs: Path, index: Path) -> None:
    (docs / "a.txt").write_text("Import: a permit is needed.", encoding="utf-8")
    seen = []
    for _ in range(2):
        done = run("ingest", docs, "--index", index)
        rows = run("ls", "--index", index)["documents"]
        seen.append(
            (done["leftOut"], done["removed"], {row["path"]: (row["docId"], row["otherPaths"]) for row in rows})
        )
        (docs / "a.md").unlink(missing_ok=True)
    assert seen == [
        ({"has the text of another file": 1}, 0, {"a.md": ("a", ["a.txt"]), "b.md": ("b", [])}),
        ({}, 0, {"a.txt": ("a", []), "b.md": ("b", [])}),
    ]


def test_sources_get_links_to_their_sections_and_the_next_run_knows_the_address(
    run: Run, docs: Path, index: Path
) -> None:
    run("ingest", docs, "--index", index, "--base-url", "https://example.org/help/", "--exclude", "b.md")
    (docs / "a.md").write_text("# Permits\n\n## Export\n\nA licence is needed.", encoding="utf-8")

    again = run("ingest", "--index", index)
    hit = run("ask", "what is needed for export?", "--index", index)

    assert again["changed"] == 1
    assert hit["sources"][0]["url"] == "https://example.org/help/a#export"
    assert list(listed(run, index)) == ["a.md"]
    # An option that is given takes the place of what is remembered.
    run("ingest", docs, "--index", index, "--base-url", "https://new.example/", "--exclude", "")
    assert listed(run, index) == {"a.md": "https://new.example/a", "b.md": "https://new.example/b"}


def test_each_folder_has_its_own_base_and_what_is_dropped_is_said(
    run: Run, command: Run, docs: Path, tmp_path: Path, index: Path
) -> None:
    write_files(tmp_path / "more", {"c.txt": "Of cranes.", "d.xyz": "x", "e.xyz": "x"})
    repository = "https://github.com/o/r/blob/main/docs"

    told = run("ingest", f"{docs}={repository}", tmp_path / "more", "--base-url", "https://c.example", "--index", index)

    assert told["links"] == [f"{repository}/a.md", f"{repository}/b.md", "https://c.example/c.txt"]
    _, _, said = command("ingest", tmp_path / "more", "--index", index, "--allow-removals")
    assert f"No longer: --base-url https://c.example --base-url {docs}={repository}" in said
    alone = run("ingest", tmp_path / "more", "--index", index)
    passed = {"kind": ".xyz", "files": 2, "example": "d.xyz", "remedy": "--as xyz=txt reads them as text"}
    assert alone["passedOver"] == [passed]
    assert run("ingest", tmp_path / "more", "--index", index, "--as", "xyz=md")["documents"] == 3
    wrong = run("ingest", docs, "--index", index, "--as", "xyz=foo", status=2)
    assert "'xyz=foo' is not SUFFIX=FORMAT" in wrong["error"]


def test_a_folder_of_other_files_is_told_what_it_holds_and_a_missing_one_fails(
    command: Run, tmp_path: Path, index: Path
) -> None:
    write_files(tmp_path / "docs", {"slides.key": "x"})
    status, _, said = command("ingest", tmp_path / "docs", "--index", index)
    assert status == 1
    assert said.endswith("no text in any of them. Passed over: 1 .key\n")
    status, out, _ = command("ingest", tmp_path / "nowhere", "--index", index, "--json")
    assert (status, json.loads(out)["code"]) == (1, "source_unreadable")


def test_each_kind_that_is_passed_over_has_its_remedy_and_none_is_read_as_markup(
    command: Run, tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("documents.converters.find_spec", lambda name: None)
    names = "NOTES a.css b.js c.lock d.key e.log f.png n.pst o.pages p.7z"
    files: dict[str, str | bytes] = dict.fromkeys(names.split(), "From cranes")
    files |= dict.fromkeys(("m/2.doc", "m/3.doc", "m/memo.wps"), bytes.fromhex("d0cf11e0a1b11ae1"))
    files |= {
        "a.md": "Of cranes.",
        "m/4.doc": r"{\rtf1 Of cranes.}",
        "m/5.xls": "<table><tr><td>a",
        "m/6.doc": "Of them.",
    }
    write_files(tmp_path / "docs", files)
    _, out, said = command("ingest", tmp_path / "docs", "--index", index)
    assert "documents  4" in out
    assert [line for line in said.splitlines() if "assed over" in line] == [
        "Passed over: 2 .doc files (m/2.doc, ...): save them as .docx",
        "Passed over: 1 file without a suffix (NOTES): give it the suffix .mbox",
        "Passed over: 1 .log file (e.log): --as log=txt reads it as text",
        "Passed over: 1 .png file (f.png): install text recognition (pip install 'serverless-rag[ocr]', in a clone "
        "make setup OCR=1) to read it",
        "Passed over: 1 .pst file (n.pst): export the messages as .mbox or .eml",
        "Passed over: 1 .pages file (o.pages): save it as .docx or .pdf",
        "Passed over: 1 .7z file (p.7z): unpack it",
        "Passed over: 1 .wps file (m/memo.wps): save it as .docx",
    ]
    given = (tmp_path / "docs" / "a.md", tmp_path / "docs" / "m" / "memo.wps")
    _, _, said = command("ingest", *given, "--index", index, "--allow-removals")
    assert said.endswith("memo.wps: is a .wps file, which is not read: save it as .docx\n")
    write_files(tmp_path / "docs", {"mkdocs.yml": "site_name: Cranes"})
    _, _, said = command("ingest", tmp_path / "docs", "--index", index)
    assert ".png" not in said
    assert ".log" not in said


def test_a_page_that_loses_words_is_named_with_both_numbers_and_strict_fails(
    run: Run, command: Run, tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = " ".join(f"Word{number}" for number in range(60))
    write_files(tmp_path / "docs", {"a.md": words})
    lossy = documents.Converted("Word0 Word1", (), words)
    monkeypatch.setattr(documents, "clean_page", lambda *_, **__: lossy)

    (loss,) = run("ingest", tmp_path / "docs", "--index", index)["losses"]
    status, _, said = command("ingest", tmp_path / "docs", "--index", index, "--strict")

    excerpt = words[:80].strip()
    path = str(tmp_path / "docs" / "a.md")
    assert loss == {"path": path, "sourceWords": 60, "indexedWords": 2, "excerpt": excerpt}
    assert status == 1
    assert f"a.md: has 60 words, of which 2 are indexed; left out: {excerpt}\n" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name a folder, a file or an address"),
        (("https://docs.example.com/", "--watch"), "only folders and files can be watched"),
        (("docs", "--exclude", "!"), "'!'"),
        *((("docs", "--base-url", url), repr(url)) for url in ("htp://x", "https://docs example.com", "http://[")),
    ],
)
def test_bad_usage_is_named(
    run: Run, docs: Path, index: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(docs.parent)
    assert said in run("ingest", *arguments, "--index", index, status=2)["error"]


class Stop(Exception):
    """Ends a watch that would go on for ever."""


def test_a_change_during_the_first_run_is_met(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("old", encoding="utf-8")
    seen: list[str] = []

    def again() -> None:
        seen.append(page.read_text(encoding="utf-8"))
        if seen[-1] == "new":
            raise Stop
        page.write_text("new", encoding="utf-8")

    with pytest.raises(Stop):
        watch_files([tmp_path], again)

    assert seen == ["old", "new"]


def test_an_interrupted_run_or_a_folder_that_is_not_there_ends_the_watch(tmp_path: Path) -> None:
    def again() -> None:
        raise CommandFailed("Interrupted", code="interrupted", exit_status=INTERRUPTED)

    with pytest.raises(CommandFailed):
        watch_files([tmp_path], again)
    with pytest.raises(FileNotFoundError, match="none"):
        watch_files([tmp_path / "none"], lambda: None)


def test_watching_ingests_again_after_a_change_and_outlives_a_failure(
    docs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("watchfiles.watch", lambda *_, **__: iter([{1}, {2}]))
    calls: list[int] = []

    def again() -> None:
        calls.append(1)
        if len(calls) == 2:
            raise CommandFailed("Nothing to index", code="source_unreadable")

    watch_files([docs], again)

    assert len(calls) == 3
    assert "Error: Nothing to index" in capsys.readouterr().err


def test_a_site_is_read_kept_while_it_is_down_and_its_gone_pages_leave(run: Run, index: Path) -> None:
    with WebServer().running() as web:
        web.site["/guide/"] = html('<h1>Guide</h1><p>Start here.</p><a href="fees.html">Fees</a>', title="Guide")
        web.site["/guide/fees.html"] = html('<h2 id="port">Port fees</h2><p>The port fee is 40 dollars.</p>')
        address = f"{web.address}/guide/"

        refused = run("ingest", address, "--index", index, status=1)
        first = run("ingest", address, "--index", index, "--allow-host", "127.0.0.1")
        hit = run("ask", "what is the port fee?", "--index", index)
        web.site["/guide/fees.html"] = Answer(status=500)
        down = run("ingest", "--index", index)
        web.site["/guide/fees.html"] = Answer(status=404)
        gone = run("ingest", "--index", index, "--allow-removals")

    assert "127.0.0.1" in refused["error"]
    assert (first["documents"], first["failed"]) == (2, [])
    assert hit["sources"][0]["url"] == f"{address}fees.html#port"
    assert (down["documents"], down["removed"], len(down["failed"])) == (2, 0, 1)
    assert (gone["documents"], gone["removed"]) == (1, 1)


def test_a_dry_run_of_a_site_leaves_nothing_behind(run: Run, index: Path) -> None:
    with WebServer().running() as web:
        web.site["/a.html"] = html("<p>Words to read.</p>")
        told = run("ingest", f"{web.address}/a.html", "--index", index, "--allow-host", "127.0.0.1", "--dry-run")
    assert (told["added"], told["chunks"], told["dryRun"], index.exists()) == (1, 1, True, False)


def ended(number: int) -> str:
    if number == 2:
        os._exit(9)
    return str(number)


def endless(number: int) -> str:
    while number == 2:
        pass
    return str(number)


@pytest.mark.parametrize(
    ("work", "limit_s", "said"), [(ended, 60, "exit code 9"), (endless, 1, "more than 1 s of CPU")]
)
def test_a_process_that_dies_or_does_not_end_costs_one_file(
    work: Callable[[int], str], limit_s: float, said: str
) -> None:
    results = list(map_in_processes(work, [1, 2, 3, 4], on_loss=lambda n, why: f"lost {n}: {why}", limit_s=limit_s))
    assert [results[0], *results[2:]] == ["1", "3", "4"]
    assert results[1].startswith("lost 2: ")
    assert said in results[1]


def test_tables_beside_the_documents_are_kept_in_the_index_and_serve_its_questions(
    run: Run, docs: Path, index: Path
) -> None:
    write_files(docs, {"acronyms.json": '{"FD": "Fee Desk"}', "filters.json": '[{"where": {"category": "docs"}}]'})
    first = run("ingest", docs, "--index", index, "--profile", "gacounts")
    asked = ("ask", "What does the FD take?", "--index", index)

    trail = run(*asked)["metadata"]["trail"]
    (docs / "filters.json").unlink()
    own = write_files(docs.parent, {"own.csv": "acronym,long form\nFD,Forms Desk\n"}) / "own.csv"
    second = run("ingest", docs, "--index", index, "--acronyms", own)

    assert (first["documents"], second["unchanged"]) == (2, 2)
    assert trail[:1] == ["expanded 'FD' to 'Fee Desk (FD)'"]
    assert run(*asked)["metadata"]["trail"][:1] == ["expanded 'FD' to 'Forms Desk (FD)'"]
    own.write_text("nothing", encoding="utf-8")
    assert "must begin with the row" in run("ingest", docs, "--index", index, status=1)["error"]


def test_the_seeds_cut_is_remembered(run: Run, docs: Path, index: Path) -> None:
    write_files(docs, {"c.md": "# Long\n\n## Text\n\n" + "One more sentence stands here. " * 100})
    usual = run("ingest", docs, "--index", index)
    seed = run("ingest", docs, "--index", index, "--cut", "seed")
    again = run("ingest", docs, "--index", index)
    assert (usual["documents"], seed["documents"], again["unchanged"]) == (3, 3, 3)
    assert seed["chunks"] == again["chunks"] == 2 + 1 + 4  # "#" and "##" of a.md and c.md, whose text takes three
    assert "'other'" in run("ingest", docs, "--index", index, "--cut", "other", status=2)["error"]
