"""rag.wiring.tables: where the tables come from, and their version."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag.config.settings import Settings, load
from rag.errors import ConfigurationError
from rag.wiring.tables import Tables

ACRONYMS = '{"ABO": "Administrative Business Office"}'
RULES = '[{"keywords": ["logo"], "where": {"category": "brand"}, "priority": 1}]'


def tables(tmp_path: Path, **env: str) -> Tables:
    environ = {"RAG_PROFILE": "gacounts", "PROMPTS_DIR": str(tmp_path / "prompts"), **env}
    return Tables(load(Settings, environ))


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def expanded(found: Tables) -> str:
    return found.acronyms().expand("Ask ABO")[0]


def test_without_any_there_is_nothing_to_do(tmp_path: Path) -> None:
    assert expanded(tables(tmp_path)) == "Ask ABO"
    assert tables(tmp_path).rules().rules == ()


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
    assert expanded(tables(tmp_path, ACRONYMS_FILE=str(place))) == "Ask Administrative Business Office (ABO)"


def test_else_the_one_beside_the_prompts(tmp_path: Path) -> None:
    written(tmp_path / "prompts/gacounts/acronyms.json", ACRONYMS)
    written(tmp_path / "prompts/gacounts/filters.json", RULES)
    assert "Administrative" in expanded(tables(tmp_path))
    assert len(tables(tmp_path).rules().rules) == 1
    other = written(tmp_path / "other.json", '{"XY": "Extra"}')
    assert expanded(tables(tmp_path, ACRONYMS_FILE=str(other))) == "Ask ABO"


@pytest.mark.parametrize("name", ["ACRONYMS_FILE", "FILTER_RULES_FILE"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"'missing\.json'"):
        tables(tmp_path, **{name: str(tmp_path / "missing.json")})
    (tmp_path / "latin.json").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(ConfigurationError, match=r"'latin\.json'"):
        tables(tmp_path, **{name: str(tmp_path / "latin.json")})


@pytest.mark.parametrize("name", ["ACRONYMS_FILE", "FILTER_RULES_FILE"])
def test_the_version_is_that_of_the_texts(tmp_path: Path, name: str) -> None:
    text = ACRONYMS if name == "ACRONYMS_FILE" else RULES
    place = written(tmp_path / "t.json", text)
    before = tables(tmp_path, **{name: str(place)}).digest()
    assert before != tables(tmp_path).digest()
    moved = written(tmp_path / "elsewhere.json", text)
    assert tables(tmp_path, **{name: str(moved)}).digest() == before
    written(place, text.replace("ABO", "ABX").replace("logo", "logos"))
    assert tables(tmp_path, **{name: str(place)}).digest() != before
