"""Pictures of pages as text, by text recognition: PNG, JPEG, TIFF of several pages, WebP, BMP."""

from __future__ import annotations

import io
import json
import warnings
from itertools import islice
from textwrap import shorten

import numpy as np
from PIL import Image, ImageOps, ImageSequence

from documents.converters import PICTURE_WITHOUT_TEXT, from_pdf, has_text_recognition
from documents.errors import NoText, Unconvertible
from documents.values import Converted


def convert(data: bytes) -> Converted:
    """Return the text of a picture, which is read as a scan in a PDF; its title is a heading, else its first line.

    Raises:
        Unconvertible: text recognition is not installed, or it is damaged or too large.
        NoText: it is a photograph, a drawing or an icon.
    """
    if not has_text_recognition():
        raise Unconvertible(f"is a picture: {from_pdf.remedy()}")
    scan = io.BytesIO()
    try:
        with warnings.catch_warnings(action="ignore"), Image.open(io.BytesIO(data)) as opened:
            count = from_pdf.MAX_SCANS if opened.format == "TIFF" else 1
            first, *others = map(_shown, islice(ImageSequence.Iterator(opened), count))
            first.save(scan, "PDF", resolution=from_pdf.DPI, quality=95, save_all=True, append_images=others)
        made = from_pdf.convert(scan.getvalue())
    except (OSError, Image.DecompressionBombError) as exc:
        raise Unconvertible("is no picture, a damaged one, or one of over 178 million pixels") from exc
    except Unconvertible as exc:
        raise NoText(PICTURE_WITHOUT_TEXT) from exc
    if made.text.startswith("---\ntitle:"):
        return made
    line = made.text.partition("\n---\n")[2].replace("|", " ").strip().partition("\n")[0]
    title = json.dumps(shorten(line, 80, placeholder="…"), ensure_ascii=False)
    return Converted(f"---\ntitle: {title}\n{made.text[4:]}", made.caveats, made.plain)


def _shown(picture: Image.Image) -> Image.Image:
    """Return a picture as its program shows it: turned by its camera's note, on white where it is transparent."""
    picture = ImageOps.exif_transpose(picture)
    if picture.mode.startswith("I;16"):
        picture = Image.fromarray((np.asarray(picture) // 256).astype("uint8"))
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    return picture.convert("RGB")
