"""The plain text of a source, as its reader sees it before any filter, to compare with what is indexed.

The readers work by other means than the converters: patterns and text nodes. A PDF has none here, because a second
parse takes as long as the first, nor has mail, of which quotations are left out: their converters hand over the text.
"""

from __future__ import annotations

import json
import posixpath
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from html import unescape
from io import BytesIO
from itertools import chain, groupby, zip_longest
from zipfile import ZipFile

from bs4 import BeautifulSoup, Tag, UnicodeDammit, XMLParsedAsHTMLWarning
from lxml import etree
from striprtf.striprtf import rtf_to_text

FRONT_MATTER = re.compile(r"\A\ufeff?(---|\+\+\+)[ \t]*\r?\n(.*?)^(?:\1|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)


NOTION_LINK = re.compile(r" \((?:https://www\.notion\.so/)?[^()\s]*[0-9a-f]{32}(?:_all)?(?:\.\w{2,4}|\?pvs=\d+)?\)")
"""The page behind a name in a cell of Notion's tables: ``Launch (Launch%20bb934...0f39.md)``."""


def _between(start: str, end: str) -> str:
    """Return the pattern of a text from ``start`` to ``end``, which stops at another ``start``: in linear time."""
    return f"{start}(?:(?!{start}).)*?{end}"


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.DOTALL | re.MULTILINE)


