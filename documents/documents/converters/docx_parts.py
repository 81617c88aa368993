"""Word's parts in the form that mammoth reads: equations as LaTeX, text boxes and fields as the text that they show."""

from __future__ import annotations

import io
from typing import Any
from zipfile import ZipFile

from lxml import etree

from documents.converters import archives
from documents.converters.equations import EQUATION, Equations

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_MADE = "made"  # an attribute of alternatives that were written here
_AROUND = (f"{_W}fldSimple", f"{_W}dir", f"{_W}bdo", f"{_M}oMathPara")
"""Elements around text that mammoth leaves out with all that is in them."""
_MARKS = (b"txbxContent", b"oMath", b"fldSimple", b":dir>", b":dir ", b":bdo", b":ruby")


def readable(data: bytes, equations: Equations) -> bytes:
    """The Word file ``data`` with its parts changed; the same bytes where there is nothing to change."""
    with ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if name.endswith(".xml")]
        parts = {name: part for name in names if any(mark in (part := archive.read(name)) for mark in _MARKS)}
    changed = {name: _readable(part, equations) for name, part in parts.items()}
    return archives.rewritten(data, changed.get) if changed else data


def _readable(part: bytes, equations: Equations) -> bytes:
    try:
        root = etree.fromstring(part, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        return part  # mammoth will say it
    for equation in list(root.iter(EQUATION)):
        beside = " " if equation.getnext() is not None and equation.getnext().tag == equation.tag else ""
        _replace(equation, [_run(equations.written(equation) + beside)])
    for ruby in list(root.iter(f"{_W}ruby")):
        base, above = (list(ruby.iterfind(f"{_W}{name}/*")) for name in ("rubyBase", "rt"))
        _replace(ruby, [*base, _run(" ("), *above, _run(")")])
    for around in list(root.iter(*_AROUND)):
        _replace(around, list(around))
    for box in list(root.iter(f"{_W}txbxContent")):
        _show(box)
    made: bytes = etree.tostring(root, encoding="UTF-8", xml_declaration=True)
    return made


def _show(box: Any) -> None:
    """Put a text box where mammoth reads it: in a ``w:pict``, and of alternatives in the last one.

    Word writes most text boxes twice, for programs of two ages.
    """
    around = next(box.iterancestors(f"{_W}pict", f"{_W}drawing", f"{_MC}Fallback", f"{_MC}Choice"), None)
    if around is None or around.tag in (f"{_W}pict", f"{_MC}Fallback"):
        return
    choice = next(around.iterancestors(f"{_MC}Choice"), None)
    if choice is None:
        shown = around.makeelement(f"{_W}pict")
        around.addnext(shown)
    else:
        fallback = choice.getparent().find(f"{_MC}Fallback")
        if fallback is None:
            fallback = etree.SubElement(choice.getparent(), f"{_MC}Fallback")
        elif fallback.find(f".//{_W}txbxContent") is not None and not fallback.get(_MADE):
            return
        fallback.set(_MADE, "1")
        shown = etree.SubElement(fallback, f"{_W}pict")
    shown.append(box)


def _run(text: str) -> Any:
    run = etree.Element(f"{_W}r")
    etree.SubElement(run, f"{_W}t").text = text
    return run


def _replace(element: Any, others: list[Any]) -> None:
    parent = element.getparent()
    if parent is not None:
        place = parent.index(element)
        parent[place : place + 1] = others
