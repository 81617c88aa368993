"""Pages of the documentation: each is in the index, and each link leads somewhere."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FOLDERS = (ROOT / ".github", ROOT / "documents", ROOT / "tests", DOCS)
PAGES = sorted([*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in folder.rglob("*.md"))])
READER = MarkdownIt("gfm-like", {"linkify": False})


@cache
def blocks(page: Path) -> list[Token]:
    return READER.parse(page.read_text(encoding="utf-8"))


@cache
def anchors(page: Path) -> frozenset[str]:
    """The addresses of ``page``'s headings, as GitHub makes them."""
    found: list[str] = []
    for heading, inline in pairwise(blocks(page)):
        if heading.type == "heading_open":
            text = "".join(part.content for part in inline.children or ())
            slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            earlier = sum(re.sub(r"-\d+$", "", known) == slug for known in found)
            found.append(f"{slug}-{earlier}" if earlier else slug)
    return frozenset(found)


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """The file and the anchor (or "") of every link and picture of ``page`` that stays in the repository."""
    for token in (token for block in blocks(page) for token in (block, *(block.children or ()))):
        address = urlsplit(str(token.attrs.get("href") or token.attrs.get("src") or ""))
        if not address.scheme and (address.path or address.fragment):
            yield (page.parent / unquote(address.path)).resolve() if address.path else page, address.fragment


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    wrong = [
        f"{target.relative_to(ROOT)}#{anchor}"
        for target, anchor in links(page)
        if not target.exists() or (anchor and anchor not in anchors(target))
    ]
    assert wrong == []


@pytest.mark.parametrize("folder", [DOCS, DOCS / "adr", DOCS / "evidence"], ids=["docs", "adr", "evidence"])
def test_the_index_names_every_page(folder: Path) -> None:
    named = {target for target, _ in links(folder / "README.md")}
    pages = {path for path in folder.iterdir() if path.suffix in {".md", ".json"}}
    assert pages - named == {folder / "README.md"}


def test_every_picture_is_shown() -> None:
    shown = {target for page in PAGES for target, _ in links(page)}
    assert {path for path in DOCS.iterdir() if path.suffix in {".png", ".svg"}} - shown == set()


def test_each_promise_names_tests_that_there_are() -> None:
    page = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+/test_\w+\.py)(?:::(\w+))?`", page.partition("## Promises")[2])
    sources = {file: (ROOT / "tests" / file).read_text(encoding="utf-8") for file, _ in named}
    assert len(named) > 100
    assert [(file, test) for file, test in named if f"def {test}" not in sources[file]] == []