# Each pattern below leaves words out of pages of public documentation that their readers do not see.
_TEMPLATE = _any_of(
    _between(r"\{%-?[ ]*comment\b", r"endcomment[ ]*-?%\}"),
    _between(r"\{%", r"%\}"),
    _between(r"\{\{", r"\}\}"),
    _between(r"\{[!*]", r"[!*]\}"),
)
_UNSEEN_BLOCK = _any_of(
    r"^([ \t]*[`:]{3,})\{(?:toctree|raw|image|autosummary|contents)\}(?:(?!^\1\{).)*?^\1[ \t]*$",  # MyST's
    r"^:[a-z-]+:(?: [^\n]*)?$",  # the options of MyST's directives
    r"^export (?:default |async )*function\b(?:(?!^export )[^`]|`[^`]*`){0,5000}?^\}[^\n]*$",
    _between(r"\{/\*", r"\*/\}"),  # MDX's comments
)
"""Blocks of Markdown that may hold fences."""
_FENCED = _any_of(r"^[ \t>]*(`{3,}|~{3,})(?![ \t]*\{)[^`\n]*\n(.*?)^[ \t>]*\1[`~]*[ \t]*$")
_UNSEEN_CODE = _any_of(
    _between("<%", "%>"),  # Ruby
    r"^import\s[^;'\"`]{0,2000}?\sfrom\s+['\"][^'\"\n]*['\"];?$",  # MDX: imports and components
    r"<[A-Z]\w*(?:\s+\w+=\"[^\"\n]*\")+\s*/>",
    r"^[ \t]*:+[\w-]+\n[ \t]*---\n.*?^[ \t]*---$",  # Nuxt: the parameters of components
    r"(?<!:):+[\w-]+\{[^{}]*\}",
    r":(?:material|octicons|fontawesome|simple)-[\w-]+:",  # MkDocs: icons and attributes
    r"\{:?[ \t]+(?:\w+=\"[^\"\n]*\"[ \t]*)+\}",
)
_UNSEEN = _any_of(
    r"^[ \t>]*(?:`{3,}|~{3,})[^`\n]*$",
    r"!\[\[[^\[\]\n]*\]\]|\[\[[^|\[\]\n]*\|[^\[\]\n]*\]\]|%%.*?%%",  # Obsidian: embeds, links, comments
    r"\{[a-z-]+\}(?=`)",  # MyST: roles
    _between("<!--", "-->"),
    _between("<script", "</script>"),
    _between("<style", "</style>"),
    _TEMPLATE.pattern,
    r"\{[:.#][^{}\n]*\}|</?[A-Za-z][^<>]*>",  # attributes and tags
    r"\]\([^()\s]*(?:\s+\"[^\"]*\")?\)|^\[[^\]]+\]:[^\n]*$",  # addresses
    r"^---\n.*?^---$|^[ \t]*(?::::*|/{3,}|!!!|\?\?\?|#[a-z])[^\n]*$|^(?:import|export)\b[^\n]*$",
)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_RST_MARK = re.compile(
    r"^([ \t]*)\.\. (?:toctree|raw|contents|index|autosummary|image)::.*\n(?:(?:\1[ \t]+.*)?\n)*"
    r"|:(?:any|doc|ref):`[^`<>]*`|^[ \t]*(?:\.\.[ \t]+[\w:.-]+::|:[\w -]+:(?!`)|\.\. _.*:.*$|\.\. )"
    r"|:[\w:.+-]{1,80}:(?=`)|<[^<>`]*>(?=`)",
    re.MULTILINE,
)
_ADOC_MARK = re.compile(
    r"^(/{4,}|\+{4,})\n(?s:.*?)^\1$|^:[\w-]+!?:.*$|^//.*$|^\[[^\]\n]*\]$|^(?:include|ifdef|ifndef|endif|image)::.*$"
    r"|(?<![\w+.-])[\w+.-]+::?[^\s\[\]]{0,200}(?=\[)|\{[\w-]+\}|\[\[[^\[\n]*?\]\]",
    re.MULTILINE,
)
_CUE_MARK = _any_of(
    r"\A.*?(?=^[^\n]*-->)|^(?:[^\n]*\n)?[^\n]*-->[^\n]*$|^NOTE\b.*?(?:\n\n|\Z)",
    r"<\d[^<>]*>|^[^\W\d][^:\n]{0,40}:\s",  # times in a line; a speaker, once for all cues of a paragraph
    _TAG.pattern,
)
_BLOCK_TAGS = (
    "p div li dt dd td th tr h1 h2 h3 h4 h5 h6 pre br hr section article summary figcaption caption option label"
)
_INVISIBLE_TAGS = "script style template noscript svg nav header footer aside form iframe button"
WIKI_TEXT = "#main-content.wiki-content"
"""The text of a page of Confluence."""
_EXPORTERS = {
    "#title-text, .wiki-content, .pagecontent .pageheader": (  # Confluence: 8 % of the words of a space of 406 pages
        "#main-header, #title-heading, #breadcrumbs, .page-metadata, .pageSection, #footer, .toc-macro, .aui-icon,"
        ".issue-placeholder, .jira-issue:has(.issue-placeholder) .summary, .plugin_attachments_container,"
        "#main-content-2, #main-content:has(~ #main-content-2),"
        ".pageheader, .pagesubheading, .tabletitle, .tabletitle ~ *, .pagecontent ~ *"  # until 2019
    ),
    "ul[id^='id::'], .page-body": "ul[id^='id::'], .page-header-icon, .property-icon",  # Notion
    "a[id^=cmnt]": "p:has(> [href^='#cmnt_ref']), p:has(> [href^='#cmnt_ref']) ~ *, a[href^='#cmnt']",  # Google Docs
}
"""What a program writes around the author's text when it exports a page, by a mark of its pages, as CSS selectors."""
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_UNSEEN_IN_ODF = (
    *("tracked-changes", "}annotation", "note-citation", "table-of-content", "-index", "}forms", "}title", "}desc"),
    *("-decl", "binary-data", "page-number", "}object"),
)
_HIDING_STYLES = (
    "//@*[. = 'hidden' or local-name() = 'display' and (. = 'false' or . = 'none')]/../../@*[local-name() = 'name']"
)
_TEXT_CELL = re.compile(rb"<(?:\w+:)?c\s[^>]*\bt=\"s\"[^>]*>(?:(?!</).)*<(?:\w+:)?v>(\d+)<", re.DOTALL)
_INLINE_CELL = re.compile(rb"<(?:\w+:)?is>(.*?)</(?:\w+:)?is>", re.DOTALL)


