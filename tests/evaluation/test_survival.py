"""Sections of real documentation, read as an answer and printed again: how many renderers show as before."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import unescape

import pytest
from evaluation.rates import public_data, report
from fakes import make_chunk
from markdown_it import MarkdownIt

from rag.answer.parse import normalise_text, parse_markdown
from rag.answer.render import render_markdown
from rag.answer.restrict_links import RestrictLinks

pytestmark = pytest.mark.slow

SETS = ("docs_rust_book", "docs_fastapi", "docs_hugo", "docs_handbook")
EACH, FLOOR = 150, 590
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"#{1,6} ")
_LINKED = re.compile(r'<a href="([^"]*)"[^>]*>(?:<code>)?([^<]*)(?:</code>)?</a>')
_RUNS = re.compile(r"<!--.*?-->|<(script|style|iframe|svg)\b.*?</\1>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z!][^<>]*>")


@dataclass(frozen=True)
class Section:
    """What stands below a heading, that included."""

    name: str
    text: str


def sections(name: str) -> Iterator[Section]:
    """The sections of the pages of a set; what stands before the first heading is none."""
    for path in sorted(public_data(name).rglob("*.md")):
        lines: list[str] = []
        fence = ""
        for line in path.read_text(encoding="utf-8").split("\n"):
            mark = _FENCE.match(line)
            if mark and not fence:
                fence = mark[1]
            elif mark and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            elif _HEADING.match(line) and not fence:
                if lines:
                    yield Section(f"{name}/{path.name}", "\n".join(lines))
                lines = [line]
                continue
            if lines:
                lines.append(line)
        if lines:
            yield Section(f"{name}/{path.name}", "\n".join(lines))


def printed(text: str) -> str:
    """``text`` as it is printed where it is what an answer cites itself."""
    restrict = RestrictLinks([make_chunk(text, number=1)])
    return render_markdown(restrict(parse_markdown(normalise_text(text)), cited=(1,))).text


@cache
def _renderer() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def rendered(text: str) -> str:
    """The HTML of ``text``: blanks do not count, nor whether an address that stands bare is a link."""
    html = _renderer().render(text)
    html = _LINKED.sub(lambda link: link[2] if unescape(link[2]) in unescape(link[1]) else link[0], html)
    return " ".join(html.split())


def visible(text: str) -> str:
    """The letters that a reader sees of ``text``: no blanks, no tags, and no ticks, which may stand in one."""
    shown = unescape(_TAG.sub("", _renderer().render(text))).replace("`", "")
    return "".join(unescape(_TAG.sub("", _RUNS.sub("", shown))).split())


def survives(text: str) -> bool:
    """Whether ``text`` renders the same; where there is HTML in it, whether it says the same."""
    after = printed(text)
    return rendered(text) == rendered(after) or (bool(_TAG.search(text)) and visible(text) == visible(after))


def test_sections_of_documentation_render_as_before() -> None:
    chosen = [one for name in SETS for one in random.Random(22).sample(list(sections(name)), EACH)]
    kept = [survives(one.text) for one in chosen]
    lost = [one.name for one, same in zip(chosen, kept, strict=True) if not same]
    report(f"sections that render the same (others: {', '.join(lost)})", sum(kept), len(kept), FLOOR / len(kept))
