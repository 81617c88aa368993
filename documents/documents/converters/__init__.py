"""Files of other formats as Markdown with a title in front matter.

Only the given bytes are read, nothing is fetched. A converter's libraries are imported at its first file; each raises
what ``convert`` names.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any

from documents.converters.detection import detect_suffix
from documents.errors import NoText, Unconvertible, Unreadable
from documents.values import Converted, Decode

if TYPE_CHECKING:
    from documents.markup.context import PageContext

_KINDS = {
    "AsciiDoc": ("from_asciidoc", ".adoc", ".asciidoc"),
    "CSV": ("from_csv", ".csv", ".tsv"),
    "EPUB": ("from_epub", ".epub"),
    "Excel workbook": ("from_xlsx", ".xlsx", ".xlsm"),
    "HTML": ("from_html", ".htm", ".html", ".xhtml"),
    "mail": ("from_mail", ".eml", ".msg"),
    "mailbox": ("from_mail", ".mbox"),
    "Jupyter notebook": ("from_notebook", ".ipynb"),
    "OpenDocument": ("from_odf", ".odt", ".ods", ".odp", ".ott", ".ots", ".otp", ".fodt", ".fods", ".fodp"),
    "PDF": ("from_pdf", ".pdf"),
    "picture": ("from_picture", ".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"),
    "PowerPoint presentation": ("from_pptx", ".pptx"),
    "RTF": ("from_rtf", ".rtf"),
    "reStructuredText": ("from_rst", ".rst"),
    "transcript": ("from_transcript", ".srt", ".vtt"),
    "web archive": ("from_web_archive", ".mht", ".mhtml"),
    "Word document": ("from_docx", ".docx"),
}
_PLAIN_TEXT = frozenset({"AsciiDoc", "CSV", "reStructuredText", "transcript"})  # the other formats state their encoding
_MAIL = frozenset({"mail", "mailbox"})
_WITH_OTHER_FILES = frozenset({"AsciiDoc", "reStructuredText"})

_NAMED_BY_OTHERS = frozenset({"CSV", "Excel workbook", "HTML", "OpenDocument", "RTF", "Word document"})
"""Formats whose suffixes other formats are given too."""

_MAX_REASON_CHARS = 200
_KIND_OF = {suffix: kind for kind, (_, *suffixes) in _KINDS.items() for suffix in suffixes}

SUFFIXES = frozenset(_KIND_OF)
"""The suffixes of the files that can be converted: lower case, with the dot."""

PICTURES = frozenset(_KINDS["picture"][1:])
"""Those that need text recognition."""

PICTURE_WITHOUT_TEXT = "is a picture without text"
"""Why a photograph is not read."""


def has_text_recognition() -> bool:
    """Return whether scans and pictures are read: whether the extra ``ocr`` is installed. It is not imported."""
    return find_spec("rapidocr") is not None


def convert(data: bytes, suffix: str, *, decode: Decode, context: PageContext | None = None) -> Converted:
    """Return a file's bytes as Markdown, by its ``suffix`` (one of ``SUFFIXES``).

    ``decode`` reads formats of plain text. ``context`` is the file's place, for formats that include other files.

    Raises:
        NoText: the file holds no text.
        Unconvertible: it is too large, locked, or not of the format that its suffix names.
        Unreadable: it is damaged, or needs more memory than the machine has.
        KeyError: files with that suffix are not converted.
    """
    if _KIND_OF[suffix] in _NAMED_BY_OTHERS:
        found = detect_suffix(BytesIO(data), suffix)
        suffix = found if found in SUFFIXES else suffix
    kind = _KIND_OF[suffix]
    module, *_ = _KINDS[kind]
    options: dict[str, Any] = {"decode": decode} if kind in _PLAIN_TEXT | _MAIL else {}
    if kind == "mailbox":
        options["mailbox"] = True
    if kind in _WITH_OTHER_FILES:
        options["context"] = context
    try:
        converted: Converted = import_module(f"{__name__}.{module}").convert(data, **options)
    except (Unconvertible, NoText):
        raise
    except RecursionError as exc:
        raise Unreadable(f"cannot be read as {kind}: it is nested too deeply") from exc
    except MemoryError as exc:
        raise Unreadable(f"cannot be read as {kind}: it needs more memory than there is") from exc
    except Exception as exc:  # damaged files raise anything in the libraries, and the other files must go on
        reason = " ".join(f"{type(exc).__name__}: {exc}".split())
        raise Unreadable(f"cannot be read as {kind}: {reason[:_MAX_REASON_CHARS]}") from exc
    if converted.plain is None:
        with suppress(Exception):  # then there is nothing to compare with
            from documents.source_words import plain_text

            text = decode(data)[0].encode() if kind in _PLAIN_TEXT else data
            return replace(converted, plain=plain_text(text, suffix))
    return converted