def plain_text(data: bytes, suffix: str) -> str | None:
    """Return the plain text of a file; None if its format has no reader here."""
    reader = _READERS.get(suffix)
    return reader(data) if reader else None


def parse_page(html: str | bytes) -> BeautifulSoup:
    """Parse a page by lxml."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        return BeautifulSoup(html, "lxml")


def main_part(page: BeautifulSoup) -> Tag:
    """Return the article of a page, without what a browser does not show or shows around it; ``page`` is changed."""
    found = page.select_one(WIKI_TEXT) or page.find("main") or page.select_one("[role=main]") or page.find("article")
    found = found or page.body
    main = found if isinstance(found, Tag) else page
    for tag in main.find_all(_INVISIBLE_TAGS.split()):
        tag.decompose()
    return main


def drop_export_noise(page: Tag) -> None:
    """Take the navigation, comments and facts out of ``page`` that an exporter wrote around its text."""
    for mark, noise in _EXPORTERS.items():
        for tag in page.select(noise) if page.select_one(mark) else ():
            tag.extract()
    for value in page.select(".selected-value + .selected-value"):  # Notion's look divides and fills these
        value.insert_before(", ")
    for box in page.select("td > .checkbox"):
        box.string = "yes" if "checkbox-on" in box.get_attribute_list("class") else "no"


def block_text(part: Tag) -> str:
    """Return the text of ``part``, in which each block is on lines of its own; ``part`` is changed."""
    for tag in part.find_all(_BLOCK_TAGS.split()):
        tag.insert_before("\n")
        tag.append("\n")
    return part.get_text()


def _markdown(text: str) -> str:
    """Read Markdown; in blocks of code only templates are left out."""
    parts = _FENCED.split(_UNSEEN_BLOCK.sub("", text))
    prose = (unescape(_UNSEEN.sub(" ", _UNSEEN_CODE.sub(" ", part))) for part in parts[::3])
    code = (_TEMPLATE.sub(" ", part) for part in parts[2::3])
    return "\n".join(chain.from_iterable(zip_longest(prose, code, fillvalue="")))


def _decode(data: bytes) -> str:
    return NOTION_LINK.sub("", data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n"))


def _html(data: bytes) -> str:
    """Read a page or a page's template."""
    try:
        text = data.decode("utf-8-sig")
    except ValueError:
        text = UnicodeDammit(data, is_html=True).unicode_markup or ""
    text = _UNSEEN_CODE.sub(" ", _TEMPLATE.sub(" ", FRONT_MATTER.sub("", text.replace("\r\n", "\n"))))
    page = parse_page(text)
    drop_export_noise(page)
    return block_text(main_part(page))


def _notebook(data: bytes) -> str:
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(data).get("cells", ())]
    return "\n".join(text if kind == "code" else _markdown(text) for kind, text in cells if kind != "raw")


def _parts(data: bytes, pattern: str) -> Iterator[etree._Element]:
    """Yield the root elements of a package's XML files whose names match ``pattern``."""
    with ZipFile(BytesIO(data)) as archive:
        yield from (etree.fromstring(archive.read(name)) for name in archive.namelist() if re.fullmatch(pattern, name))


def _text_nodes(parents: Iterator[etree._Element]) -> list[str]:
    """Return the joined ``t`` elements below each of ``parents``, which are paragraphs or cells."""
    return ["".join(node.text or "" for node in parent.iter("{*}t")) for parent in parents]


def _docx(data: bytes) -> str:
    """Read the paragraphs, without deleted text and what repeats a drawing for old programs."""
    lines = []
    for root in _parts(data, r"word/(document|footnotes|endnotes)\.xml"):
        for paragraph in root.iter(f"{_W}p"):
            if next(paragraph.iterancestors("{*}Fallback"), None) is None:
                nodes = paragraph.iter(f"{_W}t", f"{_W}tab", f"{_W}br")
                own = (node for node in nodes if next(node.iterancestors(f"{_W}p")) is paragraph)
                lines.append("".join(node.text or "" if node.tag == f"{_W}t" else " " for node in own))
    return "\n".join(lines)


