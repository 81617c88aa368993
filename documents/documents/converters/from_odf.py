"""OpenDocument (texts, sheets, slides; zipped or flat XML) to Markdown: its elements are renamed to those of HTML.

odfdo gives deleted and hidden text like any other, so lxml reads the parts here.
"""

from __future__ import annotations

import io
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any
from zipfile import BadZipFile, ZipFile

from lxml import etree

from documents.converters.from_html import fragment_markdown
from documents.converters.from_xlsx import spread
from documents.converters.office import check_archive, in_form, is_unseen_colour
from documents.converters.output import compose, hidden_caveat, literal, one_line, own_title
from documents.converters.tables import Bold, Budget, ShownNumber, sheet_markdown
from documents.converters.visibility import pixels
from documents.errors import NoText, Unconvertible
from documents.values import Converted

MAX_XML_BYTES = 64 * 1024 * 1024
"""Of a part, which lxml holds in memory as a tree."""
_MANIFEST = "META-INF/manifest.xml"
_SPACE = "{urn:oasis:names:tc:opendocument:xmlns:"
_MAX_COLUMNS, _MAX_SPACES = 16_384, 100
_POINT_PX, _ROW_PX = 4 / 3, 30  # the second is 8 mm: shapes that begin within it stand side by side
_UNSEEN = (
    *("-index", "-decl", "tracked-changes", "annotation", "note-citation", ".forms", "table-of-content"),
    *("page-number", ".script", "event-listeners"),
)
"""The ends of the names of elements that show no text, or only what stands elsewhere."""
_BLOCKS = ("text.p", "text.h", "text.list", "table.table")
_SHAPES = tuple(f"drawing.{name}" for name in ("frame", "custom-shape", "rect", "ellipse", "circle", "caption", "path"))
_NAMES = {"text.p": "p", "text.list": "ul", "text.list-item": "li", "text.list-header": "li", "text.line-break": "br"}
_NAMES |= {"table.table": "table", "table.table-row": "tr", "table.table-cell": "td"}
_NAMES |= {"table.table-header-rows": "thead", "text.note-body": "div"}
_FAMILIES = {"text.span": "text", "table.table-cell": "table-cell", "drawing.page": "drawing-page"}
_FAMILIES |= dict.fromkeys(_SHAPES, "graphic")
_PLACEHOLDERS = ("title", "notes", "header", "footer", "date-time", "page-number", "page")
_NUMBER_FORMS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}

type _Properties = Callable[[str, str], Mapping[str, str]]
"""What a style states, by its family and name."""


def convert(data: bytes) -> Converted:
    """Return the text, the visible sheets or the visible slides.

    Raises:
        Unconvertible: the file is encrypted, damaged or too large.
        NoText: it holds no text.
    """
    parts = _read_parts(data)
    title = own_title(parts.get("meta.xml", parts["content.xml"]).findtext(".//other.title") or "")
    roots = [parts[name] for name in ("styles.xml", "content.xml") if name in parts]
    properties = _read_styles(roots)
    names = {element.tag for element in roots[-1].iter(etree.Element) if element.tag.endswith(_UNSEEN)}
    etree.strip_elements(roots[-1], *names, with_tail=False)
    for blank in roots[-1].iter("text.s", "text.tab"):
        blank.text = " " * min(int(blank.get("text.c", 1)), _MAX_SPACES)
    for end in roots[-1].iter("text.line-break"):
        end.tail = f"\n{end.tail or ''}"
    for part in roots[-1].iter("drawing.object"):  # a chart's or another file's own, in flat files
        part[:] = part.iterfind(".//math")
    body = roots[-1].find(".//office.body/*")
    if body is None:
        raise NoText("holds no text")
    if body.tag == "office.spreadsheet":
        text, caveats = _write_sheets(body, properties)
    else:
        caveats = _prepare_slides(body, roots, properties)
        _write_numbers(body, roots)
        _move_out_of_frames(body, parts)
        for note in reversed(list(body.iter("text.note-body"))):
            next(note.iterancestors("text.p", "text.h"), note.getparent()).addnext(note)
        etree.strip_elements(body, "text.note", with_tail=False)
        text, hidden = fragment_markdown(_write_html(body, properties))
        caveats += hidden_caveat(hidden)
    return Converted(compose(text, title=title), caveats)


