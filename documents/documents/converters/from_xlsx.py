"""Excel workbooks to Markdown with openpyxl: each sheet a section, its cells as the workbook shows them."""

from __future__ import annotations

import datetime as dt
import io
import posixpath
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne
from typing import Any
from zipfile import ZipFile

from lxml import etree
from openpyxl import load_workbook
from openpyxl.styles.colors import COLOR_INDEX
from openpyxl.utils.cell import range_boundaries

from documents.converters.office import check_office, is_unseen_colour, parse_part, rewrite_parts, usual_names
from documents.converters.output import compose, hidden_caveat, literal, one_line
from documents.converters.tables import Bold, Budget, ShownNumber, Spread, sheet_markdown
from documents.errors import Unconvertible
from documents.values import Converted

MAX_XML_BYTES = 200 * 1024 * 1024
MAX_ELEMENTS = {"worksheet": 8_000_000, "": 1_000_000}
"""By the root of a part, for all parts with it together: openpyxl makes objects of all but sheets at once."""
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s+ref="([A-Z0-9:]{1,40})"')
_MAX_MERGED, _MAX_SPAN, _MAX_COLUMNS = 2000, 256, 16_384  # the second: of columns by a merged cell
_ROW = re.compile(rb"<(?:\w+:)?row(\s[^>]*|/?)>")
_COLUMN = re.compile(rb"<(?:\w+:)?col(\s[^>]*\bmin=[^>]*)>")
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_FILTER = re.compile(rb'<(?:\w+:)?autoFilter\b[^>]*\bref="([A-Z0-9:]{1,40})"[^>]*(?<!/)>\s*<(?:\w+:)?filterColumn')
_UNSAVED = re.compile(
    rb"<(?:\w+:)?c\b([^>]*)>\s*<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)\s*"
    rb"(<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_UNSEEN_SIZE = 1  # points of letters and of a row's height, characters of a column's width

type _Area = tuple[int, int, int, int]
"""First column and row, last column and row, from 1."""


def convert(data: bytes) -> Converted:
    """Return the sheets that are not hidden; formulas by the values that were saved with them."""
    title = check_office(data, suffix=".xlsx", max_xml_bytes=MAX_XML_BYTES, max_elements=MAX_ELEMENTS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # openpyxl warns of losses in writing
        book = _book(data)
        if not book.worksheets:  # ISO's "strict" kind, which openpyxl does not know
            data = rewrite_parts(data, lambda _, part: usual_names(part))
            book = _book(data)
        shown = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
        with ZipFile(io.BytesIO(data)) as archive:
            reader = _Reader(archive)
            parts = [(one_line(sheet.title), reader.read(sheet)) for sheet in shown]
    if not book.worksheets:
        raise Unconvertible("holds no sheet that can be read")
    filled = [(name, text) for name, text in parts if text]
    if not filled:
        raise Unconvertible("holds no cells with anything in them")
    text = "\n\n".join(f"## {name}\n\n{text}" for name, text in filled)
    hidden = [one_line(sheet.title) for sheet in book.worksheets if sheet not in shown]
    caveats = [f"has hidden sheets, which are left out: {', '.join(hidden)}"] if hidden else []
    caveats += hidden_caveat(reader.hidden)
    if unsaved := reader.unsaved:
        count = f"{len(unsaved)} formula{'s have' if len(unsaved) > 1 else ' has'} no saved value, e.g. {unsaved[0]}"
        caveats.append(f"{count}: open the file in Excel or LibreOffice, save it, ingest again")
    return Converted(compose(text, title=title), tuple(caveats))


def _book(data: bytes) -> Any:
    return load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)


@dataclass
class _Reader:
    """A reader of sheets with one budget; ``hidden`` are texts and ``unsaved`` names of cells that it leaves out."""

    archive: ZipFile
    budget: Budget = field(default_factory=Budget)
    hidden: list[str] = field(default_factory=list)
    unsaved: list[str] = field(default_factory=list)
    styles: dict[int, tuple[str, bool, bool]] = field(default_factory=dict)

    def read(self, sheet: Any) -> str:
        """Return the cells and text boxes of a sheet."""
        with sheet._get_source() as part:
            xml = part.read()
        for cell, value in _UNSAVED.findall(xml):
            if not (value and b't="str"' in cell):  # that one is an empty text
                self.unsaved.append(f"{one_line(sheet.title)}!{dict(_ATTRIBUTE.findall(cell.decode())).get('r', '')}")
        hidden_rows = {
            int(row.get("r", number)) for number, row in enumerate(_attributes(_ROW, xml), 1) if _is_unseen(row, "ht")
        }
        tables = [etree.tostring(table) for table in _related(self.archive, sheet._worksheet_path, "/table")]
        for _, top, _, bottom in _areas(_FILTER, *tables, xml):
            hidden_rows.difference_update(range(top + 1, bottom + 1))  # the filter's button is beside them
        hidden_columns = {
            number
            for column in _attributes(_COLUMN, xml)
            if _is_unseen(column, "width")
            for number in range(int(column["min"]), min(int(column["max"]), _MAX_COLUMNS) + 1)
        }
        rows = self.budget.limit(self._rows(sheet, xml, hidden_rows, hidden_columns))
        cells = sheet_markdown(list(rows))
        return "\n\n".join(filter(None, (cells, text_boxes(self.archive, sheet._worksheet_path))))

    def _rows(self, sheet: Any, xml: bytes, hidden_rows: set[int], hidden_columns: set[int]) -> Iterator[list[str]]:
        """Yield the visible cells, with a merged range's value in each of its cells, so that rows can be read alone.

        openpyxl reports merged ranges only for a sheet that is wholly in memory, at 50 times its size.
        """
        sheet.reset_dimensions()  # the size in the file may be wrong
        merged = sorted(_areas(_MERGED, xml)[:_MAX_MERGED], key=lambda area: -area[1])
        values: dict[_Area, str] = {}
        for number, cells in enumerate(sheet.iter_rows(), 1):
            self.budget.count_places(len(cells) + len(values))
            row = [self._cell_text(cell) for cell in cells]
            self.hidden += row if number in hidden_rows else [row[c - 1] for c in hidden_columns if c <= len(row)]
            spread(row, number, merged, values, hidden_columns)
            if number not in hidden_rows:
                yield [cell for column, cell in enumerate(row, 1) if column not in hidden_columns]

    def _cell_text(self, cell: Any) -> str:
        value = cell.value
        if value is None:
            return ""
        if cell._style_id not in self.styles:
            self.styles[cell._style_id] = _style(cell)
        code, is_unseen, is_bold = self.styles[cell._style_id]
        text = shown_value(value, code)
        if is_unseen or (value and not text):
            self.hidden.append(str(value))
            return ""
        if isinstance(value, int | float) and not isinstance(value, bool):
            return ShownNumber(text)
        return Bold(text) if is_bold else text


def _style(cell: Any) -> tuple[str, bool, bool]:
    """Return the number format of a cell, whether its letters are not seen, and whether they are bold."""
    font, fill = cell.font, cell.fill
    ground = "FFFFFF" if fill.fill_type is None else _rgb(fill.fgColor) if fill.fill_type == "solid" else ""
    is_tiny = font.sz is not None and font.sz <= _UNSEEN_SIZE
    return cell.number_format or "", is_tiny or is_unseen_colour(_rgb(font.color), ground), bool(font.b)


def _rgb(color: Any) -> str:
    """Return a color as six hexadecimal digits, ``""`` if it is not known."""
    if color is None or color.type == "auto":
        return ""
    if color.type == "theme":
        return {0: "FFFFFF", 1: "000000"}.get(color.theme, "") if not color.tint else ""
    if color.type == "indexed":
        return COLOR_INDEX[color.indexed][-6:] if color.indexed < len(COLOR_INDEX) else ""
    return str(color.rgb)[-6:]


def spread(
    row: list[str], number: int, merged: list[_Area], values: dict[_Area, str], hidden_columns: set[int]
) -> None:
    """Put the values of merged ranges into a row; ``values`` has those that go on below."""
    while merged and merged[-1][1] <= number:
        area = merged.pop()
        value = row[area[0] - 1] if area[0] <= len(row) else ""
        if value and area[3] >= number:
            values[area] = value
    for area in [area for area in values if area[3] < number]:
        del values[area]
    for (left, _, right, _), value in values.items():
        row += [""] * (min(right, _MAX_SPAN) - len(row))
        first = next((column for column in range(left, right) if column not in hidden_columns), left)
        for column in range(left, min(right, len(row)) + 1):
            row[column - 1] = value if column == first else Spread(value)


def _attributes(tag: re.Pattern[bytes], xml: bytes) -> Iterator[dict[str, str]]:
    return (dict(_ATTRIBUTE.findall(found.decode())) for found in tag.findall(xml))


def _is_unseen(line: dict[str, str], size: str) -> bool:
    """Return whether a row or column is hidden; one of a closed group, whose control is beside it, is not."""
    is_hidden = line.get("hidden") in ("1", "true") or float(line.get(size, _UNSEEN_SIZE + 1)) < _UNSEEN_SIZE
    return is_hidden and line.get("outlineLevel", "0") == "0"


def _areas(reference: re.Pattern[bytes], *parts: bytes) -> list[_Area]:
    found: list[Any] = [range_boundaries(ref.decode()) for part in parts for ref in reference.findall(part)]
    return [area for area in found if None not in area]


def text_boxes(archive: ZipFile, sheet: str) -> str:
    """Return the paragraphs of the text boxes on a sheet (a part's name), in the file's order."""
    shapes = (shape for drawing in _related(archive, sheet, "/drawing") for shape in drawing.iter("{*}sp"))
    shown = (shape for shape in shapes if next(shape.iterancestors("{*}Fallback"), None) is None)
    paragraphs = ("".join(line.itertext("{*}t")) for shape in shown for line in shape.iter("{*}p"))
    return "\n\n".join(literal(words) for line in paragraphs if (words := one_line(line)))


def _related(archive: ZipFile, sheet: str, kind: str) -> Iterator[etree._Element]:
    """Yield the parts of a kind that belong to a sheet."""
    folder, name = posixpath.split(sheet)
    relations = parse_part(archive, f"{folder}/_rels/{name}.rels")
    for relation in () if relations is None else relations:
        if str(relation.get("Type")).endswith(kind):
            target = posixpath.normpath(posixpath.join("/", folder, str(relation.get("Target"))))
            if (part := parse_part(archive, target.lstrip("/"))) is not None:
                yield part


# Numbers, dates and times as a sheet shows them, by the number formats of ECMA-376 part 1, 18.8.30. Dates are ISO,
# because the order of day and month may depend on the reader's machine. Of the libraries, openpyxl applies no formats,
# and ssf has had no release since 2020.

_NOT_CODE = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|\[(?!\s*[<>=]|[hms]+\])[^\]]*\]|_.|\*.', re.IGNORECASE)
_CONDITION = re.compile(r"\[\s*([<>]=|<>|[<>=])\s*(-?[\d.]+)\s*\]")
_COMPARE = {"<": lt, ">": gt, "<=": le, ">=": ge, "=": eq, "<>": ne}
_PLACES = re.compile(r"[0#?](?:.*[0#?])?")
_THOUSANDS = re.compile(r"(?<=[0#?]),+(?![0#?,])")
_GENERAL = re.compile(r"general|@|[0#?].*(?:/|e[+-]).*[\d#?]", re.IGNORECASE)
"""Also fractions and powers of ten, which none of 13 real workbooks has: they are shown as decimals."""
_SHIFT = 0xF0000  # moves literal text to a private plane, where no character is a sign of a format
_SIGNS = {"-", "(", chr(ord("-") + _SHIFT), chr(ord("(") + _SHIFT)}


