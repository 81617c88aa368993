"""documents.site_title: what a site is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from documents import site_of, site_title


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mkdocs.yml", "site_name: Harbour  Bikes\ndocs_dir: docs\n"),
        ("hugo.toml", 'title = "Harbour Bikes"\ncontentDir = "docs"\n'),
        ("_config.yml", "title: Harbour Bikes\nsource: docs\n"),
        ("book.toml", '[book]\ntitle = "Harbour Bikes"\nsrc = "docs"\n'),
    ],
)
def test_a_configuration_says_it(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert site_title([site_of(tmp_path / "docs")]) == "Harbour Bikes"


def test_else_a_page_that_was_fetched_does(tmp_path: Path) -> None:
    pages = [tmp_path / "plain.html", tmp_path / "named.html"]
    pages[0].write_text("<html><head><title>Fees</title></head><body>x</body></html>", encoding="utf-8")
    pages[1].write_text(
        '<html><head><meta property="og:site_name" content="Harbour &amp; Bikes"></head></html>', encoding="utf-8"
    )
    (tmp_path / "docs").mkdir()
    assert site_title([site_of(tmp_path / "docs")], pages) == "Harbour & Bikes"
    assert site_title([], pages[:1]) == ""
