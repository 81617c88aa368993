"""Text of a PDF page by PDFium: pieces with place and letter size, without those that no reader sees."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from ctypes import addressof, c_double, c_float, c_int, c_uint
from dataclasses import dataclass
from typing import Any

import pypdfium2.raw as pdfium  # type: ignore[import-untyped]
from PIL import ImageChops
from pypdfium2 import PdfMatrix, PdfObject, PdfPage, PdfTextPage

CELL_GAP = 1.0  # of the letters' size: more, also within one drawing instruction, parts the cells of a row
MIN_LETTER = 1.0  # points; smaller letters are dots
_MIN_WIDTH = 0.2  # points for each letter, of a text of several
MIN_DIFFERENCE = 12  # of 255 levels of a colour; less is not told from the background
MAX_AREAS = 1000  # more are a drawing, of which each text may be covered
MAX_RULES = 4000  # more are a map: finding cells in it takes minutes
_MIN_AREA = 4.0  # points; a narrower one is a line
_MAX_SHARE = 0.9  # of the page's width and height: more is a background
_MAX_TILT = 0.5  # points
_PIXELS = 2.0  # for a point
_MAX_PIXELS = 3000.0  # of a page's longer side
_MAX_DEPTH = 8  # of forms within forms
_MIN_OUTLINES = 50  # shapes on a page without text
_DRAWN = (pdfium.FPDF_PAGEOBJ_TEXT, pdfium.FPDF_PAGEOBJ_PATH, pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_SHADING)
_UNPAINTED = (pdfium.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium.FPDF_TEXTRENDERMODE_CLIP)
_WHITE = (255, 255, 255)
_LETTERS = {0x00: "", 0x02: "-", 0x0A: "", 0x0D: " ", 0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi"}
_LETTERS |= {0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st", 0xFFFE: "-", 0xFFFF: ""}

type Box = tuple[float, float, float, float]
"""Left, bottom, right and top in points."""
type _Area = tuple[int, Box, tuple[int, ...]]
"""Where a shape is drawn: its place in the order, its box and its colour; a picture has none."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Text that one instruction draws, without a wide gap, in ``box`` on the page.

    ``left``, ``right`` and ``height`` (of the baseline) are those on the page turned so that the text runs to the
    right; ``turn`` is the text's angle to the upright page, in degrees.
    """

    text: str
    left: float
    right: float
    height: float
    size: float
    turn: int
    box: Box


@dataclass(frozen=True, slots=True)
class PageText:
    """A page's pieces in the file's order, and the hidden ones.

    ``box`` and ``rules``, the ends of the level and upright lines drawn, are those on the page turned back by ``turn``.
    ``picture_share`` is the part of the page that pictures cover, 1 for a page of letters that are drawn as shapes.
    """

    pieces: Sequence[Piece]
    hidden: Sequence[Piece]
    box: Box
    rules: Sequence[Box]
    turn: int
    picture_share: float


def read_page(page: PdfPage, *, has_layers: bool) -> PageText:
    """Return a page's text. ``has_layers``: some of what is drawn may be switched off."""
    order, areas, rules = _read_shapes(page)
    if has_layers:
        areas.append((len(order), page.get_bbox(), _WHITE))
    found = list(_read_pieces(page))
    hidden = set(_find_hidden(page, found, areas, order))
    turn = page.get_rotation()
    left, foot, right, top = page.get_bbox()
    share = sum((x1 - x0) * (y1 - y0) for _, (x0, y0, x1, y1), colour in areas if not colour)
    is_outlined = not found and len(order) >= _MIN_OUTLINES
    return PageText(
        [piece for number, (piece, _) in enumerate(found) if number not in hidden],
        [found[number][0] for number in sorted(hidden)],
        turned(page.get_bbox(), turn),
        [turned(rule, turn) for rule in rules],
        turn,
        1.0 if is_outlined else min(1.0, share / ((right - left) * (top - foot))),
    )


