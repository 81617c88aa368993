"""The text boxes of a sheet, which stand on it and in no cell."""

from __future__ import annotations

import posixpath
from zipfile import ZipFile

from lxml import etree

from documents.converters.output import literal, one_line

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SHAPE = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}sp"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_DRAWING = "/drawing"


def text_boxes(archive: ZipFile, sheet: str) -> str:
    """The paragraphs of the text boxes on ``sheet``, a part's name, in the order of the file."""
    folder, name = posixpath.split(sheet)
    paragraphs = []
    for target in _targets(archive, f"{folder}/_rels/{name}.rels"):
        drawing = _root(archive, posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/"))
        if drawing is None:
            continue
        for shape in drawing.iter(_SHAPE):
            if next(shape.iterancestors(f"{_MC}Fallback"), None) is None:
                words = ("".join(text.text or "" for text in line.iter(f"{_A}t")) for line in shape.iter(f"{_A}p"))
                paragraphs += [literal(found) for line in words if (found := one_line(line))]
    return "\n\n".join(paragraphs)


def _targets(archive: ZipFile, name: str) -> list[str]:
    relations = _root(archive, name)
    found = [] if relations is None else list(relations)
    return [str(one.get("Target")) for one in found if str(one.get("Type")).endswith(_DRAWING)]


def _root(archive: ZipFile, name: str) -> etree._Element | None:
    if name not in archive.namelist():
        return None
    try:
        return etree.fromstring(archive.read(name), etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        return None  # the cells may be whole
