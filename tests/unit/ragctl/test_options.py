"""Where the server keeps turns and votes: beside the index, unless somebody says otherwise."""

import os
from pathlib import Path

import pytest

from rag.config.settings import Settings, load
from ragctl.options import choose_store


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
