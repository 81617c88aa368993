"""HTML to Markdown with markdownify: the main part of a page, without its look and its navigation."""

from __future__ import annotations

import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain

import soupsieve
from bs4 import BeautifulSoup, CData, Tag, XMLParsedAsHTMLWarning
from bs4.element import PageElement, PreformattedString
from markdownify import ATX, MarkdownConverter

from documents import entries
from documents.converters.icons import write_icons
from documents.converters.mathml import write_math
from documents.converters.output import compose, fence, hidden_caveat, literal, one_line
from documents.converters.tables import spread, table
from documents.converters.visibility import find_unseen
from documents.markup.templates import drop_template_tags
from documents.source_words import WIKI_TEXT, drop_export_noise
from documents.values import Converted

_PARSER = "html.parser"  # Python's own: it loads nothing, and knows no entities but HTML's
_NO_TEXT = (
    "script, style, noscript, template, svg, iframe, embed, canvas, audio, video, dialog, input,"
    "select, textarea, nav, [role=navigation], [role=search], [role=banner], [role=contentinfo],"
    ".breadcrumb, .breadcrumbs, [itemtype$=BreadcrumbList],"
    "object:is([type*=pdf], [type*=flash], [type^=audio], [type^=video])"
)
# Listings beside their line numbers, a table of two cells: 231 on ten built sites (Sphinx, Jekyll).
_NUMBERED_CODE = "table:has(td.linenos), table:has(td.rouge-gutter)"
_FRAME = "header, footer"  # those of the page, not those of an article in it
_SEPARATOR = r"\s*(?:[|·•»:–—]|\s-\s)\s*"  # between a page's name and its site's
_INLINE = frozenset({"a", "abbr", "b", "code", "em", "i", "kbd", "mark", "small", "span", "strong", "u"})
_AROUND_ITEMS = frozenset({"li", "blockquote"})
_HEADING = re.compile(r"h[1-6]")
_TEMPLATE_TAG = re.compile(rb"<%(?:[^%]|%(?!>)){0,2000}%>")  # ERB and the like, which no browser is sent
_TEMPLATE = re.compile(r"\{[%{]")  # in 142 of 882 chunks of the WCAG's documents, a site of Eleventy
_CODE = ("code", "kbd", "pre", "samp", "script", "style", "tt")
_PASTED = re.compile(r"^image-?\d[-_\d]*\.(?:png|jpe?g)$")  # Confluence names pictures so: 657 in 72 of 371 pages
_ANCHOR = re.compile(r"[^\s{}]+")


def convert(data: bytes) -> Converted:
    """Return the page as Markdown. Its title is ``<title>``, or ``<h1>`` if that is there beside the site's name."""
    page = parse(_TEMPLATE_TAG.sub(b"", data))
    for text in page.find_all(string=_TEMPLATE):
        if not text.find_parent(_CODE):  # which shows the source of a template
            text.replace_with(drop_template_tags(text, values=True))
    fields, hidden = (
        {"title": _page_title(page), "url": _canonical_address(page)} | _wiki_fields(page),
        drop_unseen(page),
    )
    drop_export_noise(page)
    return Converted(compose(markdown(_main_part(page), anchors=True), **fields), hidden_caveat(hidden))


def page_markdown(data: bytes | BeautifulSoup) -> tuple[str, list[str]]:
    """Return the main part of one page of a book, ``""`` if it holds no text, and the hidden texts left out of it."""
    page = data if isinstance(data, BeautifulSoup) else parse(data)
    hidden = drop_unseen(page)
    return markdown(_main_part(page)), hidden


def fragment_markdown(html: str) -> tuple[str, list[str]]:
    """Return the Markdown of a converter's HTML, and the hidden texts left out of it, even if all are hidden."""
    page = parse(f"{html}<p>.</p>")  # a page of which nothing is seen is one that a script shows
    hidden = drop_unseen(page)
    page.contents[-1].extract()
    write_math(page)
    return markdown(page), hidden


def drop_unseen(page: Tag) -> list[str]:
    """Take out of ``page`` what no reader sees, and return the texts of that which is not furniture anyway."""
    parts = find_unseen(page)
    furniture = soupsieve.compile(f"{_NO_TEXT}, {_FRAME}")
    texts = [
        part.get_text(" ", strip=True)
        for part in parts
        if not any(furniture.match(tag) for tag in (part, *part.parents) if isinstance(tag, Tag))
        and not (isinstance(part, Tag) and part.find("math"))  # which stands beside its picture
    ]
    for part in parts:
        part.extract()
    return texts


