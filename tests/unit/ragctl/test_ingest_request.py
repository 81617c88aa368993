"""What an ingest takes over from the last one, which files it reads again, by which readers, and in which languages."""

import pickle
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from made_files import write_files

from knowledge.model.errors import SourceUnreadable
from knowledge.read.loading import ConvertedText, EmptyFile, LoadedDocument, Loading, LoadOutcome, Reader, load
from knowledge.read.walk import FoundFile
from knowledge.search.language import language_shares
from ragctl.ingest import document_filter
from ragctl.ingest_job import describe_languages
from ragctl.ingest_request import IngestRequest, split_base
from ragctl.reading_cache import ReadingCache, TracedReading
from ragctl.sources import PageSites, find_sites, readers


def test_the_same_folder_written_otherwise_keeps_its_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``ragctl serve --source`` need not name it as the first ingest did."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    request = IngestRequest(paths=("docs",), base_url="https://x.example", drafts=True)
    last = request.to_provenance("waypoint", "", {"filters.json": "[]"})
    for path in ("docs", "./docs/", str(tmp_path / "docs")):
        now = IngestRequest(paths=(path,)).restore(last, given={"paths"})
        assert (now.paths, now.base_url, now.drafts) == ((path,), "https://x.example", True)
    assert IngestRequest(paths=("other",)).restore(last, given={"paths"}) == IngestRequest(paths=("other",))


def test_a_folder_that_was_moved_keeps_its_options_and_its_own_base(tmp_path: Path) -> None:
    new = tmp_path / "new" / "docs"
    new.mkdir(parents=True)
    old = tmp_path / "old" / "docs"
    request = IngestRequest(paths=(str(old),), base_urls=(f"{old}=https://d.example",), drafts=True)
    last = request.to_provenance("house", "", {})

    now = IngestRequest(paths=(str(new),)).restore(last, given={"paths"})

    bases = [now.find_base_url(str(place)) for place in (new, tmp_path)]
    assert (now.drafts, bases) == (True, ["https://d.example", ""])
    old.mkdir(parents=True)  # which is another folder of that name then
    assert IngestRequest(paths=(str(new),)).restore(last, given={"paths"}) == IngestRequest(paths=(str(new),))


def test_a_pair_is_a_path_with_an_address_behind_it() -> None:
    assert split_base("docs/a=https://x.example/?q=1") == ("docs/a", "https://x.example/?q=1")
    assert split_base("https://x.example/?u=https://y.example") == ("", "https://x.example/?u=https://y.example")
    assert split_base("a=b") == ("", "a=b")


@pytest.mark.parametrize(
    ("changed", "counts"),
    [
        ("docs/a.md", True),
        ("docs/sub/.ragignore", True),
        ("docs/.git/HEAD", False),
        ("docs/.index/waypoint/manifest.json", False),  # where ``ragctl ingest .`` has its index: it would never end
        ("mine/manifest.json", False),
        ("mine.md", True),
    ],
)
def test_what_is_hidden_or_written_by_the_run_itself_does_not_count(tmp_path: Path, changed: str, counts: bool) -> None:
    folder = tmp_path / ".notes"  # hidden itself, and given
    assert document_filter([folder], folder / "mine")(None, str(folder / changed)) is counts


