"""Files in the folder of a site that are no documents: its navigation, error pages and programs' pages."""

from __future__ import annotations

import os
import re
from pathlib import PurePosixPath

from knowledge.read.walk import FoundFile

_CONTENTS = frozenset({"summary", "_sidebar", "_navbar", "_footer", "toc", "nav"})
"""Navigation of mdBook, GitBook, docsify, wikis, DocFX and MkDocs, where it has links and little else."""
_ERRORS = frozenset({"404", "500"})
_STATUS = re.compile(r"[45]\d\d\.")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\n]*\)|\[\[[^\[\]\n]*\]\]")
_HEADING = re.compile(r"^#{1,6} .*$|<[^<>]*>", re.MULTILINE)
_SCRIPT = re.compile(rb"<script\b(?![^>]*\bsrc\s*=)(?![^>]*json)[^>]*>(.*?)</script", re.DOTALL | re.IGNORECASE)
_WORD = re.compile(r"\w+")

OTHER_WORDS = 0.25
"""Share of a table of contents that is no link and no heading: 0 to .09 in 8 of them, 1 in 3 texts of such a name."""
ERROR_WORDS = 100
"""Words of an error page: 3 to 52 in 40 of them."""
PROGRAM_WORDS = 200
SCRIPT_SHARE = 5
"""Characters of script for one of text in a program's page, which has few words."""


def site_file_reason(found: FoundFile, text: str) -> str:
    """Return why the file with this ``text`` (Markdown) is no document of its site, ``""`` if it is one.

    A file that is given itself, or was fetched by its address, is one.
    """
    if found.explicit or found.url:
        return ""
    name = found.file.name.lower()
    stem, words = name.partition(".")[0], len(_WORD.findall(text))
    if stem in _CONTENTS:
        links = _LINK.findall(text)
        others = len(_WORD.findall(_LINK.sub(" ", _HEADING.sub(" ", text))))
        return "is a table of contents" if len(links) > 1 and others <= OTHER_WORDS * words else ""
    if stem in _ERRORS and words <= ERROR_WORDS:
        codes = {one.partition(".")[0] for one in os.listdir(found.file.parent) if _STATUS.match(one)}  # noqa: PTH208
        return "is an error page" if codes <= _ERRORS else ""
    if PurePosixPath(name).suffix in (".html", ".htm") and words <= PROGRAM_WORDS:
        scripts = sum(map(len, _SCRIPT.findall(found.file.read_bytes())))
        return "is a program's page, with little text" if scripts > SCRIPT_SHARE * len(text) else ""
    return ""