def shown_value(value: Any, code: str) -> str:
    """Return the text that a cell shows by the number format ``code``; ``""`` if it shows nothing."""
    sections = _sections(code if len(code) < 256 else "General")  # Excel's limit
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, dt.date | dt.time | dt.timedelta):
        return _date(value, sections[0].lower())
    if isinstance(value, int | float):
        try:
            shown = _number(value, sections)
        except InvalidOperation:  # more digits than any sheet has
            shown = str(value)
    elif "@" in sections[-1] or len(sections) > 3:
        shown = sections[-1].replace("@", str(value))
    else:
        return str(value)
    return "".join(chr(ord(char) - _SHIFT) if ord(char) >= _SHIFT else char for char in shown).strip()


@lru_cache(maxsize=1024)
def _sections(code: str) -> list[str]:
    def protect(found: re.Match[str]) -> str:
        return "".join(chr(ord(char) % _SHIFT + _SHIFT) for char in found[1] or found[2] or found[3] or "")

    return _NOT_CODE.sub(protect, code).split(";")


def _number(value: float, sections: list[str]) -> str:
    section = _choose_section(value, sections)
    text = str(abs(value)) if isinstance(value, int) else f"{abs(value):.15g}"  # a sheet's digits: 0.1 + 0.2 is 0.3
    thousands = sum(map(len, _THOUSANDS.findall(section)))
    places = _PLACES.search(_THOUSANDS.sub("", section))
    if _GENERAL.search(section) or not places:
        shown = _GENERAL.sub(lambda _: text, section)
    else:
        number = Decimal(text).scaleb(2 * section.count("%") - 3 * thousands)
        shown = places.string[: places.start()] + _in_places(number, places[0]) + places.string[places.end() :]
    return f"-{shown}" if value < 0 and not _SIGNS & set(section) and re.search("[1-9]", shown) else shown


