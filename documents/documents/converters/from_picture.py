"""Pictures of pages as text, by text recognition: PNG, JPEG, TIFF of several pages, WebP, BMP."""

from __future__ import annotations

import io
import warnings
from itertools import islice

import numpy as np
from PIL import Image, ImageOps, ImageSequence

from documents.converters import PICTURE_WITHOUT_TEXT, has_text_recognition, recognition
from documents.converters.from_pdf import join_pages
from documents.converters.pdf_text import PageText
from documents.errors import NoText, Unconvertible
from documents.values import Converted


def convert(data: bytes) -> Converted:
    """Return the text of a picture, with a heading on its first page as the title.

    Raises:
        Unconvertible: text recognition is not installed.
        NoText: it is a photograph, a drawing or an icon.
    """
    if not has_text_recognition():
        raise Unconvertible(f"is a picture: {recognition.remedy()}")
    with warnings.catch_warnings(action="ignore"), Image.open(io.BytesIO(data)) as opened:
        count = recognition.MAX_PAGES if opened.format == "TIFF" else 1
        pages = [_read(frame) for frame in islice(ImageSequence.Iterator(opened), count)]
    recognised = [number for number, page in enumerate(pages, 1) if page.pieces]
    if not recognised:
        raise NoText(PICTURE_WITHOUT_TEXT)
    return join_pages(pages, recognised)


def _read(picture: Image.Image) -> PageText:
    """Read a picture as its program shows it: turned by its camera's note, on white where it is transparent."""
    picture = ImageOps.exif_transpose(picture)
    if picture.mode.startswith("I;16"):
        picture = Image.fromarray((np.asarray(picture) // 256).astype("uint8"))
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    return recognition.read_picture(picture)
