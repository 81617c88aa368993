"""DOCX to Markdown: mammoth makes HTML of the styles' meaning, and that becomes Markdown.

mammoth gets the parts in a form that it reads: equations as LaTeX, text boxes and fields as the text that they show.
"""

from __future__ import annotations

import io
from typing import Any
from zipfile import ZipFile

import mammoth
from lxml import etree

from documents.converters.docx_styles import Numbers, Styles, W
from documents.converters.from_html import markdown, parse
from documents.converters.office import EQUATION, check_office, equation_latex, parse_part, rewrite_parts
from documents.converters.output import compose, hidden_caveat
from documents.values import Converted

MAX_XML_BYTES = 16 * 1024 * 1024
"""mammoth takes some 40 bytes of memory for each byte of XML; 16 MiB are more than a thousand pages."""

_STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name^='toc '] => !
p[style-name^='TOC '] => !
"""
_NOTE_MARKS = "a[id^=footnote-ref], a[id^=endnote-ref], a[href^='#footnote-ref'], a[href^='#endnote-ref']"
_WRAPPERS = ("{*}fldSimple", "{*}dir", "{*}bdo", "{*}oMathPara")
"""Elements around text that mammoth drops with their content."""


def convert(data: bytes) -> Converted:
    """Return the document as Markdown, with its title from its properties, else from its first heading.

    Raises:
        Unconvertible: the file is encrypted, an old .doc, damaged, too large unpacked, or has a DTD.
        NoText: it holds no text.
    """
    title = check_office(data, suffix=".docx", max_xml_bytes=MAX_XML_BYTES)
    prepared, hidden = _prepare_parts(data)
    html = mammoth.convert_to_html(
        io.BytesIO(prepared),
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
    return Converted(compose(markdown(fragment), title=title), hidden_caveat(hidden))


def _prepare_parts(data: bytes) -> tuple[bytes, list[str]]:
    """Return the Word file with its parts changed for mammoth, and the texts that no reader sees."""
    with ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if name.endswith(".xml") and "glossary/" not in name]
        roots = {name: root for name in names if (root := parse_part(archive, name)) is not None}
    kinds = {str(root.tag).removeprefix(W): root for name, root in roots.items() if "WithEffects" not in name}
    styles = Styles(kinds.get("styles", etree.Element("none")))
    numbers = Numbers(kinds.get("numbering", etree.Element("none")), styles)
    hidden: list[str] = []
    changed: dict[str, bytes] = {}
    for name, root in roots.items():
        if root.tag in (f"{W}document", f"{W}footnotes", f"{W}endnotes"):
            hidden += styles.take_hidden(root)
            numbers.write(root)
            _prepare_part(root)
            changed[name] = etree.tostring(root, encoding="UTF-8", xml_declaration=True)
    return rewrite_parts(data, changed.get), hidden


def _prepare_part(root: Any) -> None:
    for equation in list(root.iter(EQUATION)):
        beside = " " if equation.getnext() is not None and equation.getnext().tag == EQUATION else ""
        _replace(equation, [_run(equation_latex(equation) + beside)])
    for ruby in list(root.iter("{*}ruby")):
        base, above = (list(ruby.iterfind(f"{{*}}{name}/*")) for name in ("rubyBase", "rt"))
        _replace(ruby, [*base, _run(" ("), *above, _run(")")])
    for around in list(root.iter(*_WRAPPERS)):
        _replace(around, list(around))
    # mammoth reads a text box in a w:pict, in the last of several alternatives. Most have one there for older programs.
    for box in list(root.iter("{*}txbxContent")):
        around = next(box.iterancestors("{*}pict", "{*}drawing", "{*}AlternateContent"), None)
        if around is None or around.tag == f"{W}pict":
            continue
        around = next(around.iterancestors("{*}AlternateContent"), around)
        if around.find("{*}Fallback//{*}txbxContent") is None:
            around.addprevious(etree.Element(f"{W}pict"))
            around.getprevious().append(box)


def _run(text: str) -> Any:
    run = etree.Element(f"{W}r")
    etree.SubElement(run, f"{W}t").text = text
    return run


def _replace(element: Any, others: list[Any]) -> None:
    parent = element.getparent()
    if parent is not None:
        place = parent.index(element)
        parent[place : place + 1] = others