def _choose_section(value: float, sections: list[str]) -> str:
    conditions = [_CONDITION.search(section) for section in sections]
    if any(conditions):
        for section, found in zip(sections, conditions, strict=True):
            if found is None or _COMPARE[found[1]](value, float(found[2])):
                return _CONDITION.sub("", section)
        return "General"
    numbers = [section for section in sections[:3] if "@" not in section] or sections[:1]
    chosen = 1 if value < 0 else 2 if value == 0 else 0
    return numbers[chosen] if chosen < len(numbers) else numbers[0]


def _in_places(number: Decimal, pattern: str) -> str:
    """Return ``number`` in the places ``0``, ``#`` and ``?`` of ``pattern``."""
    whole, _, decimals = pattern.partition(".")
    number = number.quantize(Decimal(1).scaleb(-sum(map(decimals.count, "0#?"))), ROUND_HALF_UP)
    digits, _, rest = f"{number:f}".partition(".")
    rest = rest.rstrip("0").ljust(decimals.count("0"), "0")
    width = whole.count("0")
    digits = digits.lstrip("0").zfill(width)
    if "," in whole and digits:
        digits = f"{int(digits):0{width + max(width - 1, 0) // 3},}"
    left = list(digits)
    shown = re.sub("[0#?]", lambda _: left.pop() if left else "", whole.replace(",", "")[::-1])[::-1]
    return "".join(left) + shown + "." * bool(rest) + rest


