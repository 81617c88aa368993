"""The format of a file by its content: programs write HTML, RTF and tables under the names of office files."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO
from zipfile import ZipFile

OLD_NAMES = frozenset({".doc", ".docm", ".dot", ".dotm", ".dotx", ".pps", ".ppt", ".wps", ".xls", ".xlt", ".xltx"})
"""Suffixes that no converter reads, but perhaps the content of a file so named."""

_HEAD_BYTES = 4096
_OPEN = b"application/vnd.oasis.opendocument."
_PARTS = {"word/document.xml": ".docx", "xl/workbook.xml": ".xlsx", "ppt/presentation.xml": ".pptx"}
_BEGINNINGS = {
    ".rtf": rb"\{\\rtf",
    ".pdf": rb"%PDF-",
    ".mhtml": rb"[\w-]+:(?s:.){0,2000}?^Content-Type:\s*multipart/related",
    ".html": rb"(?><\?xml[^>]*>|<!--(?s:.)*?-->|\s)*<(?:!doctype\s+html|html|head|body|meta|style|table)\b",
    ".odt": rb"PK(?s:.)*?" + _OPEN + b"text",
    ".ods": rb"PK(?s:.)*?" + _OPEN + b"spreadsheet",
    ".odp": rb"PK(?s:.)*?" + _OPEN + b"presentation",
}
_BINARY = re.compile(rb"[\0-\x08\x0e-\x1a]|\A(?:\s*<|PK)")
_TEXTS = {".doc": ".txt", ".dot": ".txt", ".xls": ".csv", ".xlsx": ".csv"}


def detect(file: Path) -> str:
    """Return the suffix that the content of a file with an old office name should have, ``""`` if it is unknown."""
    with suppress(OSError):
        if file.suffix.lower() in OLD_NAMES and file.is_file():
            with file.open("rb") as opened:
                return detect_suffix(opened, file.suffix.lower())
    return ""


def detect_suffix(file: BinaryIO, suffix: str) -> str:
    """Return the suffix that a file's content should have, ``""`` if it is unknown or ``suffix`` may be right."""
    head = file.read(_HEAD_BYTES)
    text = head.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xfe\xff \t\r\n")  # also of UTF-16
    for kind, beginning in _BEGINNINGS.items():
        if re.match(beginning, text, re.IGNORECASE | re.MULTILINE):
            return kind
    if head.startswith(b"PK"):
        with suppress(Exception), ZipFile(file) as archive:  # its reader will say what is wrong
            return next((kind for part, kind in _PARTS.items() if part in archive.namelist()), "")
    return "" if _BINARY.search(head) else _TEXTS.get(suffix, "")
