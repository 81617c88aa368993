"""PowerPoint presentations to Markdown with python-pptx: each slide a section, with its tables, charts and notes."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from pptx import Presentation
from pptx.enum.shapes import PP_PLACEHOLDER
from pptx.oxml import parse_xml

from documents.converters.office import check_office, write_latex
from documents.converters.output import compose, hidden_caveat, literal, one_line
from documents.converters.tables import letter, spread, table
from documents.errors import Unconvertible
from documents.values import Converted

MAX_XML_BYTES = 64 * 1024 * 1024
"""Of all parts that are XML, which lxml holds in memory as trees."""

_ROW_EMU = 300_000  # 8 mm: shapes that begin within it stand side by side
_HEADERS_AND_FOOTERS = (PP_PLACEHOLDER.SLIDE_NUMBER, PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.HEADER)
_BODIES = (PP_PLACEHOLDER.BODY, PP_PLACEHOLDER.OBJECT)
_WHITE = "a:solidFill[a:srgbClr[@val='FFFFFF' or @val='ffffff'] or a:schemeClr[@val='bg1' or @val='lt1'][not(*)]]"
_FILLED = f"[a:gradFill or a:blipFill or a:pattFill or a:solidFill and not({_WHITE})]"
_GROUNDS = (
    f".//p:pic | .//*[self::p:spPr or self::p:bgPr or self::a:tcPr]{_FILLED} | .//a:tableStyleId"
    " | .//p:style/a:fillRef[@idx > 0] | .//p:bgRef[not(a:schemeClr[@val='bg1'])] | .//p:clrMap[@bg1 != 'lt1']"
)
"""What may be behind white letters: pictures, filled shapes and cells, coloured slides."""
_SHAPES = ("{*}sp", "{*}pic", "{*}graphicFrame", "{*}grpSp", "{*}cxnSp")
_RUN = '<a:r xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:t/></a:r>'


def convert(data: bytes) -> Converted:
    """Return the slides that are not hidden, in order."""
    title = check_office(data, suffix=".pptx", max_xml_bytes=MAX_XML_BYTES)
    deck = Presentation(io.BytesIO(data))
    slides = list(enumerate(deck.slides, 1))
    for _, slide in slides:
        _expose_shapes(slide._element)
    closed = [str(number) for number, slide in slides if slide._element.get("show") in ("0", "false")]
    shown = [(number, slide) for number, slide in slides if str(number) not in closed]
    hidden = [text for _, slide in shown for text in _take_hidden(slide, deck.slide_width or 0, deck.slide_height or 0)]
    parts = [part for number, slide in shown if (part := _slide(slide, number))]
    if not parts:
        raise Unconvertible("holds no text on its slides, as if they were pictures: put it through OCR first")
    caveats = (f"has hidden slides, which are left out: {', '.join(closed)}",) if closed else ()
    return Converted(compose("\n\n".join(parts), title=title), (*caveats, *hidden_caveat(hidden)))


def _take_hidden(slide: Any, width: int, height: int) -> list[str]:
    """Take out hidden shapes, those beside the slide and letters that are not seen, and return their texts."""
    elements = []
    for shape in slide.shapes:
        left, top = shape.left or 0, shape.top or 0
        is_beside = left >= width or top >= height or left + (shape.width or 1) <= 0 or top + (shape.height or 1) <= 0
        if is_beside or shape._element.xpath("./*/p:cNvPr[@hidden='1' or @hidden='true']"):
            elements.append(shape._element)
    layers = [slide, slide.slide_layout, slide.slide_layout.slide_master]
    is_plain = not any(layer._element.xpath(_GROUNDS) for layer in layers)
    elements += slide._element.xpath(f".//a:r[a:rPr[@sz <= 100{f' or {_WHITE}' if is_plain else ''}]]")
    texts = ["".join(element.itertext("{*}t")) for element in elements]
    for element in elements:
        element.getparent().remove(element)
    return texts


def _expose_shapes(slide: Any) -> None:
    """Move the first shapes of alternatives, and equations' text, to where python-pptx sees them."""
    for alternatives in list(slide.iter("{*}AlternateContent")):
        found = (list(one.iterchildren(*_SHAPES)) for one in alternatives)
        for shape in next(filter(None, found), []):
            alternatives.addprevious(shape)
    for equation in list(slide.iter("{*}oMath")):
        for around in equation.iterancestors("{http://schemas.microsoft.com/office/drawing/2010/main}m"):
            run = parse_xml(_RUN)
            run.text = write_latex(equation)
            around.addprevious(run)