def _read_parts(data: bytes) -> dict[str, Any]:
    """Return the roots of the parts by their names; a flat file is its content."""
    try:
        if not data.startswith(b"PK"):
            return {"content.xml": _parse_part(data)}
        with ZipFile(io.BytesIO(data)) as archive:
            check_archive(archive)
            names = archive.namelist()
            if _MANIFEST in names and b"encryption-data" in archive.read(_MANIFEST):
                raise Unconvertible("is protected with a password: save it without one")
            archive.getinfo("content.xml")
            wanted = [name for name in names if name.endswith(("content.xml", "meta.xml", "styles.xml"))]
            return {name: _parse_part(archive.read(name)) for name in wanted}
    except (BadZipFile, KeyError, etree.XMLSyntaxError) as exc:
        raise Unconvertible(f"is damaged or no OpenDocument file ({exc}): save it again") from exc


def _parse_part(part: bytes) -> Any:
    """Return the root of a part, with each name as ``text.p``."""
    if len(part) > MAX_XML_BYTES:
        raise Unconvertible(f"holds {len(part) >> 20} MiB of XML; at most {MAX_XML_BYTES >> 20} are read: split it")
    root = etree.fromstring(part, etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True))
    for element in root.iter(etree.Element):
        attributes = [(_short_name(name), value) for name, value in element.attrib.items()]
        element.tag = _short_name(element.tag)
        element.attrib.clear()
        element.attrib.update(attributes)
    return root


@lru_cache(maxsize=4096)
def _short_name(name: str) -> str:
    space, _, local = name.rpartition("}")
    if space.endswith("MathML"):
        return local
    return f"{space.removeprefix(_SPACE).partition(':')[0] if space.startswith(_SPACE) else 'other'}.{local}"


def _read_styles(roots: list[Any]) -> _Properties:
    styles = {
        (one.get("style.family"), one.get("style.name")): one for root in roots for one in root.iter("style.style")
    }

    @cache
    def properties(family: str, name: str) -> Mapping[str, str]:
        style = styles.get((family, name), etree.Element("none"))
        own = {key.rpartition(".")[2]: value for part in style for key, value in part.attrib.items()}
        own |= {"is-title": "1"} if name == "Title" else {}
        around = style.get("style.parent-style-name")
        return {**properties(family, around), **own} if around else own

    return properties


def _style_of(element: Any) -> str:
    return str(element.get(f"{element.tag.partition('.')[0]}.style-name", element.get("presentation.style-name", "")))


def _write_html(body: Any, properties: _Properties) -> str:
    for element in list(body.iter(etree.Element)):
        css, old = _css(element, properties), dict(element.attrib)
        is_title = element.tag == "text.p" and "is-title" in properties("paragraph", _style_of(element))
        if "." in element.tag:  # no MathML
            element.attrib.clear()
        if element.tag == "table.table-cell":
            element.set("colspan", old.get("table.number-columns-spanned", "1"))
            element.set("rowspan", old.get("table.number-rows-spanned", "1"))
        name = "div" if "no-bullet" in old else _NAMES.get(element.tag, element.tag)
        element.tag = f"h{min(int(old.get('text.outline-level', 1)), 6)}" if is_title or name == "text.h" else name
        element.set("style", css)
    return str(etree.tostring(body, encoding="unicode", method="html"))


