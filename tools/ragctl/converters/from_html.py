"""HTML to Markdown with markdownify: the main part of a page, without what serves its look and its navigation."""

from __future__ import annotations

import re
import warnings
from itertools import chain
from urllib.parse import urlsplit

from bs4 import BeautifulSoup, CData, Tag, XMLParsedAsHTMLWarning
from bs4.element import PageElement, PreformattedString
from markdownify import ATX, MarkdownConverter

from ragctl.converters.output import compose, literal, one_line

_PARSER = "html.parser"  # Python's own: it loads nothing, and knows no entities but HTML's
_NO_TEXT = (
    "script, style, noscript, template, svg, math, iframe, object, embed, canvas, audio, video, dialog, input,"
    "select, textarea, nav, [role=navigation], [role=search], [role=banner], [role=contentinfo], [hidden]"
)
_FRAME = "header, footer"  # those of the page, not those of an article in it
_SEPARATOR = r"\s*(?:[|·•»:–—]|\s-\s)\s*"  # between a page's name and its site's
_INLINE = frozenset({"a", "abbr", "b", "code", "em", "i", "kbd", "mark", "small", "span", "strong", "u"})
_HEADING = re.compile(r"h[1-6]")
_BACKTICKS = re.compile(r"`{3,}")
_BARE_PIPE = re.compile(r"(?<!\\)\|")


def convert(data: bytes) -> str:
    """The page as Markdown; its title is ``<title>`` (without the site's name, if ``<h1>`` tells which part that is).

    Raises:
        Unconvertible: there is no text in it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)  # XHTML is read well enough
        page = BeautifulSoup(data, _PARSER)
    title, url = _title(page), _address(page)
    return compose(markdown(_main_part(page)), title=title, url=url)


def parse(html: str) -> BeautifulSoup:
    """An HTML fragment made by another converter."""
    return BeautifulSoup(html, _PARSER)


def markdown(part: Tag) -> str:
    """``part`` as Markdown: headings as ``#``, tables with a header row, links and images by their words."""
    text = _Converter(
        heading_style=ATX, bullets="-", escape_asterisks=False, escape_underscores=False, table_infer_header=True
    ).convert_soup(part)
    return str(text)


def _title(page: BeautifulSoup) -> str:
    title, heading = (one_line(found.get_text(" ")) if found else "" for found in (_page_title(page), page.h1))
    if heading and re.match(re.escape(heading) + _SEPARATOR + r"\S", title):
        return heading
    return title or heading


def _page_title(page: BeautifulSoup) -> Tag | None:
    return next((tag for tag in page.find_all("title") if tag.find_parent("svg") is None), None)


def _address(page: BeautifulSoup) -> str:
    link = page.select_one("link[rel~=canonical][href]")
    address = str(link["href"]).strip() if link else ""
    try:
        return address if urlsplit(address).scheme in ("http", "https") else ""
    except ValueError:
        return ""


def _main_part(page: BeautifulSoup) -> Tag:
    for tag in page.select(_NO_TEXT):
        tag.extract()
    for node in page.find_all(string=lambda text: isinstance(text, PreformattedString) and not isinstance(text, CData)):
        node.extract()  # comments, <?php ... ?>, <!DOCTYPE ...>
    for button in page.select("button"):
        if _is_read(button):
            button.unwrap()
        else:
            button.extract()
    mains = [main for main in page.select("main, [role=main]") if main.get_text(strip=True)]
    if len(mains) == 1:
        return mains[0]
    if page.head is not None and page.body is not None:
        page.head.extract()
    for tag in page.select("title"):
        tag.extract()
    for tag in page.select(_FRAME):
        if tag.find_parent(["article", "section"]) is None and tag.h1 is None:
            tag.extract()
    return page


def _is_read(button: Tag) -> bool:
    """Whether the words on a button are part of the text: of a sentence ("Click the [Start] button"), or all of a
    heading, which opens what is below it. Others only serve the page."""
    inner, beside = button, _has_words_beside(button)
    while inner.parent is not None and inner.parent.name in _INLINE:
        inner = inner.parent
        beside = beside or _has_words_beside(inner)
    block = inner.parent.name if inner.parent is not None else ""
    return not beside if _HEADING.fullmatch(block) else beside and block != "pre"


def _has_words_beside(tag: Tag) -> bool:
    def reads(node: PageElement) -> bool:
        return (not isinstance(node, Tag) or node.name in _INLINE) and bool(node.get_text(strip=True))

    return any(map(reads, chain(tag.previous_siblings, tag.next_siblings)))


class _Converter(MarkdownConverter):
    """markdownify with what an index needs: words, and blocks that are what they were."""

    def escape(self, text: str, parent_tags: set[str]) -> str:
        return literal(text)

    def convert_a(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return text  # [words](address) would be read as a citation

    def convert_img(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return one_line(str(el.get("alt") or ""))

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return str(super().convert_td(el, _BARE_PIPE.sub(r"\\|", text), parent_tags))  # type: ignore[misc]  # stub

    def convert_th(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return str(super().convert_th(el, _BARE_PIPE.sub(r"\\|", text), parent_tags))  # type: ignore[misc]  # stub

    def convert_pre(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
        fence = "`" * (longest + 1)
        code = text.strip("\n")
        return f"\n\n{fence}\n{code}\n{fence}\n\n" if code.strip() else ""