def _slides(data: bytes) -> str:
    shown = (slide for slide in _parts(data, r"ppt/slides/slide\d+\.xml") if slide.get("show") not in ("0", "false"))
    return "\n".join(_text_nodes(one for slide in shown for one in slide.iter("{*}p")))


def _sheets(data: bytes) -> str:
    """Read the texts in the cells of the visible sheets, without numbers and dates, which a format shows otherwise."""
    strings = _text_nodes(item for root in _parts(data, r"xl/sharedStrings\.xml") for item in root)
    found = []
    with ZipFile(BytesIO(data)) as archive:
        (relations,) = _parts(data, r"xl/_rels/workbook\.xml\.rels")
        targets = {one.get("Id"): posixpath.join("/xl", str(one.get("Target")))[1:] for one in relations}
        for sheet in (sheet for book in _parts(data, r"xl/workbook\.xml") for sheet in book.iter("{*}sheet")):
            target = next(targets[value] for name, value in sheet.items() if name.endswith("}id"))
            if sheet.get("state", "visible") == "visible":
                cells = archive.read(posixpath.normpath(target))
                found += [strings[int(number)] for number in _TEXT_CELL.findall(cells)]
                found += [unescape(_TAG.sub(" ", inline.decode())) for inline in _INLINE_CELL.findall(cells)]
    return "\n".join(found)


def _open_document(data: bytes) -> str:
    """Read the paragraphs, without deleted text, comments, tables of contents, and hidden sheets and slides."""
    (root,) = _parts(data, r"content\.xml") if data.startswith(b"PK") else [etree.fromstring(data)]
    unseen = {one.tag for one in root.iter(etree.Element) if one.tag.endswith(_UNSEEN_IN_ODF)}
    etree.strip_elements(root, *unseen, with_tail=False)
    for blank in root.iter("{*}tab", "{*}line-break", "{*}s"):
        blank.text = " "
    hidden = {*root.xpath(_HIDING_STYLES)}
    lines = (line for line in root.iter("{*}p", "{*}h") if next(line.iterancestors("{*}p", "{*}h"), None) is None)
    return "\n".join(
        "".join(line.itertext()) for line in lines if not any(hidden & {*one.values()} for one in line.iterancestors())
    )


def _epub(data: bytes) -> str:
    with ZipFile(BytesIO(data)) as archive:
        pages = [archive.read(name) for name in archive.namelist() if name.endswith((".xhtml", ".html", ".htm"))]
    return "\n".join(map(_html, pages))


def _transcript(data: bytes) -> str:
    """Read the lines of the cues, each once where captions roll."""
    return "\n".join(line for line, _ in groupby(filter(str.strip, _CUE_MARK.sub("\n", _decode(data)).splitlines())))


_READERS: Mapping[str, Callable[[bytes], str]] = {
    **dict.fromkeys((".md", ".mdx", ".markdown"), lambda data: _markdown(FRONT_MATTER.sub("", _decode(data)))),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _html),
    **dict.fromkeys((".adoc", ".asciidoc", ".asc"), lambda data: unescape(_ADOC_MARK.sub(" ", _decode(data)))),
    **dict.fromkeys((".csv", ".tsv"), lambda data: _TAG.sub(" ", _decode(data))),
    **dict.fromkeys((".xlsx", ".xlsm"), _sheets),
    **dict.fromkeys((".odt", ".ods", ".odp", ".ott", ".ots", ".otp", ".fodt", ".fods", ".fodp"), _open_document),
    **dict.fromkeys((".srt", ".vtt"), _transcript),
    ".rst": lambda data: _RST_MARK.sub(" ", _decode(data)),
    ".ipynb": _notebook,
    ".docx": _docx,
    ".epub": _epub,
    ".rtf": lambda data: rtf_to_text(data.decode("latin-1"), errors="replace").replace("|", " "),  # type: ignore[no-untyped-call]
    ".pptx": _slides,
}
