"""Files that hold documents and cannot be read, and what to do with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

_BY_REMEDY = {
    "save {} as .docx": ".doc .docm .dotm .dotx .wpd .wps",
    "save {} as .docx or .pdf": ".abw .hwp .hwpx .odg .pages .sxw",
    "save {} as .xlsx": ".numbers .sxc .xls .xlsb .xlt .xltx",
    "save {} as .pptx": ".key .potx .pps .ppsx .ppt .pptm .sxi",
    "save {} as .pdf": ".djvu .eps .indd .one .oxps .ps .vsd .vsdx .webarchive .xps",
    "export the messages as .mbox or .eml": ".dbx .emlx .olm .ost .pst",
    "save {} as .vtt or .srt": ".ass .dfxp .sbv .ssa .ttml",
    "convert {} to .epub": ".azw .azw3 .fb2 .mobi",
    "download {} as .docx, .xlsx or .pptx": ".gdoc .gsheet .gslides",
    "unpack {}": ".7z .bz2 .gz .rar .tar .tgz .xz",
    "install text recognition (pip install 'serverless-rag[ocr]', in a clone make setup OCR=1) to read {}": (
        ".bmp .jpeg .jpg .png .tif .tiff .webp"
    ),
    "save {} as .png if there is text to read": ".avif .gif .heic .heif .jpe",
}
REMEDIES: Mapping[str, str] = {kind: remedy for remedy, kinds in _BY_REMEDY.items() for kind in kinds.split()}
"""By suffix; ``{}`` is "it" or "them"."""


class PassedOver(NamedTuple):
    """Files of one ``kind`` (a suffix) in a folder that hold documents and are not read."""

    kind: str
    files: int
    example: str
    remedy: str

    def describe(self) -> str:
        """Return ``3 .doc files (minutes/2019.doc, ...): save them as .docx``."""
        files, others = ("file", "") if self.files == 1 else ("files", ", ...")
        named = f"{self.kind} {files}" if self.kind.startswith(".") else f"{files} {self.kind}"
        return f"{self.files} {named} ({self.example}{others}): {self.remedy}"
