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
_OPEN = "application/vnd.oasis.opendocument."
_PARTS = {
    "word/document.xml": ".docx",
    "xl/workbook.xml": ".xlsx",
    "ppt/presentation.xml": ".pptx",
    f"{_OPEN}text": ".odt",
    f"{_OPEN}spreadsheet": ".ods",
    f"{_OPEN}presentation": ".odp",
}
_BEGINNINGS = {
    ".rtf": rb"\{\\rtf",
    ".pdf": rb"%PDF-",
    ".mhtml": rb"[\w-]+:(?s:.){0,2000}?^Content-Type:\s*multipart/related",
    ".html": rb"(?:<\?xml[^>]*>|<!--(?s:.)*?-->|\s)*<(?:!doctype\s+html|html|head|body|meta|style|table)\b",
}
_MARKS = re.compile(rb"\xef\xbb\xbf|(\xff\xfe|\xfe\xff)")
_BINARY = re.compile(rb"[\0-\x08\x0e-\x1a]|\A\s*<")
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
    if head.startswith(b"PK"):
        with suppress(Exception), ZipFile(file) as archive:  # its reader will say what is wrong
            names = [*archive.namelist(), archive.read("mimetype").decode() if "mimetype" in archive.namelist() else ""]
            return next((kind for part, kind in _PARTS.items() if part in names), "")
        return ""
    if mark := _MARKS.match(head):
        head = head[mark.end() :].replace(b"\0", b"") if mark[1] else head[mark.end() :]
    for kind, beginning in _BEGINNINGS.items():
        if re.match(beginning, head.lstrip(), re.IGNORECASE | re.MULTILINE):
            return kind
    return "" if _BINARY.search(head) else _TEXTS.get(suffix, "")
