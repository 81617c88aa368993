"""What a plain reader takes from a source file, with other libraries than the converters: its words and its title."""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from io import BytesIO

from bs4 import BeautifulSoup, Tag
from lxml import etree

WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]{2,}")
"""A word of two letters or more; of Chinese and Japanese each character, as no blanks part their words."""
BLOCKS = [
    *("p", "div", "li", "dt", "dd", "td", "th", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "br", "hr"),
    *("section", "article", "summary", "figcaption", "caption", "option", "label"),
]
UNREAD = [
    *("script", "style", "template", "noscript", "svg", "nav", "header", "footer", "aside"),
    *("form", "iframe", "button"),
]
_FRONT = re.compile(r"\A\ufeff?(---|\+\+\+)[ \t]*\r?\n(.*?)^(?:\1|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)
_TITLE = re.compile(r"^title[ \t]*[:=][ \t]*(?![|>])(.+?)[ \t]*$", re.MULTILINE)
_MODULES = re.compile(r"^import\s.*$", re.MULTILINE)
_FIRST_HEADING = re.compile(r"\A\s*#[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_WIKI = re.compile(
    r"!\[\[[^\]\n]*\]\]|\[\[[^|\]\n]*\|[^\]\n]*\]\]|%%.*?%%|\{[a-z-]+\}(?=`)|^\([\w-]+\)=$", re.MULTILINE | re.DOTALL
)
"""Embedded notes, and links of which a reader sees one of two parts; comments; MyST's roles and labels."""
_CODE = re.compile(
    r"<%.*?%>|^export (?:default |async )*function\b(?:[^`]|`[^`]*`)*?^\}.*?$"
    r"|\{/\*.*?\*/\}|^export const \w+ = \(\n.*?^\)$|^\{[^{}\"\n]*\}$|^[ \t]*:+[\w-]+\n[ \t]*---\n.*?^[ \t]*---$"
    r"|^import\s[^;'\"`]{0,2000}?\sfrom\s+['\"][^'\"\n]*['\"];?$"
    r"|<[A-Z]\w*(?:\s+\w+=\"[^\"\n]*\")+\s*/>"
    r"|:(?:material|octicons|fontawesome|simple)-[\w-]+:|\{:?[ \t]+(?:\w+=\"[^\"\n]*\"[ \t]*)+\}"
    r"|:+[\w-]+\{[^{}]*\}|^[ \t>]*(?:`{3,}|~{3,})[^`\n]*$",
    re.DOTALL | re.MULTILINE,
)
"""Ruby in templates; of MDX comments, imports, programs with the texts in them and components without inner text; icons
and attributes of MkDocs, which no reader sees as words; what Nuxt's components and blocks of code are given."""
_UNSEEN = re.compile(
    r"<!--.*?-->|<(script|style|svg)\b.*?</\1>|\{\{.*?\}\}|\{%.*?%\}|\{[:.#][^{}\n]*\}|</?[A-Za-z][^<>]*>"
    r"|\]\([^()\s]*(?:\s+\"[^\"]*\")?\)|^\s*(?::::*|/{3,}|!!!|\?\?\?|#[a-z])[^\n]*$|^(?:import|export)\b[^\n]*$|\{[!*].*?[!*]\}"
    r"|^---\n.*?^---$|^\[[^\]]+\]:[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
"""Tags, templates and addresses in Markdown, as far as patterns can tell."""
_LIQUID = re.compile(r"\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\ufeff]")
_RST_TITLE = re.compile(r"^(?:([=*#~^\-])\1+\n)? ?(\S.*)\n([=*#~^\-])\3{2,}$", re.MULTILINE)
_RST_MARK = re.compile(
    r"^\s*(?:\.\.[ \t]+[\w:.-]+::|:[\w -]+:(?!`)|\.\. _.*:.*$|\.\. )|:[\w:.+-]+:(?=`)|<[^<>`]*>(?=`)", re.MULTILINE
)
_ADOC_MARK = re.compile(
    r"^:[\w-]+!?:.*$|^//.*$|^\[[^\]\n]*\]$|^(?:include|ifdef|ifndef|endif|image)::.*$|[\w+.-]+::?[^\s\[\]]*(?=\[)|\{[\w-]+\}|\[\[.*?\]\]",
    re.MULTILINE,
)
_ADOC_TITLE = re.compile(r"^= (.+)$", re.MULTILINE)
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DC_TITLE = "{http://purl.org/dc/elements/1.1/}title"


@dataclass(frozen=True, slots=True)
class Source:
    """The words that a reader sees in a file, and what it states as its title, of which one is right."""

    words: Counter[str]
    titles: tuple[str, ...] = ()


def read(data: bytes, suffix: str) -> Source | None:
    """A file as a plain reader sees it; ``None`` for a kind that has no such reader here."""
    reader = _READERS.get(suffix)
    return reader(data) if reader else None


def words(text: str) -> Counter[str]:
    """How often each word of two letters or more stands in ``text``, upper and lower case alike."""
    return Counter(WORD.findall(_INVISIBLE.sub("", text).casefold()))


def page(html: str | bytes) -> Source:
    """The main part of a page, without what surrounds it; its first ``<h1>`` and its ``<title>``."""
    soup = BeautifulSoup(html, "lxml")
    named = [soup.title.get_text()] if soup.title else []
    found = soup.find("main") or soup.select_one("[role=main]") or soup.find("article") or soup.body
    main = found if isinstance(found, Tag) else soup
    for tag in main.find_all(UNREAD):
        tag.decompose()
    if heading := main.find("h1") or soup.find("h1"):
        named.append(heading.get_text())
    for tag in main.find_all(BLOCKS):
        tag.insert_before("\n")
        tag.append("\n")
    return Source(words(main.get_text()), tuple(" ".join(title.split()) for title in named if title.strip()))


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")


def _markdown(data: bytes) -> Source:
    text = _text(data)
    front = _FRONT.match(text)
    stated = _TITLE.search(front[2]) if front else None
    body = text[front.end() :] if front else text
    heading = _FIRST_HEADING.match(_MODULES.sub("", body))
    title = stated[1].strip("'\"") if stated else heading[1] if heading else ""
    return Source(words(_seen(body)), (title,) if title else ())


def _seen(markdown: str) -> str:
    return unescape(_UNSEEN.sub(" ", _WIKI.sub(" ", _CODE.sub(" ", markdown))))


def _rst(data: bytes) -> Source:
    text = _text(data)
    title = _RST_TITLE.search(text)
    return Source(words(_RST_MARK.sub(" ", text)), (title[2].strip(),) if title else ())


def _asciidoc(data: bytes) -> Source:
    text = _text(data)
    title = _ADOC_TITLE.search(text)
    return Source(words(_ADOC_MARK.sub(" ", text)), (title[1],) if title else ())


def _notebook(data: bytes) -> Source:
    seen: Counter[str] = Counter()
    title = ""
    for number, cell in enumerate(json.loads(data).get("cells", ())):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            found = _FIRST_HEADING.match(text) if number == 0 else None
            title = title or (found[1].strip("* ") if found else "")
            seen += words(_seen(text))
        elif cell["cell_type"] == "code":
            seen += words(text)
    return Source(seen, (title,) if title else ())


def _docx(data: bytes) -> Source:
    """The letters of the XML's paragraphs; what is deleted, and the results of a table of contents, aside."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if re.fullmatch(r"word/(document|footnotes|endnotes)\.xml", name)]
        trees = [etree.fromstring(archive.read(name)) for name in names]
    paragraphs = (one for tree in trees for one in tree.iter(f"{_W}p") if not _is_left_out(one))
    return Source(words("\n".join("".join(_runs(one)) for one in paragraphs)))


def _is_left_out(paragraph: etree._Element) -> bool:
    """Whether it is in a table of contents, or says for old programs what stands before it for new ones."""
    if next(paragraph.iterancestors("{*}Fallback"), None) is not None:
        return True
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    return style is not None and str(style.get(f"{_W}val")).upper().startswith("TOC")


def _runs(paragraph: etree._Element) -> Iterator[str]:
    for node in paragraph.iter(f"{_W}t", f"{_W}tab", f"{_W}br"):
        own = next(node.iterancestors(f"{_W}p"))
        if own is paragraph:
            yield node.text or "" if node.tag == f"{_W}t" else " "


def _pdf(data: bytes) -> Source:
    import pypdfium2  # type: ignore[import-untyped]

    document = pypdfium2.PdfDocument(data)
    text = "\n".join(one.get_textpage().get_text_bounded() for one in document)
    return Source(words(re.sub(r"[\ufffe\u00ad-]\s*\n", "", text.replace("\r\n", "\n"))))


def _epub(data: bytes) -> Source:
    seen: Counter[str] = Counter()
    title = ""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        for name in archive.namelist():
            if name.endswith(".opf"):
                found = etree.fromstring(archive.read(name)).find(f".//{_DC_TITLE}")
                title = (found.text or "") if found is not None else ""
            elif name.endswith((".xhtml", ".html", ".htm")):
                seen += page(archive.read(name)).words
    return Source(seen, (title,) if title else ())


def _sheets(data: bytes) -> Source:
    """The texts of a workbook; numbers and dates are shown in formats of their own."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if name.endswith("sharedStrings.xml")]
        cells = [one for name in names for one in etree.fromstring(archive.read(name))]
    return Source(words("\n".join("".join(text.text or "" for text in cell.iter("{*}t")) for cell in cells)))


def _slides(data: bytes) -> Source:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        slides = [name for name in archive.namelist() if re.fullmatch(r"ppt/slides/slide\d+\.xml", name)]
        paragraphs = [one for name in slides for one in etree.fromstring(archive.read(name)).iter("{*}p")]
    return Source(words("\n".join("".join(text.text or "" for text in one.iter("{*}t")) for one in paragraphs)))


def _html(data: bytes) -> Source:
    """A page, or a template of one."""
    text = _text(data)
    front = _FRONT.match(text)
    return page(_CODE.sub(" ", _LIQUID.sub(" ", text[front.end() :] if front else text)))


def _plain(data: bytes) -> Source:
    return Source(words(_text(data)))


_READERS: Mapping[str, Callable[[bytes], Source]] = {
    **dict.fromkeys((".md", ".mdx", ".markdown"), _markdown),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _html),
    **dict.fromkeys((".adoc", ".asciidoc", ".asc"), _asciidoc),
    **dict.fromkeys((".txt", ".csv", ".tsv"), _plain),
    **dict.fromkeys((".xlsx", ".xlsm"), _sheets),
    ".rst": _rst,
    ".ipynb": _notebook,
    ".docx": _docx,
    ".pdf": _pdf,
    ".epub": _epub,
    ".pptx": _slides,
}