def _css(element: Any, properties: _Properties) -> str:
    """Return what decides in HTML whether an element's text is seen."""
    family = "presentation" if "presentation.style-name" in element.attrib else _FAMILIES.get(element.tag, "paragraph")
    master = properties("drawing-page", element.get("drawing.master-page-name", ""))
    found = {**master, **properties(family, _style_of(element))}
    css = [f"{name}:{found[name]}" for name in ("color", "background-color", "font-size") if name in found]
    if found.get("fill", "none") != "none":
        css.append(f"background:{found.get('fill-color', '') if found['fill'] == 'solid' else 'url(x)'}")
    is_hidden = "none" in (found.get("display"), element.get("text.display"), element.get("drawing.display"))
    if is_hidden or element.get("text.is-hidden") == "true" or element.get("table.visibility") == "collapse":
        css.append("display:none")
    return ";".join(css)


def _move_out_of_frames(body: Any, parts: Mapping[str, Any]) -> None:
    """Move what stands in frames behind their paragraph; pictures become their words."""
    for shape in reversed(list(body.iter(_SHAPES))):
        around = next(shape.iterancestors("text.p", "text.h"), None)
        blocks = [block for block in shape.iter(_BLOCKS) if next(block.iterancestors(*_BLOCKS, *_SHAPES)) is shape]
        titles = shape.iter("svg-compatible.title", "svg-compatible.desc")
        words = one_line(" ".join(found.text or "" for found in titles))
        places = [part.get("other.href", "").removeprefix("./") for part in shape.iter("drawing.object")]
        objects = [*shape.iter("math"), *(parts.get(f"{place}/content.xml", shape) for place in places)]
        shape[:] = [formula for formula in objects if formula.tag == "math"]
        if not len(shape) and " " in words:  # a word alone is a file's name
            (etree.SubElement(shape, "text.p") if around is None else shape).text = f" {words} "
        for block in reversed(blocks):
            shape.insert(0, block) if around is None else around.addnext(block)


def _prepare_slides(body: Any, roots: list[Any], properties: _Properties) -> tuple[str, ...]:
    """Prepare the slides that are not hidden, and drop the others."""
    layouts = [layout for root in roots for layout in root.iter("style.page-layout-properties")]
    widths = [pixels(layout.get("xsl-fo-compatible.page-width", "")) for layout in layouts]
    hidden = []
    for number, page in enumerate(body.findall("drawing.page"), 1):
        if properties("drawing-page", _style_of(page)).get("visibility") == "hidden":
            hidden.append(str(number))
            body.remove(page)
        else:
            _arrange_slide(page, number, max((max(width) for width in widths if width), default=math.inf))
    return (f"has hidden slides, which are left out: {', '.join(hidden)}",) if hidden else ()


