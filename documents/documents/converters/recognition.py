"""Text recognition of scanned pages and pictures by RapidOCR, an extra of the installation.

A page's lines have the form of a PDF's text, so that the layout of PDFs makes columns, tables and paragraphs of them.
"""

from __future__ import annotations

import fcntl
import math
import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from documents.converters import has_text_recognition
from documents.converters.pdf_text import MIN_DIFFERENCE, PageText, Piece, contrast

NAME = "text recognition"
LONG_SIDE = 3500
"""Pixels of a page: A4 at 300 dpi."""
MAX_PAGES = 300
"""Pages of a file that are read: half an hour on two cores."""

_DETECTED_SIDE = 1536  # pixels in which lines are searched
_SMALLEST = 60, 12  # pixels of a picture's long and short side; a smaller one is an icon
_GRAIN = 8  # pixels
_LETTER_SHARE = 0.75  # of the height of a line's box
_SAME_ROW = 0.75  # of a line's height
_HEADING_SCALE = 1.3  # times the usual height; a line of text with marks above and tails below has up to 1.25
_SURE = 0.9  # mean score of an upright page
_PAGE_LIMIT_S = 120  # CPU time of a page: usually 5
_MIN_WORDS = 3
_WORD = re.compile(r"\w{2,}")


class _Found(NamedTuple):
    """A line found in a picture: its middle, ends and height in pixels, its angle, its text and its score."""

    x: float
    y: float
    width: float
    height: float
    angle: float
    text: str
    score: float


def remedy() -> str:
    """Return what helps a scan that was not read."""
    if has_text_recognition():
        return f"{NAME} finds none in the first {MAX_PAGES} pages without text"
    return f"install {NAME} (pip install 'serverless-rag[ocr]', in a clone make setup OCR=1)"


def count_words(text: str) -> int:
    """Return the number of words of two letters or digits: dots and strokes are read as single ones."""
    return len(_WORD.findall(text))


def read_picture(picture: Image.Image, body: float = 10.0) -> PageText:
    """Return the text of a page's picture, turned upright, in points of which most letters have ``body``.

    A picture with less than three words has no text.
    """
    picture = picture.convert("RGB")
    picture.thumbnail((LONG_SIDE, LONG_SIDE))
    picture = _crop(picture)
    lines: Sequence[_Found] = ()
    if max(picture.size) >= _SMALLEST[0] and min(picture.size) >= _SMALLEST[1]:
        with _page_limit(), Path(__file__).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a page takes up to 700 MB: one at a time, by all cores
            picture, lines = _find_upright(picture)
    if sum(count_words(line.text) for line in lines) < _MIN_WORDS:
        lines = ()
    usual = _weighted_median([(line.height, len(line.text)) for line in lines])
    scale = body / (_LETTER_SHARE * usual)
    pieces = [piece for row in _rows(lines) for piece in _pieces(row, usual, scale, body)]
    return PageText(pieces, (), (0.0, -picture.height * scale, picture.width * scale, 0.0), (), 0, 1.0)


def _crop(picture: Image.Image) -> Image.Image:
    """Return ``picture`` without its blank margins: a single line on a large page is not found."""
    levels = picture.convert("L").reduce(_GRAIN)  # noise averages out
    ground = max(enumerate(levels.histogram()), key=itemgetter(1))[0]
    inked = levels.point([255 * (abs(level - ground) > 2 * MIN_DIFFERENCE) for level in range(256)]).getbbox()
    left, top, right, bottom = (_GRAIN * edge for edge in inked or (0, 0, *levels.size))
    margin = 4 * _GRAIN
    return picture.crop(
        (
            max(left - margin, 0),
            max(top - margin, 0),
            min(right + margin, picture.width),
            min(bottom + margin, picture.height),
        )
    )


@contextmanager
def _page_limit() -> Iterator[None]:
    """Give a page CPU time of its own: the timer of a caller that limits a file's (ITIMER_PROF) stands still."""
    left, _ = signal.getitimer(signal.ITIMER_PROF)
    try:
        signal.setitimer(signal.ITIMER_PROF, _PAGE_LIMIT_S if left else 0)
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, left)