def parse(html: bytes | str) -> BeautifulSoup:
    """Parse a page, or a fragment of HTML or simple XML."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)  # XHTML is read well enough
        return BeautifulSoup(html, _PARSER)


def markdown(part: Tag, *, anchors: bool = False) -> str:
    """Return ``part`` as Markdown: headings as ``#``, tables with a header row, links and images by their words.

    With ``anchors`` a heading's id stands behind it, as ``{#id}``. ``part`` is changed.
    """
    for link in part.select("h1 a, h2 a, h3 a, h4 a, h5 a, h6 a, dt a"):
        if not any(char.isalnum() for char in link.get_text()):
            link.extract()  # the "¶" or "#" that links to the heading itself
    close_definitions(part)
    wrap_stray_rows(part)
    unwrap_layout_tables(part)
    text = _Converter(anchors=anchors).convert_soup(part)
    return str(text)


def _page_title(page: BeautifulSoup) -> str:
    tag = next((tag for tag in page.find_all("title") if tag.find_parent("svg") is None), None)
    named = page.select_one("#title-text") or page.h1  # a saved page of Confluence has its logo in another <h1>
    title, heading = (one_line(found.get_text(" ")) if found else "" for found in (tag, named))
    if space := page.select_one("#breadcrumbs a"):  # Confluence writes "Space : Page"
        title = title.removeprefix(f"{one_line(space.get_text(' '))} : ")
    if heading and re.match(re.escape(heading) + _SEPARATOR + r"\S", title):
        return heading
    named = page.select_one(".doc-content p.title")  # of Google Docs, whose pages have no <title>
    return title or (one_line(named.get_text()) if named else heading if len(page.select("h1")) == 1 else "")


def _wiki_fields(page: BeautifulSoup) -> dict[str, str]:
    """Return the author and, if it is in English, the date of a page of Confluence."""
    facts = page.select_one(".page-metadata:has(.author)")
    fields = {"author": one_line(author.get_text(" "))} if facts and (author := facts.select_one(".author")) else {}
    day = " ".join(facts.get_text(" ").replace(",", "").split()[-3:]) if facts else ""
    for form in ("%b %d %Y", "%d %b %Y"):
        with suppress(ValueError):
            fields["last_updated"] = datetime.strptime(day, form).date().isoformat()  # noqa: DTZ007 - a day
    return fields


def _canonical_address(page: BeautifulSoup) -> str:
    link = page.select_one("link[rel~=canonical][href]")
    address = str(link["href"]).strip() if link else ""
    return address if address.startswith(("http://", "https://")) else ""


def _drop_furniture(page: BeautifulSoup) -> None:
    for emoji in page.select("img[data-emoji-fallback]"):  # Confluence names most of them "(blue star)"
        emoji["alt"] = emoji["data-emoji-fallback"]
    for picture in page.find_all("img", alt=_PASTED):
        del picture["alt"]
    write_math(page)
    write_icons(page)
    for tag in page.select(_NO_TEXT):
        tag.extract()
    for listing in page.select(_NUMBERED_CODE):
        if code := listing.select_one("td.code pre, td.rouge-code pre"):
            listing.replace_with(code.extract())
    for node in page.find_all(string=lambda text: isinstance(text, PreformattedString) and not isinstance(text, CData)):
        node.extract()  # comments, <?php ... ?>, <!DOCTYPE ...>
    for button in page.select("button"):
        if _is_button_text(button):
            button.unwrap()
        else:
            button.extract()


def _main_part(page: BeautifulSoup) -> Tag:
    _drop_furniture(page)
    mains = page.select(WIKI_TEXT) or [main for main in page.select("main, [role=main]") if main.get_text(strip=True)]
    if len(mains) == 1:
        return mains[0]
    for tag in page.select("title"):
        tag.extract()
    for tag in page.select(_FRAME):
        if tag.find_parent(["article", "section"]) is None and tag.h1 is None:
            tag.extract()
    return page


def _is_button_text(button: Tag) -> bool:
    """Return whether a button's words belong to the text.

    They do in a sentence ("Click the [Start] button"), and if they are a whole heading, which opens the text below it.
    """
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
    """markdownify, which here keeps words and blocks and drops links' addresses."""

    def __init__(self, *, anchors: bool) -> None:
        super().__init__(heading_style=ATX, bullets="-", escape_asterisks=False, escape_underscores=False)
        self._anchors = anchors
        self._cells: dict[int, str] = {}  # the text of tables' cells, by the tag's id()

    def escape(self, text: str, parent_tags: set[str]) -> str:
        return literal(text)

    def convert_a(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return text  # [words](address) would be read as a citation

    def convert_img(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return one_line(str(el.get("alt") or ""))

    def convert_hN(self, n: int, el: Tag, text: str, parent_tags: set[str]) -> str:  # noqa: N802 - markdownify's name
        if not text.strip():
            return ""
        anchor = _anchor(el)
        if text.strip() == anchor:  # a name of code
            text = f"`{anchor}`"
        heading = str(super().convert_hN(n, el, text, parent_tags))  # type: ignore[misc]  # stub
        if "_inline" in parent_tags:
            return heading
        anchor = anchor if self._anchors else ""
        return f"{heading.rstrip()} {{#{anchor}}}\n\n" if anchor else heading

    def convert_table(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        caption = self._cells.get(id(el.caption), "") if el.caption else ""
        rows = _table_rows(el)
        is_one_thing = len(rows) > 1 or "properties" in el.get_attribute_list("class")  # the second: Notion's
        if is_one_thing and all([cell.name for cell in row] == ["th", "td"] for row in rows):
            pairs = ([self._cells.get(id(cell), "") for cell in row] for row in rows)
            items = "\n".join(f"- {name}: {value}" for name, value in pairs if value)
            return f"\n\n{caption}\n\n{items}\n\n"
        if not rows:
            return ""
        words = self._cells
        cells = [[(words.get(id(cell), ""), _span(cell, "col"), _span(cell, "row")) for cell in row] for row in rows]
        lines = spread(cells)
        heads = _header_rows(rows)
        header = [" ".join(dict.fromkeys(filter(None, names))) for names in zip(*lines[:heads], strict=True)]
        return f"\n\n{caption}\n\n{table(header, list(filter(any, lines[heads:])))}\n\n"

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        self._cells[id(el)] = _in_line(text)
        return ""

    convert_th = convert_caption = convert_td

    def convert_tr(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return ""

    def convert_dl(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if "_inline" in parent_tags:
            return text
        made = f"{entries.BEGIN}\n{text.strip()}\n{entries.END}"
        return f"\n\n{entries.items(made).strip() if parent_tags & _AROUND_ITEMS else made}\n\n"

    def convert_dt(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        term = _in_line(text)
        if "_inline" in parent_tags or not term:
            return f" {term} "
        anchor = _anchor(el) if self._anchors else ""
        term = f"`{_in_line(el.get_text())}`" if "sig" in el.get_attribute_list("class") else term
        return f"\n{entries.TERM}{term}{f' {{#{anchor}}}' if anchor else ''}\n"

    def convert_dd(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return f" {_in_line(text)} " if "_inline" in parent_tags else f"\n\n{text.strip()}\n\n"

    def convert_pre(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if "_inline" in parent_tags:
            return f" `{_in_line(text)}` " if text.strip() else ""
        return f"\n\n{fence(text)}\n\n"


def _in_line(text: str) -> str:
    return " ".join(text.split())


def _anchor(heading: Tag) -> str:
    """Return a heading's id, or, as Sphinx writes it, that of the section that the heading begins."""
    around = heading.parent
    begins = around is not None and around.name in ("section", "div") and around.find(_HEADING) is heading
    found = str(heading.get("id") or (around.get("id") if begins and around else "") or "")
    return found if _ANCHOR.fullmatch(found) else ""


def close_definitions(part: Tag) -> None:
    """Move terms and definitions out of the one before, whose end tag HTML allows to omit."""
    for tag in part.find_all(["dt", "dd"]):
        while (around := tag.find_parent(["dt", "dd", "dl"])) is not None and around.name != "dl":
            for node in [tag, *tag.next_siblings][::-1]:
                around.insert_after(node.extract())


MAX_SPAN = 100
"""A cell spans no more rows or columns; HTML allows a thousand columns and 65,534 rows."""

_TABLE_PARTS = ("tbody", "thead", "tfoot", "tr", "td", "th", "caption")


def wrap_stray_rows(part: Tag) -> None:
    """Put rows outside of a table into one: ``<center><table></center><tr>`` ends it before its rows."""
    for row in part.find_all("tr"):
        if row.find_parent("table") is None:
            before = row.find_previous_sibling()
            if before is not None and before.name == "table":
                before.append(row.extract())
            else:
                row.wrap(Tag(name="table"))


def unwrap_layout_tables(part: Tag) -> None:
    """Turn tables in ``part`` that only lay out a page, with a table inside or one filled cell a row, into blocks."""
    tables = part.find_all("table")
    around = {id(one.find_parent("table")) for one in tables}
    parts: defaultdict[int, list[Tag]] = defaultdict(list)
    for tag in part.find_all(_TABLE_PARTS):
        parts[id(tag.find_parent("table"))].append(tag)
    for one in tables:
        own = parts[id(one)]
        rows = Counter(id(tag.parent) for tag in own if tag.name in ("td", "th") and tag.get_text(strip=True))
        if id(one) in around or one.get("role") in ("presentation", "none") or max(rows.values(), default=0) < 2:
            for tag in (one, *own):
                tag.name = "div"


def _table_rows(table: Tag) -> list[Sequence[Tag]]:
    rows = [row for row in table.find_all("tr") if row.find_parent("table") is table]
    return [cells for row in rows if (cells := row.find_all(["td", "th"], recursive=False))]


def _header_rows(rows: Sequence[Sequence[Tag]]) -> int:
    count = 0
    while count < len(rows) and (rows[count][0].find_parent("thead") or all(cell.name == "th" for cell in rows[count])):
        count += 1
    return count if 0 < count < len(rows) else 1


def _span(cell: Tag, name: str) -> int:
    value = str(cell.get(f"{name}span") or "")
    return max(1, min(int(value), MAX_SPAN)) if value.isdecimal() else 1
