"""Words and titles of source files, read by other means than the converters, to compare documents with."""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from io import BytesIO

from lxml import etree

from documents.source_words import FRONT_MATTER, block_text, main_part, parse_page, plain_text
from knowledge.read.losses import split_words

_TITLE = re.compile(r"^title[ \t]*[:=][ \t]*(?![|>])(.+?)[ \t]*$", re.MULTILINE)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_MODULES = re.compile(r"^import\s.*$", re.MULTILINE)
_FIRST_HEADING = re.compile(r"\A\s*#[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_RST_TITLE = re.compile(r"^(?:([=*#~^\-])\1+\n)? ?(?P<title>\S.*)\n([=*#~^\-])\3{2,}$", re.MULTILINE)
_ADOC_TITLE = re.compile(r"^= (?P<title>.+)$", re.MULTILINE)
_DC_TITLE = "{http://purl.org/dc/elements/1.1/}title"


@dataclass(frozen=True, slots=True)
class ReferenceText:
    """The visible words of a file and the titles that it states; a document's title is right if it is one of them."""

    words: Counter[str]
    titles: tuple[str, ...] = ()


def read_file(data: bytes, suffix: str) -> ReferenceText | None:
    """Read a file; None if the format has no reader here."""
    plain = _pdf(data) if suffix == ".pdf" else _decode(data) if suffix == ".txt" else plain_text(data, suffix)
    if plain is None:
        return None
    titles = _TITLES[suffix](data) if suffix in _TITLES else ()
    return ReferenceText(count_words(plain), tuple(filter(None, titles)))


def count_words(text: str) -> Counter[str]:
    """Count the words of ``text``, upper and lower case alike."""
    return Counter(split_words(text.casefold()))


def read_page(html: str | bytes) -> ReferenceText:
    """Read the main part of a page; the titles are its ``<title>`` and its first ``<h1>``."""
    page = parse_page(html)
    main = main_part(page)
    headings = [page.title, main.find("h1") or page.find("h1")]
    titles = (" ".join(heading.get_text().split()) for heading in headings if heading)
    return ReferenceText(titles=tuple(filter(None, titles)), words=count_words(block_text(main)))


def _decode(data: bytes) -> str:
    return data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")


def _markdown_title(data: bytes) -> tuple[str, ...]:
    text = _decode(data)
    front = FRONT_MATTER.match(text)
    stated = _TITLE.search(front[2]) if front else None
    heading = _FIRST_HEADING.match(_MODULES.sub("", text[front.end() :] if front else text))
    title = stated[1].strip("'\"") if stated else heading[1] if heading else ""
    return (_TAG.sub("", title),)


def _notebook_title(data: bytes) -> tuple[str, ...]:
    cells = json.loads(data).get("cells", ())
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    heading = _FIRST_HEADING.match(texts[0]) if texts and cells[0]["cell_type"] == "markdown" else None
    return (heading[1].strip("* ") if heading else "",)


def _match_title(data: bytes, pattern: re.Pattern[str]) -> tuple[str, ...]:
    found = pattern.search(_decode(data))
    return (found["title"].strip() if found else "",)


def _pdf(data: bytes) -> str:
    import pypdfium2  # type: ignore[import-untyped]

    pages = pypdfium2.PdfDocument(data)
    return "\n".join(page.get_textpage().get_text_bounded() for page in pages).replace("\r\n", "\n")


def _epub_title(data: bytes) -> tuple[str, ...]:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        packages = [archive.read(name) for name in archive.namelist() if name.endswith(".opf")]
    titles = (etree.fromstring(package).find(f".//{_DC_TITLE}") for package in packages)
    return tuple(title.text or "" for title in titles if title is not None)


_TITLES: Mapping[str, Callable[[bytes], tuple[str, ...]]] = {
    **dict.fromkeys((".md", ".mdx", ".markdown"), _markdown_title),
    **dict.fromkeys((".html", ".htm", ".xhtml"), lambda data: read_page(data).titles),
    **dict.fromkeys((".adoc", ".asciidoc", ".asc"), partial(_match_title, pattern=_ADOC_TITLE)),
    ".rst": partial(_match_title, pattern=_RST_TITLE),
    ".ipynb": _notebook_title,
    ".epub": _epub_title,
}