def _read_shapes(page: PdfPage) -> tuple[dict[int, int], list[_Area], list[Box]]:
    """Return the order in which the page's shapes are drawn, by their addresses, and its areas and rules."""
    order: dict[int, int] = {}
    areas: list[_Area] = []
    rules: list[Box] = []
    for shape in page.get_objects(_DRAWN, _MAX_DEPTH):
        order[addressof(shape.raw.contents)] = len(order)
        if shape.type == pdfium.FPDF_PAGEOBJ_TEXT:
            for mark in range(pdfium.FPDFPageObj_CountMarks(shape)):  # what is read in place of the letters drawn
                pdfium.FPDFPageObjMark_RemoveParam(shape, pdfium.FPDFPageObj_GetMark(shape, mark), b"ActualText")
            continue
        matrix, form = PdfMatrix(), shape.container
        while form:
            matrix, form = matrix.multiply(form.get_matrix()), form.container
        box = matrix.on_rect(*shape.get_bounds())
        is_area = min(box[2] - box[0], box[3] - box[1]) >= _MIN_AREA
        is_path = shape.type == pdfium.FPDF_PAGEOBJ_PATH
        if is_path and len(rules) <= MAX_RULES and not (is_area and _is_background(shape, box, areas, page)):
            rules += _read_rules(shape, shape.get_matrix().multiply(matrix))
        if is_area:
            areas.append((len(order), box, _colour(shape) if is_path else ()))
    return order, areas, rules


def _is_background(shape: PdfObject, box: Box, areas: Sequence[_Area], page: PdfPage) -> bool:
    """Return whether an area is nearly as large as the page, or in the colour of what is below, so without edges."""
    left, bottom, right, top = page.get_bbox()
    if box[2] - box[0] >= _MAX_SHARE * (right - left) and box[3] - box[1] >= _MAX_SHARE * (top - bottom):
        return True
    fill, stroke = c_int(), c_int()
    pdfium.FPDFPath_GetDrawMode(shape, fill, stroke)
    below = (colour for _, other, colour in reversed(areas[-MAX_AREAS:]) if _covers(other, box))
    return not stroke.value and _is_alike(_colour(shape), next(below, _WHITE))


def _read_rules(shape: PdfObject, matrix: PdfMatrix) -> Iterator[Box]:
    """Yield the level and upright lines of a path, also those drawn as curves and those towards round corners."""
    points: list[tuple[float, float]] = []
    for index in range(min(pdfium.FPDFPath_CountSegments(shape), MAX_RULES)):
        segment = pdfium.FPDFPath_GetPathSegment(shape, index)
        kind = pdfium.FPDFPathSegment_GetType(segment)
        here = matrix.on_point(*_point(segment))
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            points = []
        points.append(here)
        starts = points[-2:-1]
        if kind == pdfium.FPDF_SEGMENT_BEZIERTO:
            starts += points[-4:-3]  # a curve has two points between its start and its end
        if pdfium.FPDFPathSegment_GetClose(segment):
            starts.append(points[0])
        for x0, y0 in starts:
            if min(abs(here[0] - x0), abs(here[1] - y0)) < _MAX_TILT:
                yield min(here[0], x0), min(here[1], y0), max(here[0], x0), max(here[1], y0)


def _read_pieces(page: PdfPage) -> Iterator[tuple[Piece, Any]]:
    """Yield each piece with its text object."""
    text_page = page.get_textpage()
    rotation = page.get_rotation()
    shape, shape_id, first, last = None, 0, 0, 0
    letters: list[str] = []
    for index in range(text_page.count_chars()):
        code = pdfium.FPDFText_GetUnicode(text_page, index)
        letter = _LETTERS[code] if code in _LETTERS else chr(code)
        if letter and not letter.isspace():
            here = pdfium.FPDFText_GetTextObject(text_page, index)
            here_id = addressof(here.contents) if here else 0
            if here_id != shape_id or (letters[-1:] == [" "] and _is_wide(text_page, last, index)):
                if shape:
                    yield _piece("".join(letters), text_page, first, last, rotation), shape
                    letters = []
                shape, shape_id, first = here, here_id, index
            last = index
        letters.append(letter)
    if shape:
        yield _piece("".join(letters), text_page, first, last, rotation), shape
    text_page.close()