def _slide(slide: Any, number: int) -> str:
    head = slide.shapes.title
    title = one_line(head.text_frame.text) if head is not None and head.has_text_frame else ""
    shapes = [shape for shape in slide.shapes if head is None or shape.shape_id != head.shape_id]
    blocks = [block for shape in _reading_order(shapes) for block in _blocks(shape, 0) if block.strip()]
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = _plain(slide.notes_slide.notes_text_frame)
        blocks += [f"Notes:\n\n{notes}"] if notes else []
    return "\n\n".join([f"## {title or f'Slide {number}'}", *blocks]) if title or blocks else ""


def _reading_order(shapes: Iterable[Any]) -> list[Any]:
    """Return shapes from top to bottom, then left to right; their layout gives a missing position."""
    return sorted(shapes, key=lambda shape: ((shape.top or 0) // _ROW_EMU, shape.left or 0))


def _blocks(shape: Any, depth: int) -> Iterator[str]:
    if hasattr(shape, "shapes"):  # a group
        if depth < 20:
            for inner in _reading_order(shape.shapes):
                yield from _blocks(inner, depth + 1)
    elif getattr(shape, "has_table", False):
        rows = _rows(shape.table)
        yield table(rows[0], rows[1:]) if rows else ""
    elif getattr(shape, "has_chart", False):
        with suppress(ValueError, NotImplementedError):  # python-pptx does not know all kinds of them
            yield from _chart(shape.chart)
    elif shape.has_text_frame:
        if not (shape.is_placeholder and shape.placeholder_format.type in _HEADERS_AND_FOOTERS):
            is_body = shape.is_placeholder and shape.placeholder_format.type in _BODIES
            yield _items(shape.text_frame) if is_body else _plain(shape.text_frame)
    else:
        yield from _diagram(shape)
        found = shape._element.xpath(".//p:cNvPr/@descr")
        words = one_line(found[0]) if found else ""
        yield literal(words) if " " in words else ""  # a word alone is a file's name


def _rows(grid: Any) -> list[list[str]]:
    cells = ([cell for cell in row.cells if not cell.is_spanned] for row in grid.rows)
    return spread([[(one_line(one.text_frame.text), one.span_width, one.span_height) for one in row] for row in cells])


def _diagram(shape: Any) -> Iterator[str]:
    """Yield the words of a SmartArt picture, which are in a separate part."""
    for key in shape._element.xpath(".//*[local-name()='relIds']/@*[local-name()='dm']"):
        points = parse_xml(shape.part.related_part(key).blob).xpath("//*[local-name()='pt']")
        words = (one_line("".join(point.xpath(".//*[local-name()='t']/text()"))) for point in points)
        yield "\n".join(f"- {literal(text)}" for text in words if text)


def _items(frame: Any) -> str:
    """Return the paragraphs of a slide's body as the list that the layout shows; a single one as plain text."""
    found = [(paragraph.level, _words(paragraph)) for paragraph in frame.paragraphs]
    found = [(level, text) for level, text in found if text]
    if len(found) < 2:
        return _plain(frame)
    lowest, items = [-1], []
    for level, text in found:  # a level may be left out: Markdown's lists cannot
        lowest = [*filter(level.__gt__, lowest), level]
        items.append(f"{'  ' * (len(lowest) - 2)}- {literal(text)}")
    return "\n".join(items)


def _plain(frame: Any) -> str:
    return "\n\n".join(literal(text) for paragraph in frame.paragraphs if (text := _words(paragraph)))


def _words(paragraph: Any) -> str:
    """Return the text, or ``""`` if it is only the slide's number or the date."""
    fields_alone = paragraph._p.xpath("./a:fld") and not paragraph._p.xpath("./a:r")
    return "" if fields_alone else one_line(paragraph.text)


def _chart(chart: Any) -> Iterator[str]:
    """Yield a chart's title and its numbers."""
    if chart.has_title and chart.chart_title.has_text_frame:
        yield _plain(chart.chart_title.text_frame)
    for plot in chart.plots:
        series = [(one_line(str(line.name or "")), list(line.values)) for line in plot.series]
        names = [one_line(str(name)) for name in plot.categories] or list(
            map(str, plot._element.xpath("(./c:ser)[1]/c:xVal//c:pt/c:v/text()"))
        )
        if any(names) and series:
            header = ["", *(name or letter(index) for index, (name, _) in enumerate(series, 1))]
            yield table(header, [[name, *(_value(v, index) for _, v in series)] for index, name in enumerate(names)])


def _value(values: list[Any], index: int) -> str:
    value = values[index] if index < len(values) else None
    return "" if value is None else f"{value:.15g}" if isinstance(value, float) else str(value)
