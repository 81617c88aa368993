"""Files for tests: texts in folders, PDF files line by line, and DOCX files made by hand, to know what is in them."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile

from reportlab.pdfgen.canvas import Canvas

PAGE_HEIGHT_PT = 792
LEFT_PT = 72

type PdfLine = tuple[float, float, str]
"""Size of the letters and height above the page's foot, in points, and the text (Latin-1)."""

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
_STYLES = {"Title": "Title", "Heading1": "heading 1", "Heading2": "heading 2", "Heading3": "heading 3", "TOC1": "toc 1"}


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write the files, by their names below ``folder``, and return the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def pdf(*pages: Sequence[PdfLine], title: str = "") -> bytes:
    """A PDF of ``pages`` in Helvetica. A page without lines is empty, as a scanned one is for a reader of text."""
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(612, PAGE_HEIGHT_PT), invariant=1, pageCompression=0)
    canvas.setTitle(title)
    for lines in pages:
        for size, height, text in lines:
            canvas.setFont("Helvetica", size)
            canvas.drawString(LEFT_PT, height, text)
        canvas.showPage()
    canvas.save()
    return out.getvalue().replace(rb"\177", rb"\225")  # a bullet, as Windows' code page and most programs write it


def text_lines(text: str, *, top: float = 700, size: float = 11, leading: float = 13) -> list[PdfLine]:
    """The lines of ``text`` below each other; an empty one leaves a gap."""
    return [(size, top - leading * n, line) for n, line in enumerate(text.splitlines()) if line]


def paragraph(text: str, style: str = "") -> str:
    """A paragraph of a Word document; ``style`` is a style's id (Title, Heading1 ... Heading3, TOC1)."""
    chosen = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{chosen}<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'


def docx(
    *blocks: str,
    title: str = "",
    prolog: str = "",
    parts: Mapping[str, str | bytes] | None = None,
    encoding: str = "utf-8",
) -> bytes:
    """A Word document of ``blocks`` (XML). ``prolog`` goes before the root element, ``parts`` beside or over it."""
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/></w:style>'
        for key, name in _STYLES.items()
    )
    document = (
        f'<?xml version="1.0" encoding="{encoding}"?>{prolog}'
        f"<w:document {_W}><w:body>{''.join(blocks)}</w:body></w:document>"
    )
    made: dict[str, str | bytes] = {
        "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}">'
        f'<Relationship Id="r1" Type="{_OFFICE}" Target="word/document.xml"/></Relationships>',
        "word/document.xml": document.encode(encoding),
        "word/styles.xml": f"<w:styles {_W}>{styles}</w:styles>",
        "docProps/core.xml": '<cp:coreProperties xmlns:cp="urn:cp" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{escape(title)}</dc:title></cp:coreProperties>",
        **(parts or {}),
    }
    out = io.BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as archive:
        for name, content in made.items():
            archive.writestr(name, content)
    return out.getvalue()