def _is_wide(text_page: PdfTextPage, before: int, after: int) -> bool:
    """Return whether the gap between two letters of a line parts cells."""
    _, _, size, angle = _origin(text_page, after)
    begin, end = (turned(text_page.get_charbox(index), angle) for index in (after, before))
    return begin[0] - end[2] > CELL_GAP * size


def _piece(text: str, text_page: PdfTextPage, first: int, last: int, rotation: int) -> Piece:
    x, y, size, angle = _origin(text_page, first)
    begin, end = text_page.get_charbox(first), text_page.get_charbox(last)
    box = (min(begin[0], end[0]), min(begin[1], end[1]), max(begin[2], end[2]), max(begin[3], end[3]))
    left, _, right, _ = turned(box, angle)
    return Piece(text, left, right, turned((x, y, x, y), angle)[1], size, round(angle - rotation) % 360, box)


def _origin(text_page: PdfTextPage, index: int) -> tuple[float, float, float, int]:
    """Return where a letter stands on the page, its size in points, and its angle in degrees."""
    x, y, matrix = c_double(), c_double(), pdfium.FS_MATRIX()
    pdfium.FPDFText_GetCharOrigin(text_page, index, x, y)
    pdfium.FPDFText_GetMatrix(text_page, index, matrix)
    size = pdfium.FPDFText_GetFontSize(text_page, index) * math.hypot(matrix.c, matrix.d)
    return x.value, y.value, size, round(math.degrees(math.atan2(matrix.b, matrix.a)))


def turned(box: Box, angle: int) -> Box:
    """Return ``box`` on a page turned back by ``angle`` degrees."""
    return PdfMatrix().rotate(angle).on_rect(*box) if angle else box


def contains(box: Box, other: Box) -> bool:
    """Return whether the middle of ``other`` is in ``box``."""
    x, y = (other[0] + other[2]) / 2, (other[1] + other[3]) / 2
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def _covers(box: Box, other: Box) -> bool:
    return box[0] <= other[0] and box[1] <= other[1] and other[2] <= box[2] and other[3] <= box[3]


