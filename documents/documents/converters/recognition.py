"""Text recognition of a page's picture by RapidOCR, an extra of the installation.

What is read has the form of a PDF page, so that the layout of PDFs makes columns, tables and paragraphs of it.
"""

from __future__ import annotations

import fcntl
import math
import re
import signal
import statistics
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from documents.converters.pdf_text import MIN_DIFFERENCE, PageText, Piece, contrast

LONG_SIDE = 3500
"""Pixels of a page: A4 at 300 dpi."""

_DETECTED_SIDE = 1536  # pixels in which lines are searched
_SMALLEST = 60, 12  # pixels of a picture's long and short side; a smaller one is an icon
_GRAIN = 8  # pixels: noise averages out
_LETTER_SHARE = 0.75  # of the height of a line's box
_SAME_ROW = 0.75  # of a line's height: lines of two columns need not be level
_HEADING_SCALE = 1.3  # times the usual height; a line of text with marks above and tails below has up to 1.25
_SURE = 0.9  # mean score of an upright page
_LEGIBLE = 0.78  # mean score: nine legible pictures and scans have 0.82 to 0.98, an old map 0.74, a logo 0.61
_PAGE_LIMIT_S = 120  # CPU time of a page: usually 5 to 15
_MIN_WORDS = 3
_WORD = re.compile(r"\w{2,}")


def count_words(page: PageText) -> int:
    """Return the number of a page's words of two letters or digits: dots and strokes are read as single ones."""
    return sum(len(_WORD.findall(piece.text)) for piece in page.pieces)


def read_picture(picture: Image.Image, body: float) -> PageText:
    """Return the text of a page's picture, turned upright, in points of which most letters have ``body``.

    A picture with less than three words has no text. A page has CPU time of its own: the timer of a caller that limits
    a file's (ITIMER_PROF) stands still.
    """
    picture = _crop(picture.convert("RGB"))
    lines: list[Piece] = []
    if max(picture.size) >= _SMALLEST[0] and min(picture.size) >= _SMALLEST[1]:
        with Path(__file__).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a page takes up to 700 MB: one at a time, by all cores
            left, _ = signal.getitimer(signal.ITIMER_PROF)
            try:
                signal.setitimer(signal.ITIMER_PROF, _PAGE_LIMIT_S if left else 0)
                picture, lines = _find_upright(picture)
            finally:
                signal.setitimer(signal.ITIMER_PROF, left)
    usual = statistics.median([line.size for line in lines for _ in line.text] or [1.0])
    scale = body / (_LETTER_SHARE * usual)
    box = (0.0, -picture.height * scale, picture.width * scale, 0.0)
    page = PageText([_scaled(line, usual, scale) for line in _level(lines)], (), box, (), 0, 1.0)
    return page if count_words(page) >= _MIN_WORDS else replace(page, pieces=())


def _crop(picture: Image.Image) -> Image.Image:
    """Return ``picture`` without its blank margins: a single line on a large page is not found."""
    levels = picture.convert("L").reduce(_GRAIN)
    counts = levels.histogram()
    ground = counts.index(max(counts))
    inked = levels.point([255 * (abs(level - ground) > 2 * MIN_DIFFERENCE) for level in range(256)]).getbbox()
    left, top, right, bottom = inked or (0, 0, *levels.size)
    ends = min((right + 4) * _GRAIN, picture.width), min((bottom + 4) * _GRAIN, picture.height)
    return picture.crop((max(left - 4, 0) * _GRAIN, max(top - 4, 0) * _GRAIN, *ends))


@cache
def _engine() -> Any:
    """Return the engine; it looks for no model but those in its package."""
    import rapidocr

    models = Path(rapidocr.__file__).parent / "models"
    paths = {f"{part.capitalize()}.model_path": str(next(models.glob(f"*_{part}_*.onnx"))) for part in ("det", "rec")}
    limits = {"Global.max_side_len": LONG_SIDE, "Det.limit_type": "max", "Det.limit_side_len": _DETECTED_SIDE}
    limits["Rec.rec_batch_num"] = 1  # six lines take 300 MB more, and are no faster
    return rapidocr.RapidOCR(params={"Global.log_level": "error", **limits, **paths})


def _find_upright(picture: Image.Image) -> tuple[Image.Image, list[Piece]]:
    """Return ``picture`` turned so that its text is upright, and its lines if they are legible."""
    score, lines = _find_lines(picture)
    if sum(math.copysign(len(line.text), line.size - line.right + line.left) for line in lines) > 0:
        picture = picture.transpose(Image.Transpose.ROTATE_90)
        score, lines = _find_lines(picture)
    if score < _SURE * sum(len(line.text) for line in lines):
        turned = picture.transpose(Image.Transpose.ROTATE_180)
        other_score, others = _find_lines(turned)
        if other_score > score:
            picture, score, lines = turned, other_score, others
    is_legible = score >= _LEGIBLE * sum(len(line.text) for line in lines)
    return picture, lines if is_legible else []


def _find_lines(picture: Image.Image) -> tuple[float, list[Piece]]:
    """Return the lines that a reader sees, in pixels of the page turned level, and the sum of their letters' scores."""
    read = _engine()(np.asarray(picture)[:, :, ::-1], use_cls=False)
    if read.txts is None:
        return 0.0, []
    corners = np.asarray(read.boxes, float)  # from the top left, clockwise
    across, down = corners[:, 1] - corners[:, 0], corners[:, 3] - corners[:, 0]
    widths, heights = np.linalg.norm(across, axis=1), np.linalg.norm(down, axis=1)
    tilt = np.median(np.repeat(np.arctan2(across[:, 1], across[:, 0]), widths.astype(int) + 1))
    x, y = corners.mean(axis=1).T
    x, y = x * math.cos(tilt) + y * math.sin(tilt), y * math.cos(tilt) - x * math.sin(tilt)
    score, lines = 0.0, []
    for number, (text, box) in enumerate(zip(read.txts, corners.astype(int), strict=True)):
        if any(map(str.isalnum, text)) and contrast(picture, (*box.min(axis=0), *box.max(axis=0))) >= MIN_DIFFERENCE:
            score += read.scores[number] * len(text)
            ends = x[number] - widths[number] / 2, x[number] + widths[number] / 2
            lines.append(Piece(f"{text} ", *ends, -y[number], heights[number], 0, (0.0, 0.0, 0.0, 0.0)))
    return score, lines


def _level(lines: list[Piece]) -> list[Piece]:
    """Return ``lines`` in rows from the top, each from the left and at one height."""
    rows: list[list[Piece]] = []
    for line in sorted(lines, key=lambda one: -one.height):
        first = rows[-1][0] if rows else line
        if (
            first is not line
            and first.height - line.height < _SAME_ROW * min(line.size, first.size)
            and all(max(line.left - one.right, one.left - line.right) > -line.size for one in rows[-1])
        ):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [replace(one, height=row[0].height) for row in rows for one in sorted(row, key=lambda one: one.left)]


def _scaled(line: Piece, usual: float, scale: float) -> Piece:
    """Return a line in points; its size is one of a few steps, because boxes of one size of letters differ."""
    size = _LETTER_SHARE * usual * scale * _HEADING_SCALE ** max(0, math.log(line.size / usual, _HEADING_SCALE) // 1)
    return replace(line, left=line.left * scale, right=line.right * scale, height=line.height * scale, size=size)
