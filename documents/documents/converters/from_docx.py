"""DOCX to Markdown: mammoth makes HTML of the styles' meaning, and that becomes Markdown.

mammoth gets the parts in a form that it reads: equations as LaTeX, text boxes and fields as the text that they show.
"""

from __future__ import annotations

import io
import re
from typing import Any
from zipfile import ZipFile

import mammoth
from lxml import etree

from documents.converters.docx_styles import Numbers, Styles, W
from documents.converters.from_html import markdown, parse
from documents.converters.office import EQUATION, Equations, check_office, rewrite_parts, usual_names
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


def convert(data: bytes) -> Converted:
    """Return the document as Markdown, with its title from its properties, else from its first heading.

    Raises:
        Unconvertible: the file is encrypted, an old .doc, damaged, too large unpacked, or has a DTD.
        NoText: it holds no text.
    """
    title = check_office(data, suffix=".docx", max_xml_bytes=MAX_XML_BYTES)
    equations = Equations()
    hidden: list[str] = []
    html = mammoth.convert_to_html(
        io.BytesIO(prepare_parts(data, equations, hidden)),
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
    return Converted(compose(markdown(fragment), title=title), (*equations.caveats, *hidden_caveat(hidden)))


_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_ASIDE = re.compile(r"(?:^|/)(?:glossary/|stylesWithEffects\.xml)")
_ADDED = "made"  # an attribute of alternatives that were written here
_WRAPPERS = (f"{W}fldSimple", f"{W}dir", f"{W}bdo", f"{_M}oMathPara")
"""Elements around text that mammoth drops with their content."""
_TEXTS = ("document", "footnotes", "endnotes")


def prepare_parts(data: bytes, equations: Equations, hidden: list[str]) -> bytes:
    """Return the Word file with its parts changed for mammoth; ``hidden`` gets the texts that no reader sees."""
    with ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if name.endswith(".xml") and not _ASIDE.search(name)]
        roots = {name: root for name in names if (root := _parse(archive.read(name))) is not None}
    kinds = {str(root.tag).removeprefix(W): root for root in roots.values()}
    styles = Styles(kinds.get("styles", etree.Element("none")))
    numbers = Numbers(kinds.get("numbering", etree.Element("none")), styles)
    changed: dict[str, bytes] = {}
    for name, root in roots.items():
        if root.tag in [f"{W}{kind}" for kind in _TEXTS]:
            hidden += styles.take_hidden(root)
            numbers.write(root)
            _prepare_part(root, equations)
            changed[name] = etree.tostring(root, encoding="UTF-8", xml_declaration=True)
    return rewrite_parts(data, changed.get)


def _parse(part: bytes) -> Any:
    try:
        return etree.fromstring(usual_names(part), etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        return None  # mammoth will say it


def _prepare_part(root: Any, equations: Equations) -> None:
    for equation in list(root.iter(EQUATION)):
        beside = " " if equation.getnext() is not None and equation.getnext().tag == equation.tag else ""
        _replace(equation, [_run(equations.to_latex(equation) + beside)])
    for ruby in list(root.iter(f"{W}ruby")):
        base, above = (list(ruby.iterfind(f"{W}{name}/*")) for name in ("rubyBase", "rt"))
        _replace(ruby, [*base, _run(" ("), *above, _run(")")])
    for around in list(root.iter(*_WRAPPERS)):
        _replace(around, list(around))
    for box in list(root.iter(f"{W}txbxContent")):
        _move_text_box(box)


def _move_text_box(box: Any) -> None:
    """Put a text box where mammoth reads it: in a ``w:pict``, in the last of several alternatives.

    Word writes most text boxes twice, for older and newer programs.
    """
    around = next(box.iterancestors(f"{W}pict", f"{W}drawing", f"{_MC}Fallback", f"{_MC}Choice"), None)
    if around is None or around.tag in (f"{W}pict", f"{_MC}Fallback"):
        return
    choice = next(around.iterancestors(f"{_MC}Choice"), None)
    if choice is None:
        shown = around.makeelement(f"{W}pict")
        around.addnext(shown)
    else:
        fallback = choice.getparent().find(f"{_MC}Fallback")
        if fallback is None:
            fallback = etree.SubElement(choice.getparent(), f"{_MC}Fallback")
        elif fallback.find(f".//{W}txbxContent") is not None and not fallback.get(_ADDED):
            return
        fallback.set(_ADDED, "1")
        shown = etree.SubElement(fallback, f"{W}pict")
    shown.append(box)


def _run(text: str) -> Any:
    run = etree.Element(f"{W}r")
    etree.SubElement(run, f"{W}t").text = text
    return run


def _replace(element: Any, others: list[Any]) -> None:
    parent = element.getparent()
    if parent is not None:
        place = parent.index(element)
        parent[place : place + 1] = others
