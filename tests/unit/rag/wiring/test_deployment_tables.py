"""rag.wiring.tables: where the tables come from, and their version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from knowledge.model.manifest import Provenance
from rag.config.settings import Settings, load
from rag.errors import ConfigurationError
from rag.wiring.tables import Tables

ACRONYMS = '{"ABO": "Administrative Business Office"}'
RULES = '[{"keywords": ["logo"], "where": {"category": "brand"}, "priority": 1}]'


class KeptIndex:
    """An index that keeps ``tables``, None for one without a manifest."""

    def __init__(self, tables: Mapping[str, str] | None) -> None:
        self.manifest = None if tables is None else SimpleNamespace(made=Provenance(tables=tables))

    @contextmanager
    def lease(self) -> Iterator[KeptIndex]:
        yield self


def tables(kept: Mapping[str, str] | None = None, **env: str) -> Tables:
    return Tables(load(Settings, {"RAG_PROFILE": "gacounts", **env}), KeptIndex(kept))  # type: ignore[arg-type]


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def expanded(found: Tables) -> str:
    return found.acronyms().expand("Ask ABO")[0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", ACRONYMS),
        ("a.CSV", "acronym,long form\nABO,Administrative Business Office\n"),
        ("a.json", "\ufeff" + ACRONYMS),
    ],
)
def test_the_file_that_is_named(tmp_path: Path, name: str, text: str) -> None:
    place = written(tmp_path / name, text)
    assert expanded(tables(ACRONYMS_FILE=str(place))) == "Ask Administrative Business Office (ABO)"


def test_else_those_that_the_index_keeps_if_any(tmp_path: Path) -> None:
    assert (expanded(tables()), tables().rules().rules) == ("Ask ABO", ())
    kept = {"acronyms.json": ACRONYMS, "filters.json": RULES}
    assert "Administrative" in expanded(tables(kept))
    assert "Administrative" in expanded(tables({"acronyms.csv": "acronym,long form\nABO,Administrative Office\n"}))
    assert len(tables(kept).rules().rules) == 1
    other = written(tmp_path / "other.json", '{"XY": "Extra"}')
    assert expanded(tables(kept, ACRONYMS_FILE=str(other))) == "Ask ABO"
    assert tables(kept).digest() != tables({"filters.json": RULES}).digest()


@pytest.mark.parametrize("name", ["ACRONYMS_FILE", "FILTER_RULES_FILE"])
def test_a_file_that_cannot_be_read_or_used_is_named_at_the_start(tmp_path: Path, name: str) -> None:
    (tmp_path / "latin.json").write_bytes(b"\xff\xfe\xfa")
    (tmp_path / "other.json").write_text("1")
    for file, told in (("missing", "'missing.json'"), ("latin", "'latin.json'"), ("other", "a JSON|one JSON")):
        with pytest.raises(ConfigurationError, match=told):
            tables(None, **{name: str(tmp_path / f"{file}.json")})


@pytest.mark.parametrize("name", ["ACRONYMS_FILE", "FILTER_RULES_FILE"])
def test_the_version_is_that_of_the_texts(tmp_path: Path, name: str) -> None:
    text = ACRONYMS if name == "ACRONYMS_FILE" else RULES
    place = written(tmp_path / "t.json", text)
    before = tables(None, **{name: str(place)}).digest()
    assert before != tables().digest()
    moved = written(tmp_path / "elsewhere.json", text)
    assert tables(None, **{name: str(moved)}).digest() == before
    written(place, text.replace("ABO", "ABX").replace("logo", "logos"))
    assert tables(None, **{name: str(place)}).digest() != before
