"""Words and titles of source files, read by other libraries than the converters, to compare documents with."""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from io import BytesIO

from bs4 import BeautifulSoup, Tag
from lxml import etree

WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]{2,}")
"""A word of two letters or more; each character of Chinese and Japanese, which put no blanks between words."""
BLOCK_TAGS = [
    *("p", "div", "li", "dt", "dd", "td", "th", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "br", "hr"),
    *("section", "article", "summary", "figcaption", "caption", "option", "label"),
]
INVISIBLE_TAGS = [
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
"""Embedded notes, links with a text beside the target, comments, and MyST's roles and labels."""
_CODE = re.compile(
    r"<%.*?%>|^export (?:default |async )*function\b(?:[^`]|`[^`]*`)*?^\}.*?$"
    r"|\{/\*.*?\*/\}|^export const \w+ = \(\n.*?^\)$|^\{[^{}\"\n]*\}$|^[ \t]*:+[\w-]+\n[ \t]*---\n.*?^[ \t]*---$"
    r"|^import\s[^;'\"`]{0,2000}?\sfrom\s+['\"][^'\"\n]*['\"];?$"
    r"|<[A-Z]\w*(?:\s+\w+=\"[^\"\n]*\")+\s*/>"
    r"|:(?:material|octicons|fontawesome|simple)-[\w-]+:|\{:?[ \t]+(?:\w+=\"[^\"\n]*\"[ \t]*)+\}"
    r"|:+[\w-]+\{[^{}]*\}|^[ \t>]*(?:`{3,}|~{3,})[^`\n]*$",
    re.DOTALL | re.MULTILINE,
)
"""Ruby in templates; MDX's comments, imports, functions and components without inner text; icons and attributes of
MkDocs; the parameters of Nuxt's components and code blocks."""
_UNSEEN = re.compile(
    r"<!--.*?-->|<(script|style|svg)\b.*?</\1>|\{\{.*?\}\}|\{%.*?%\}|\{[:.#][^{}\n]*\}|</?[A-Za-z][^<>]*>"
    r"|\]\([^()\s]*(?:\s+\"[^\"]*\")?\)|^\s*(?::::*|/{3,}|!!!|\?\?\?|#[a-z])[^\n]*$|^(?:import|export)\b[^\n]*$|\{[!*].*?[!*]\}"
    r"|^---\n.*?^---$|^\[[^\]]+\]:[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
"""Tags, templates and addresses in Markdown, as far as patterns can recognise them."""
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
class ReferenceText:
    """The visible words of a file and the titles that it states; a document's title is right if it is one of them."""

    words: Counter[str]
    titles: tuple[str, ...] = ()


def read_file(data: bytes, suffix: str) -> ReferenceText | None:
    """Read a file; None if the format has no reader here."""
    reader = _READERS.get(suffix)
    return reader(data) if reader else None


def count_words(text: str) -> Counter[str]:
    """Count the words (see ``WORD``) of ``text``, upper and lower case alike."""
    return Counter(WORD.findall(_INVISIBLE.sub("", text).casefold()))


def read_page(html: str | bytes) -> ReferenceText:
    """Read the main part of a page; the titles are its ``<title>`` and its first ``<h1>``."""
    soup = BeautifulSoup(html, "lxml")
    titles = [soup.title.get_text()] if soup.title else []
    found = soup.find("main") or soup.select_one("[role=main]") or soup.find("article") or soup.body
    main = found if isinstance(found, Tag) else soup
    for tag in main.find_all(INVISIBLE_TAGS):
        tag.decompose()
    if heading := main.find("h1") or soup.find("h1"):
        titles.append(heading.get_text())
    for tag in main.find_all(BLOCK_TAGS):
        tag.insert_before("\n")
        tag.append("\n")
    return ReferenceText(
        count_words(main.get_text()), tuple(" ".join(title.split()) for title in titles if title.strip())
    )


def _decode(data: bytes) -> str:
    return data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")


def _markdown(data: bytes) -> ReferenceText:
    text = _decode(data)
    front = _FRONT.match(text)
    stated = _TITLE.search(front[2]) if front else None
    body = text[front.end() :] if front else text
    heading = _FIRST_HEADING.match(_MODULES.sub("", body))
    title = stated[1].strip("'\"") if stated else heading[1] if heading else ""
    return ReferenceText(count_words(_visible_text(body)), (title,) if title else ())


def _visible_text(markdown: str) -> str:
    return unescape(_UNSEEN.sub(" ", _WIKI.sub(" ", _CODE.sub(" ", markdown))))


def _rst(data: bytes) -> ReferenceText:
    text = _decode(data)
    title = _RST_TITLE.search(text)
    return ReferenceText(count_words(_RST_MARK.sub(" ", text)), (title[2].strip(),) if title else ())


def _asciidoc(data: bytes) -> ReferenceText:
    text = _decode(data)
    title = _ADOC_TITLE.search(text)
    return ReferenceText(count_words(_ADOC_MARK.sub(" ", text)), (title[1],) if title else ())


def _notebook(data: bytes) -> ReferenceText:
    seen: Counter[str] = Counter()
    title = ""
    for number, cell in enumerate(json.loads(data).get("cells", ())):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            found = _FIRST_HEADING.match(text) if number == 0 else None
            title = title or (found[1].strip("* ") if found else "")
            seen += count_words(_visible_text(text))
        elif cell["cell_type"] == "code":
            seen += count_words(text)
    return ReferenceText(seen, (title,) if title else ())


def _parse_xml_parts(data: bytes, pattern: str) -> list[etree._Element]:
    """Return the root elements of a package's files whose names match ``pattern``."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if re.fullmatch(pattern, name)]
        return [etree.fromstring(archive.read(name)) for name in names]


def _count_text_nodes(parents: Iterable[etree._Element]) -> ReferenceText:
    """Count the words of the ``t`` elements below each of ``parents``, which are paragraphs or cells."""
    texts = ("".join(node.text or "" for node in parent.iter("{*}t")) for parent in parents)
    return ReferenceText(count_words("\n".join(texts)))


def _docx(data: bytes) -> ReferenceText:
    """Read the paragraphs, without deleted text and tables of contents."""
    roots = _parse_xml_parts(data, r"word/(document|footnotes|endnotes)\.xml")
    paragraphs = (one for root in roots for one in root.iter(f"{_W}p") if not _is_hidden_paragraph(one))
    return ReferenceText(count_words("\n".join("".join(_paragraph_text(one)) for one in paragraphs)))


def _is_hidden_paragraph(paragraph: etree._Element) -> bool:
    """Return whether it belongs to a table of contents, or repeats a drawing's text for old programs."""
    if next(paragraph.iterancestors("{*}Fallback"), None) is not None:
        return True
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    return style is not None and str(style.get(f"{_W}val")).upper().startswith("TOC")


def _paragraph_text(paragraph: etree._Element) -> Iterator[str]:
    for node in paragraph.iter(f"{_W}t", f"{_W}tab", f"{_W}br"):
        if next(node.iterancestors(f"{_W}p")) is paragraph:
            yield node.text or "" if node.tag == f"{_W}t" else " "


def _pdf(data: bytes) -> ReferenceText:
    import pypdfium2  # type: ignore[import-untyped]

    document = pypdfium2.PdfDocument(data)
    text = "\n".join(one.get_textpage().get_text_bounded() for one in document)
    return ReferenceText(count_words(re.sub(r"[\ufffe\u00ad-]\s*\n", "", text.replace("\r\n", "\n"))))


def _epub(data: bytes) -> ReferenceText:
    seen: Counter[str] = Counter()
    title = ""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        for name in archive.namelist():
            if name.endswith(".opf"):
                found = etree.fromstring(archive.read(name)).find(f".//{_DC_TITLE}")
                title = (found.text or "") if found is not None else ""
            elif name.endswith((".xhtml", ".html", ".htm")):
                seen += read_page(archive.read(name)).words
    return ReferenceText(seen, (title,) if title else ())


def _sheets(data: bytes) -> ReferenceText:
    """Read the texts of a workbook without numbers and dates, which a cell's format shows in another way."""
    return _count_text_nodes(cell for root in _parse_xml_parts(data, r".*sharedStrings\.xml") for cell in root)


def _slides(data: bytes) -> ReferenceText:
    roots = _parse_xml_parts(data, r"ppt/slides/slide\d+\.xml")
    return _count_text_nodes(paragraph for root in roots for paragraph in root.iter("{*}p"))


def _html(data: bytes) -> ReferenceText:
    """Read a page or a page's template."""
    text = _decode(data)
    front = _FRONT.match(text)
    return read_page(_CODE.sub(" ", _LIQUID.sub(" ", text[front.end() :] if front else text)))


def _plain(data: bytes) -> ReferenceText:
    return ReferenceText(count_words(_decode(data)))


_READERS: Mapping[str, Callable[[bytes], ReferenceText]] = {
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
