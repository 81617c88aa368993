"""Parts of commands: the doctor's checks, where the server keeps turns and votes, the best chunk of each document."""

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from knowledge.model.values import Chunk, Hit
from rag.config.settings import Settings, load
from ragctl.ask import show_words
from ragctl.contents import shorten
from ragctl.doctor import CheckFailed, check_llm, check_packages, check_python
from ragctl.options import choose_store
from ragctl.search import best_documents


def test_an_old_python_is_told_what_is_needed_and_without_an_llm_nothing_is_called() -> None:
    with pytest.raises(CheckFailed, match=r"3\.11\.9: 3\.12 or newer is needed"):
        check_python((3, 11, 9))
    assert check_python((3, 12, 0)).startswith("3.12.0 ")
    assert check_llm(load(Settings, {})) == "not configured: the extractive engine answers"


def test_packages_are_compared_with_their_pins(tmp_path: Path) -> None:
    pins = tmp_path / "tools.txt"
    rich = f"rich=={version('rich')} \\\n    --hash=sha256:00\n"
    other_system = "nothing==1.0 ; sys_platform == 'none' \\\n    --hash=sha256:00\n"

    pins.write_text(rich + other_system)
    assert check_packages(pins) == "1 as pinned"

    pins.write_text(rich + "typer==0.0.1 \\\n    --hash=sha256:00\nno-such-package==1.0\n")
    with pytest.raises(CheckFailed) as failed:
        check_packages(pins)
    installed = version("typer")
    assert f"typer is {installed} instead of ==0.0.1; no-such-package is missing. Run: " in str(failed.value)


def test_an_installed_package_is_compared_with_its_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs = {"serverless-rag": [f"rich=={version('rich')}", "typer==0.0.1"]}
    monkeypatch.setattr("ragctl.doctor.metadata.requires", needs.get)
    with pytest.raises(CheckFailed, match=r"^typer is \S+ instead of ==0\.0\.1\. Install serverless-rag anew"):
        check_packages(tmp_path / "tools.txt")


def test_every_pin_of_the_repository_is_understood() -> None:
    lines = (Path(__file__).parents[3] / "requirements" / "tools.txt").read_text().splitlines()
    pins = sum("==" in line and not line.startswith((" ", "#")) for line in lines)
    assert 50 < int(check_packages().split()[0]) <= pins


# Turns and votes are beside the index, unless somebody says otherwise


@pytest.fixture(autouse=True)
def _restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORE_PATH", "")  # so that it is put back, whatever is set


def place(index: str | Path, **named: str) -> tuple[str, str]:
    settings, said = choose_store(load(Settings, {"INDEX_URI": str(index), **named}))
    return settings.store_path, said


def test_it_is_beside_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INDEX_URI", f"{tmp_path}/new/handbook/")
    beside = str(tmp_path / "new" / "handbook.store.sqlite")
    assert place(f"{tmp_path}/new/handbook/") == (beside, f"Turns and votes are kept in {beside}")
    assert os.environ["STORE_PATH"] == beside, "which the function reads"
    assert list(tmp_path.iterdir()) == [], "nothing is made before something is kept"


def test_what_somebody_names_wins() -> None:
    assert place("x", STORE_PATH="s.sqlite") == ("s.sqlite", "Turns and votes are kept in s.sqlite")
    assert place("x", STORE_PATH="none") == ("none", "Nothing is remembered: STORE_PATH=none")
    assert place("x", TABLE_NAME="rag") == ("", "Turns and votes are kept in the table rag")


def test_without_a_place_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, said = place("chroma://localhost:8000")
    assert (path, said) == ("", "Nothing is remembered: an index on a server has no place for it. Set STORE_PATH")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    path, said = place(tmp_path / "index")
    assert (path, said) == ("", f"Nothing is remembered: {tmp_path} cannot be written. Set STORE_PATH")


# For people


def test_an_answer_is_printed_as_a_page_shows_it_and_a_long_path_without_its_middle() -> None:
    answer = (
        r"\*\*\* [Geräte \| neu](<B%C3%BC ro/a b.csv>), ![](x.png)[an](#a) [out](https://a.example) `\*` \\srv\x [1]"
    )
    assert show_words(answer) == r"*** Geräte | neu, an [out](https://a.example) `\*` \srv\x [1]"
    assert [shorten("exports/a-long-name.zip", chars) for chars in (23, 10, 9)] == [
        *("exports/a-long-name.zip", "expor….zip", "expo….zip"),
    ]


# The best chunk of each document


class Ranked:
    """A search that gives the chunks of ``doc_ids`` in that order; scores fall from 1."""

    def __init__(self, doc_ids: str) -> None:
        self.asked: list[int] = []
        told: dict[str, Any] = {"text": "", "title": "", "chunk_index": 0, "chunk_count": 1}
        chunks = [Chunk(number=n, doc_id=name, **told) for n, name in enumerate(doc_ids)]
        self._hits = [Hit(chunk=chunk, score=1 - chunk.number / 10, parts={}) for chunk in chunks]

    def __call__(self, text: str, k: int) -> tuple[Hit, ...]:
        assert text == "query"
        self.asked.append(k)
        return tuple(self._hits[:k])


def documents(search: Ranked, *, k: int) -> list[tuple[str, float]]:
    return [(hit.chunk.doc_id, hit.score) for hit in best_documents(search, "query", k=k)]


def test_a_document_counts_once_with_its_best_chunk_and_more_are_asked_for_until_there_are_enough() -> None:
    assert documents(Ranked("aabab"), k=2) == [("a", 1.0), ("b", 0.8)]
    for doc_ids, k, asked in (("aba", 10, [20]), ("aaaaaaab", 2, [4, 8])):
        search = Ranked(doc_ids)
        assert [doc_id for doc_id, _ in documents(search, k=k)] == ["a", "b"]
        assert search.asked == asked