def test_readers_go_to_other_processes_take_any_encoding_and_raise_what_an_ingest_names() -> None:
    again = pickle.loads(pickle.dumps(dict(readers())))
    assert again[".csv"]("Name,City\nAda,Köln\n".encode("cp1252"), None) == ConvertedText(
        "---\n---\n| Name | City |\n| --- | --- |\n| Ada | Köln |\n",
        ("is not UTF-8: read as Windows-1252",),
        "Name,City\nAda,Köln\n",
    )
    with pytest.raises(EmptyFile, match="holds no text"):
        readers()[".html"](b"<p></p>", None)
    with pytest.raises(SourceUnreadable, match=r"or an old \.doc file"):
        readers()[".docx"](b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", None)
    with pytest.raises(SourceUnreadable, match="cannot be read as CSV: ValueError: is a binary file, not text"):
        readers()[".csv"](b"a\0b", None)


GERMAN = "Der Urlaub wird im Portal beantragt und von der Leitung genehmigt. Wer krank ist, meldet sich."
ENGLISH = "The leave is asked for in the portal, and it will be granted by the management."


def test_another_language_of_most_documents_is_named_with_its_share() -> None:
    told = describe_languages(language_shares([*[GERMAN] * 3, ENGLISH]))
    assert told.startswith("most of these documents are in German (75%): ")
    assert told.endswith("set by EMBED_MODEL and EMBED_BASE_URL")
    assert "\n" not in told
    assert describe_languages(language_shares([ENGLISH, ENGLISH, GERMAN])) == ""
    assert describe_languages(language_shares(["GC-409: 12.50", ""])) == ""


@pytest.mark.parametrize(
    ("shares", "named"),
    [
        ({"German": 0.3, "Thai": 0.21, "English": 0.4}, "in German (30%), Thai (21%): "),
        ({"German": 0.5, "English": 0.5}, None),  # half are not most
        ({"Thai": 0.96, "Dutch": 0.04}, "in Thai (96%): "),
    ],
)
def test_several_languages(shares: dict[str, float], named: str | None) -> None:
    assert (named in describe_languages(shares)) if named else not describe_languages(shares)


# Kept readings


def read(docs: Path, kept: Path, options: str = "") -> tuple[list[str], list[str]]:
    """The names of the files that were read, and all texts."""
    sites = PageSites({}, find_sites([docs]))
    files = [FoundFile(path, docs, path.name, explicit=False) for path in sorted(docs.glob("*.md"))]
    names: list[str] = []

    def run(function: Callable[[FoundFile], TracedReading], some: Sequence[FoundFile]) -> Iterable[TracedReading]:
        names.extend(found.file.name for found in some)
        return map(function, some)

    readings = ReadingCache(kept, options)
    outcomes = list(readings.run(lambda found: load(found, Loading(site=sites)), files, run))
    readings.save()
    return names, [outcome.text.strip() for (outcome,) in outcomes if isinstance(outcome, LoadedDocument)]


def test_only_what_is_another_file_is_read_again(tmp_path: Path) -> None:
    docs, kept = tmp_path / "docs", tmp_path / "kept.sqlite"
    write_files(docs, {"a.md": "One fee.", "b.md": "See:\n\n{{#include ../part.txt}}", "../.git/HEAD": ""})
    first = read(docs, kept)
    assert first == (["a.md", "b.md"], ["One fee.", "See:"])

    assert read(docs, kept) == ([], first[1])
    (docs / "a.md").write_text("Two fees")
    assert read(docs, kept) == (["a.md"], ["Two fees", "See:"])
    (tmp_path / "part.txt").write_text("The harbour.")
    assert read(docs, kept) == (["b.md"], ["Two fees", "See:\n\nThe harbour."])
    (tmp_path / "part.txt").write_text("The quay.")
    assert read(docs, kept)[1][1] == "See:\n\nThe quay."
    assert read(docs, kept, "other options")[0] == ["a.md", "b.md"]


def test_a_draft_is_read_each_time_and_a_damaged_file_anew(tmp_path: Path) -> None:
    docs, kept = tmp_path / "docs", tmp_path / "kept.sqlite"
    late = "---\npublishdate: 9999-01-01\n---\nLater."
    write_files(docs, {"404.md": "No page is here.", "a.md": late, "b.md": "Now."})
    read(docs, kept)
    assert read(docs, kept) == (["a.md"], ["Later.", "Now."])

    kept.write_bytes(b"no database, and long enough to be looked at " * 100)

    assert read(docs, kept) == (["404.md", "a.md", "b.md"], ["Later.", "Now."])
    assert read(docs, kept)[0] == ["a.md"]
    (docs / "a.md").write_bytes(b"\x00\xff\x00" * 99)
    assert read(docs, kept)[0] == ["a.md"]
    assert read(docs, kept)[0] == [], "a file that fails for its bytes is not read again"


@pytest.mark.parametrize(("cause", "times"), [(ValueError("damaged"), 1), (MemoryError(), 2), (OSError("disk"), 2)])
def test_a_failure_that_may_pass_is_tried_again(cause: Exception, times: int, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_text("x")
    found = FoundFile(tmp_path / "a.bin", tmp_path, "a.bin", explicit=False)
    tried: list[str] = []

    def fails(data: bytes, found: FoundFile | None) -> ConvertedText:
        tried.append("a.bin")
        raise SourceUnreadable("cannot be read") from cause

    def outcomes() -> tuple[LoadOutcome, ...]:
        reader: Reader = fails
        readings = ReadingCache(tmp_path / "kept.sqlite", "")
        (made,) = readings.run(lambda file: load(file, Loading(readers={".bin": reader})), [found], map)
        readings.save()
        return made

    assert outcomes() == outcomes()
    assert len(tried) == times