def _overlap(box: Box, other: Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


def _find_hidden(
    page: PdfPage, found: Sequence[tuple[Piece, Any]], areas: Sequence[_Area], order: Mapping[int, int]
) -> Iterator[int]:
    """Yield the numbers of the pieces that no reader sees.

    They are dots, outside of the page, or change nothing in its picture. Text that a text recognition added to a scan
    is kept: it is not drawn either, but stands where the scan has letters.
    """
    suspects: list[int] = []
    is_dot = False
    for number, (piece, shape) in enumerate(found):
        is_dot = _is_dot(piece, after_dot=is_dot)
        if is_dot or not _overlap(piece.box, page.get_bbox()):
            yield number
        elif _is_suspect(piece, shape, areas, order.get(addressof(shape.contents), math.inf)):
            suspects.append(number)
    if not suspects:
        return
    scale = min(_PIXELS, _MAX_PIXELS / max(page.get_size()))
    drawn = page.render(scale, may_draw_forms=False, draw_annots=False)
    for number in suspects:
        pdfium.FPDFPageObj_SetIsActive(found[number][1], False)
    without: Any = page.render(scale, may_draw_forms=False, draw_annots=False).to_pil().convert("RGB")
    difference: Any = ImageChops.difference(drawn.to_pil().convert("RGB"), without)
    converter = drawn.get_posconv(page)
    pictures = [box for _, box, colour in areas if not colour]
    for number in suspects:
        piece, shape = found[number]
        (u0, v0), (u1, v1) = converter.to_bitmap(*piece.box[:2]), converter.to_bitmap(*piece.box[2:])
        place = (min(u0, u1), min(v0, v1), max(u0, u1) + 1, max(v0, v1) + 1)
        is_painted = pdfium.FPDFTextObj_GetTextRenderMode(shape) not in _UNPAINTED
        is_drawn = is_painted and contrast(difference, place) >= MIN_DIFFERENCE
        if not is_drawn and not (
            any(contains(picture, piece.box) for picture in pictures)
            and contrast(without, place, around=round(piece.size * scale)) >= MIN_DIFFERENCE
        ):
            yield number


def _is_dot(piece: Piece, *, after_dot: bool) -> bool:
    height = piece.box[3] - piece.box[1]  # that of a full stop is small in any size
    letters = sum(map(str.isalnum, piece.text))
    is_narrow = letters > 1 and piece.right - piece.left < _MIN_WIDTH * letters
    return is_narrow or (max(piece.size, height) < MIN_LETTER and (after_dot or letters > 0))


def _is_suspect(piece: Piece, shape: Any, areas: Sequence[_Area], order: float) -> bool:
    """Return whether a piece may be invisible: unfilled, white, see-through, cut off, covered, or as its area."""
    mode, colour = pdfium.FPDFTextObj_GetTextRenderMode(shape), _colour(shape)[:3]
    is_filled = mode in (pdfium.FPDF_TEXTRENDERMODE_FILL, pdfium.FPDF_TEXTRENDERMODE_FILL_STROKE)
    is_plain = is_filled and not _is_alike(colour, _WHITE) and not pdfium.FPDFPageObj_HasTransparency(shape)
    if not is_plain or len(areas) > MAX_AREAS:
        return True
    return _is_cut_off(piece, shape) or any(
        (later > order or _is_alike(colour, other)) and contains(box, piece.box) for later, box, other in areas
    )


def _is_cut_off(piece: Piece, shape: Any) -> bool:
    """Return whether a piece may be outside of the paths that its text is clipped to."""
    clip = pdfium.FPDFPageObj_GetClipPath(shape)
    for path in range(pdfium.FPDFClipPath_CountPaths(clip)):
        count = min(pdfium.FPDFClipPath_CountPathSegments(clip, path), MAX_RULES)
        points = [_point(pdfium.FPDFClipPath_GetPathSegment(clip, path, index)) for index in range(count)]
        xs, ys = [x for x, _ in points] or [0.0], [y for _, y in points] or [0.0]
        if not contains((min(xs), min(ys), max(xs), max(ys)), piece.box):
            return True
    return False


def _point(segment: Any) -> tuple[float, float]:
    x, y = c_float(), c_float()
    pdfium.FPDFPathSegment_GetPoint(segment, x, y)
    return x.value, y.value


def contrast(image: Any, place: tuple[int, int, int, int], *, around: int = 0) -> int:
    """Return the largest difference between levels of a colour, of 255, in a part of ``image``."""
    left, top = max(place[0] - around, 0), max(place[1] - around, 0)
    right, bottom = min(place[2] + around, image.width), min(place[3] + around, image.height)
    spreads: list[int] = [high - low for low, high in image.crop((left, top, right, bottom)).getextrema()]
    return max(spreads)


def _colour(shape: Any) -> tuple[int, ...]:
    """Return the red, green, blue and opacity of a shape's inside, of 255 each."""
    levels = [c_uint() for _ in range(4)]
    pdfium.FPDFPageObj_GetFillColor(shape, *levels)
    return tuple(level.value for level in levels)


def _is_alike(colour: Sequence[int], other: Sequence[int]) -> bool:
    return all(abs(one - two) < MIN_DIFFERENCE for one, two in zip(colour, other, strict=False)) and len(other) > 0