@cache
def _engine() -> Any:
    """Return the engine; it looks for no model but those in its package."""
    import rapidocr

    models = Path(rapidocr.__file__).parent / "models"
    paths = {f"{part.capitalize()}.model_path": str(next(models.glob(f"*_{part}_*.onnx"))) for part in ("det", "rec")}
    limits = {"Global.max_side_len": LONG_SIDE, "Det.limit_type": "max", "Det.limit_side_len": _DETECTED_SIDE}
    limits["Rec.rec_batch_num"] = 1  # six lines take 300 MB more, and are no faster
    return rapidocr.RapidOCR(params={"Global.log_level": "error", **limits, **paths})


def _find_upright(picture: Image.Image) -> tuple[Image.Image, Sequence[_Found]]:
    """Return ``picture`` turned so that its text is upright, and its lines."""
    lines = _find_lines(picture)
    if sum(len(line.text) * (1 if line.height > line.width else -1) for line in lines) > 0:
        picture = picture.transpose(Image.Transpose.ROTATE_90)
        lines = _find_lines(picture)
    score = sum(line.score * len(line.text) for line in lines)
    if score < _SURE * sum(len(line.text) for line in lines):
        turned = picture.transpose(Image.Transpose.ROTATE_180)
        others = _find_lines(turned)
        if sum(line.score * len(line.text) for line in others) > score:
            return turned, others
    return picture, lines


def _find_lines(picture: Image.Image) -> Sequence[_Found]:
    """Return the lines that a reader sees in ``picture``, as they are after it was turned by its text's angle."""
    import numpy as np

    read = _engine()(np.asarray(picture)[:, :, ::-1], use_cls=False)
    if read.txts is None:
        return ()
    corners = np.asarray(read.boxes, float)  # from the top left, clockwise
    across, down = corners[:, 1] - corners[:, 0], corners[:, 3] - corners[:, 0]
    angles = np.arctan2(across[:, 1], across[:, 0])
    widths, heights = np.linalg.norm(across, axis=1), np.linalg.norm(down, axis=1)
    tilt = _weighted_median(list(zip(angles, widths, strict=True)))
    x, y = corners.mean(axis=1).T
    x, y = x * math.cos(tilt) + y * math.sin(tilt), y * math.cos(tilt) - x * math.sin(tilt)
    found = map(_Found, x, y, widths, heights, angles, read.txts, read.scores)
    places = [(*box.min(axis=0).astype(int), *box.max(axis=0).astype(int)) for box in corners]
    return [
        line
        for line, place in zip(found, places, strict=True)
        if any(map(str.isalnum, line.text)) and contrast(picture, place) >= MIN_DIFFERENCE
    ]


def _weighted_median(values: Sequence[tuple[float, float]]) -> float:
    """Return the median of ``(value, weight)``; 1 of none."""
    half = sum(weight for _, weight in values) / 2
    for value, weight in sorted(values):
        half -= weight
        if half <= 0:
            return value
    return 1.0


def _rows(lines: Sequence[_Found]) -> list[list[_Found]]:
    """Return the lines in rows from the top, each from the left; lines of two columns need not be level."""
    rows: list[list[_Found]] = []
    for line in sorted(lines, key=lambda one: one.y):
        row = rows[-1] if rows else []
        if (
            row
            and line.y - row[0].y < _SAME_ROW * min(line.height, row[0].height)
            and all(abs(line.x - one.x) > (line.width + one.width) / 2 - line.height for one in row)
        ):
            row.append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda one: one.x) for row in rows]


def _pieces(row: Sequence[_Found], usual: float, scale: float, body: float) -> Iterator[Piece]:
    """Yield the pieces of a row, on one baseline; their sizes are steps, as boxes of one size of letters differ."""
    height = -scale * (sum(line.y for line in row) / len(row))
    for line in row:
        left, right = (line.x - line.width / 2) * scale, (line.x + line.width / 2) * scale
        step = max(0, math.floor(math.log(line.height / usual, _HEADING_SCALE)))
        box = (left, height - line.height * scale / 2, right, height + line.height * scale / 2)
        yield Piece(f"{line.text} ", left, right, height, body * _HEADING_SCALE**step, 0, box)
