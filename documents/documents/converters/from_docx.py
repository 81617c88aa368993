"""DOCX to Markdown: mammoth makes HTML of the styles' meaning, and that becomes Markdown."""

from __future__ import annotations

import io

import mammoth

from documents.converters import archives, docx_parts
from documents.converters.equations import Equations
from documents.converters.from_html import markdown, parse
from documents.converters.output import Converted, compose, converted

MAX_XML_BYTES = 16 * 1024 * 1024
"""mammoth takes some 40 bytes of memory for each byte of XML; 16 MiB are more than a thousand pages."""

_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name^='toc '] => !
p[style-name^='TOC '] => !
"""
_NOTE_MARKS = "a[id^=footnote-ref], a[id^=endnote-ref], a[href^='#footnote-ref'], a[href^='#endnote-ref']"


def convert(data: bytes) -> str | Converted:
    """The document as Markdown; its title is that of its properties, else its first heading's.

    Raises:
        Unconvertible: it is encrypted, an old .doc, damaged, too large unpacked, has a DTD.
        NoText: it holds none.
    """
    title = archives.office(data, suffix=".docx", max_xml_bytes=MAX_XML_BYTES)
    equations = Equations()
    html = mammoth.convert_to_html(
        io.BytesIO(docx_parts.readable(data, equations)),
        style_map=_STYLES,
        include_embedded_style_map=False,  # it is the file's own
        convert_image=mammoth.images.img_element(lambda _: {}),  # the alternative text, the picture unread
        external_file_access=False,
    )
    fragment = parse(html.value)
    for mark in fragment.select(_NOTE_MARKS):
        mark.extract()  # [1] would be read as a citation
    for box in fragment.select("input[type=checkbox]"):
        box.replace_with("[x] " if box.has_attr("checked") else "[ ] ")
    for picture in fragment.select("img[alt]"):
        if " " not in str(picture["alt"]).strip():  # a file's name
            picture.extract()
    return converted(compose(markdown(fragment), title=title), equations.caveats)