def _arrange_slide(page: Any, number: int, width: float) -> None:
    """Give a slide its title as a heading, order its shapes, hide those beside it, and drop furniture."""
    shapes: dict[str, list[Any]] = defaultdict(list)
    for shape in page:
        kind = "notes" if shape.tag == "presentation.notes" else shape.get("presentation.class", "")
        shapes[kind if kind in _PLACEHOLDERS else ""].append(shape)
        left, _, across = _place(shape)
        if left >= width or left + across < 0:
            shape.set("drawing.display", "none")
    for notes in shapes["notes"]:
        notes[:] = [frame for frame in notes if frame.get("presentation.class") == "notes"]
        if "".join(notes.itertext()).strip():
            notes.insert(0, _line("text.p", "Notes:"))
    words = " ".join("".join(line.itertext()) for title in shapes["title"] for line in title.iter("text.p"))
    shapes[""].sort(key=lambda shape: (_place(shape)[1] // _ROW_PX, _place(shape)[0]))
    heading = _line("text.h", one_line(words) or f"Slide {number}")
    heading.set("text.outline-level", "2")
    page[:] = [heading, *shapes[""], *shapes["notes"]] if "".join(page.itertext()).strip() else []


def _line(tag: str, text: str) -> Any:
    element = etree.Element(tag)
    element.text = text
    return element


def _place(shape: Any) -> list[float]:
    """Return a shape's left, top and width in pixels."""
    placed = next((one for one in shape.iter(etree.Element) if one.get("svg-compatible.y")), shape)
    return [max(pixels(placed.get(f"svg-compatible.{name}", "")), default=0.0) for name in ("x", "y", "width")]


def _write_numbers(body: Any, roots: list[Any]) -> None:
    """Write the numbers of headings and items into their text."""
    kinds = [one for root in roots for one in root.iter("text.list-style", "text.outline-style")]
    levels = {(one.get("style.name"), int(level.get("text.level", 1))): level for one in kinds for level in one}
    counts: dict[str, dict[int, int]] = defaultdict(dict)
    for item in body.iter("text.h", "text.list-item"):
        lists = list(item.iterancestors("text.list"))
        if item.tag == "text.list-item" or not lists:  # else it is numbered with its item
            _write_number(item, lists, levels, counts)


def _write_number(item: Any, lists: list[Any], levels: Mapping[Any, Any], counts: dict[str, dict[int, int]]) -> None:
    style = next((name for one in lists if (name := one.get("text.style-name"))), "" if lists else "Outline")
    if lists and item is next(lists[-1].iter("text.list-item")) and not _continues_numbering(lists[-1]):
        counts.pop(style, None)
    first = next(iter(item), item) if lists else item
    is_deeper = first.tag not in ("text.p", "text.h")
    number = "" if is_deeper else _next_number(item, (style, len(lists)), levels, counts[style])
    first.text = f"{number} {first.text or ''}" if number else first.text
    if lists and (number or is_deeper or _is_cell(lists[0])):
        item.set("no-bullet", "")


def _continues_numbering(listing: Any) -> bool:
    return listing.get("text.continue-numbering") == "true" or "text.continue-list" in listing.attrib


def _is_cell(listing: Any) -> bool:
    """Return whether a list is the content of a cell, as Impress writes each."""
    return len(listing) == 1 and listing.getparent().tag == "table.table-cell"


def _next_number(item: Any, place: tuple[str, int], levels: Mapping[Any, Any], counts: dict[int, int]) -> str:
    """Count a heading or an item at its level, and return its number as shown (``""``: none)."""
    style, level = place[0], place[1] or int(item.get("text.outline-level", 1))
    form = levels.get((style, level))
    if form is None or not form.get("style.num-format"):
        return ""
    usual = counts.get(level, int(form.get("text.start-value", 1)) - 1) + 1
    counts[level] = int(item.get("text.start-value", usual))
    for deeper in [at for at in counts if at > level]:
        del counts[deeper]
    shown = [
        in_form(counts.get(at, 1), _NUMBER_FORMS.get(kind, "decimal"))
        for at in range(max(1, level + 1 - int(form.get("text.display-levels", 1))), level + 1)
        if (kind := levels.get((style, at), form).get("style.num-format"))
    ]
    return f"{form.get('style.num-prefix', '')}{'.'.join(shown)}{form.get('style.num-suffix', '')}".strip()


def _write_sheets(body: Any, properties: _Properties) -> tuple[str, tuple[str, ...]]:
    reader = _SheetReader(properties)
    parts, hidden_sheets = [], []
    for sheet in body.iterchildren("table.table"):
        name = one_line(sheet.get("table.name", ""))
        if properties("table", _style_of(sheet)).get("display") == "false":
            hidden_sheets.append(name)
        else:
            cells = sheet_markdown(list(reader.budget.limit(reader.rows(sheet))))
            boxed = (line for line in sheet.iter("text.p") if next(line.iterancestors(*_SHAPES), None) is not None)
            lines = (literal(one_line("".join(line.itertext()))) for line in boxed)
            if text := "\n\n".join(filter(None, [cells, *lines])):
                parts.append(f"## {name}\n\n{text}")
    caveats = (f"has hidden sheets, which are left out: {', '.join(hidden_sheets)}",) if hidden_sheets else ()
    return "\n\n".join(parts), (*caveats, *hidden_caveat(reader.hidden))


@dataclass
class _SheetReader:
    """A reader of sheets with one budget; ``hidden`` are the texts that it leaves out."""

    properties: _Properties
    budget: Budget = field(default_factory=Budget)
    hidden: list[str] = field(default_factory=list)

    def rows(self, sheet: Any) -> Iterator[list[str]]:
        """Yield the visible cells, a merged range's value in each of its cells, and empty rows once."""
        hidden_columns: set[int] = set()
        default_styles: list[str] = []
        for column in sheet.iter("table.table-column"):
            count = min(int(column.get("table.number-columns-repeated", 1)), _MAX_COLUMNS - len(default_styles))
            if _is_collapsed(column):
                hidden_columns.update(range(len(default_styles) + 1, len(default_styles) + count + 1))
            default_styles += [column.get("table.default-cell-style-name", "")] * count
        values: dict[tuple[int, int, int, int], str] = {}
        numbers = itertools.count(1)
        for row in sheet.iter("table.table-row"):
            cells, spans = self._cells(row, default_styles)
            for number in itertools.islice(numbers, int(row.get("table.number-rows-repeated", 1))):
                shown = list(cells)
                areas = [(left, number, right, number + down - 1) for left, right, down in spans]
                spans = []
                spread(shown, number, areas, values, hidden_columns)
                self.budget.count_places(len(shown) + len(values))
                is_hidden = _is_collapsed(row)
                self.hidden += cells if is_hidden else [shown[at - 1] for at in hidden_columns if at <= len(shown)]
                if not is_hidden:
                    yield [cell for at, cell in enumerate(shown, 1) if at not in hidden_columns]
                if not shown:
                    break

    def _cells(self, row: Any, default_styles: list[str]) -> tuple[list[str], list[tuple[int, int, int]]]:
        """Return the cells of a row, and the first and last column and the rows of the ranges merged from it on."""
        cells: list[str] = []
        spans = []
        blanks = 0
        for cell in row.iterchildren("table.table-cell", "table.covered-table-cell"):
            count = min(int(cell.get("table.number-columns-repeated", 1)), _MAX_COLUMNS)
            usual = row.get("table.default-cell-style-name") or "".join(default_styles[len(cells) + blanks :][:1])
            text = self._text(cell, self.properties("table-cell", cell.get("table.style-name", usual)))
            if not text or cell.tag == "table.covered-table-cell":
                blanks += count
                continue
            cells += [""] * min(blanks, _MAX_COLUMNS - len(cells))
            blanks = 0
            across, down = (int(cell.get(f"table.number-{kind}-spanned", 1)) for kind in ("columns", "rows"))
            spans += [(len(cells) + 1, len(cells) + across, down)] if across > 1 or down > 1 else []
            cells += [text] * min(count, _MAX_COLUMNS - len(cells))
        return cells, spans

    def _text(self, cell: Any, style: Mapping[str, str]) -> str:
        kind = cell.get("office.value-type", "")
        text = "\n".join("".join(line.itertext()) for line in cell.iterchildren("text.p"))
        text = text or cell.get(f"office.{kind}-value") or cell.get("office.value") or ""
        ground = style.get("background-color", "#ffffff").replace("transparent", "#ffffff")
        is_tiny = max(pixels(style.get("font-size", "")), default=_ROW_PX) <= _POINT_PX
        if text and (is_tiny or is_unseen_colour(style.get("color", "")[1:], ground[1:])):
            self.hidden.append(text)
            return ""
        if kind in ("float", "currency", "percentage"):
            return ShownNumber(text)
        return Bold(text) if style.get("font-weight") == "bold" else text


def _is_collapsed(line: Any) -> bool:
    """Return whether a row or column is hidden; one of a group is not, because a reader can open it."""
    return line.get("table.visibility") == "collapse" and not line.getparent().tag.endswith("-group")
