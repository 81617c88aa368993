"""Excel workbooks to Markdown with openpyxl: each sheet a section, its cells as the workbook shows them."""

from __future__ import annotations

import datetime as dt
import io
import posixpath
import re
import warnings
from collections.abc import Iterator
from typing import Any
from zipfile import ZipFile

from lxml import etree
from openpyxl import load_workbook
from openpyxl.utils.cell import range_boundaries

from documents.converters.office import check_office, count_elements, from_strict
from documents.converters.output import compose, literal, one_line
from documents.converters.tables import Budget, sheet_markdown
from documents.errors import Unconvertible
from documents.values import Converted

MAX_XML_BYTES = 200 * 1024 * 1024
MAX_ELEMENTS = {"worksheet": 8_000_000, "": 1_000_000}
"""By the root of a part, for all parts with it together: openpyxl makes objects of all but sheets at once."""
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s+ref="([A-Z0-9:]{1,40})"')
_MAX_MERGED = 2000
_MAX_SPAN = 256  # columns
_NOT_SHOWN = re.compile(r'"[^"]*"|\[[^\]]*\]|\\.|_.|\*.')  # of a number format: literal text, colours, paddings
_DECIMALS = re.compile(r"[0#?]\.([0#?]*)")
_PRECISION = 15  # digits that a sheet keeps: 0.1 + 0.2 is 0.3

type _Area = tuple[int, int, int, int]
"""First column and row, last column and row, from 1."""


def convert(data: bytes) -> Converted:
    """Return the sheets that are not hidden; formulas by the values that were saved with them.

    Raises:
        Unconvertible: the file is encrypted, an old .xls, damaged, too large, has a DTD, or holds no cells with text.
    """
    title = check_office(data, suffix=".xlsx", max_xml_bytes=MAX_XML_BYTES)
    count_elements(data, MAX_ELEMENTS)
    budget = Budget()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns of losses in writing
        book = _book(data)
        if not book.worksheets:  # ISO's "strict" kind, which openpyxl does not know
            data = from_strict(data)
            book = _book(data)
        shown = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
        with ZipFile(io.BytesIO(data)) as archive:
            parts = [(one_line(sheet.title), _sheet(sheet, budget, archive)) for sheet in shown]
    if not book.worksheets:
        raise Unconvertible("holds no sheet that can be read")
    filled = [(name, text) for name, text in parts if text]
    if not filled:
        raise Unconvertible("holds no cells with anything in them")
    text = "\n\n".join(f"## {name}\n\n{text}" for name, text in filled)
    hidden = [one_line(sheet.title) for sheet in book.worksheets if sheet not in shown]
    caveats = (f"has hidden sheets, which are left out: {', '.join(hidden)}",) if hidden else ()
    return Converted(compose(text, title=title), caveats)


def _sheet(sheet: Any, budget: Budget, archive: ZipFile) -> str:
    cells = sheet_markdown(list(budget.limit(_rows(sheet, budget))))
    return "\n\n".join(filter(None, (cells, text_boxes(archive, sheet._worksheet_path))))


def _book(data: bytes) -> Any:
    return load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)


def _rows(sheet: Any, budget: Budget) -> Iterator[list[str]]:
    sheet.reset_dimensions()  # the size in the file may be wrong
    areas = sorted(_merged(sheet), key=lambda area: area[1], reverse=True)
    values: dict[_Area, str] = {}
    for number, cells in enumerate(sheet.iter_rows(), 1):
        budget.count_places(len(cells) + len(values))
        row = [_cell_text(cell) for cell in cells]
        while areas and areas[-1][1] <= number:
            area = areas.pop()
            value = row[area[0] - 1] if area[0] <= len(row) else ""
            if value and area[3] >= number:
                values[area] = value
        for area in [area for area in values if area[3] < number]:
            del values[area]
        for (left, _, right, _), value in values.items():
            row += [""] * (min(right, _MAX_SPAN) - len(row))
            row[left - 1 : right] = [value] * len(row[left - 1 : right])
        yield row


def _merged(sheet: Any) -> list[_Area]:
    """Return the merged ranges, whose first cell's value is repeated so that rows can be read alone.

    openpyxl reports them only for a sheet that is wholly in memory, at 50 times its size.
    """
    with sheet._get_source() as part:
        xml = part.read()
    found: list[Any] = [range_boundaries(ref.decode()) for ref in _MERGED.findall(xml)[:_MAX_MERGED]]
    return [area for area in found if None not in area]


def _cell_text(cell: Any) -> str:
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, dt.datetime):
        return value.date().isoformat() if value.time() == dt.time() else value.isoformat(" ", "minutes")
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, int | float):
        return _number(value, cell.number_format or "")
    return str(value)


def _number(value: float, style: str) -> str:
    """Return ``value`` with the decimals and the percent sign of its format, without thousands separators."""
    pattern = _NOT_SHOWN.sub("", style.split(";", maxsplit=1)[0])
    percent = "%" in pattern
    number = value * 100 if percent else value
    decimals = _DECIMALS.search(pattern)
    if decimals and "E" not in pattern:
        places = len(decimals[1])
        text = f"{number:.{places}f}"
        text = text.rstrip("0").rstrip(".") if "#" in decimals[1] else text
    elif pattern in ("0", "#,##0", "0%"):
        text = f"{number:.0f}"
    else:
        text = f"{number:.{_PRECISION}g}"
    return f"{text}%" if percent else text


_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SHAPE = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}sp"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_DRAWING = "/drawing"


def text_boxes(archive: ZipFile, sheet: str) -> str:
    """Return the paragraphs of the text boxes on a sheet (a part's name), in the file's order."""
    folder, name = posixpath.split(sheet)
    paragraphs = []
    relations = _parse_part(archive, f"{folder}/_rels/{name}.rels")
    for relation in () if relations is None else relations:
        if not str(relation.get("Type")).endswith(_DRAWING):
            continue
        target = str(relation.get("Target"))
        drawing = _parse_part(archive, posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/"))
        if drawing is None:
            continue
        for shape in drawing.iter(_SHAPE):
            if next(shape.iterancestors(f"{_MC}Fallback"), None) is None:
                words = ("".join(text.text or "" for text in line.iter(f"{_A}t")) for line in shape.iter(f"{_A}p"))
                paragraphs += [literal(found) for line in words if (found := one_line(line))]
    return "\n\n".join(paragraphs)


def _parse_part(archive: ZipFile, name: str) -> etree._Element | None:
    if name not in archive.namelist():
        return None
    try:
        return etree.fromstring(archive.read(name), etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        return None  # the cells may be whole