def _date(value: Any, code: str) -> str:
    """Return the shown parts of a date, as ISO or with the month's name, and of a time."""
    if isinstance(value, dt.timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        clock = f"{minutes // 60:02}:{minutes % 60:02}" if "h" in code else f"{minutes:02}"
        return f"{clock}:{seconds:02}" if "s" in code or "h" not in code else clock
    has_time = isinstance(value, dt.time) or bool(set("hs") & set(code))
    if isinstance(value, dt.time) or (has_time and not set("yd") & set(code)):
        return _time(value, code)
    if re.search("(?<!d)dd?(?!d)", code):
        date = f"{value:%Y-%m-%d}"
    elif "m" in code.replace("am/pm", ""):
        date = f"{value:%B %Y}" if "mmm" in code else f"{value:%Y-%m}"
    else:
        date = f"{value:%A}" if "d" in code else f"{value:%Y}"
    return f"{date} {_time(value, code)}" if has_time else date


def _time(value: dt.time | dt.datetime, code: str) -> str:
    if re.search("am?/", code):
        return f"{value:%I:%M %p}".lstrip("0")
    if "s" in code and "h" not in code:
        return f"{value:%M:%S}"
    return f"{value:%H:%M:%S}" if "s" in code and value.second else f"{value:%H:%M}"
