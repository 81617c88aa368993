"""Files in the folder of a site that are no documents: its navigation, error pages and programs' pages."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from knowledge.read.walk import FoundFile

_CONTENTS = frozenset({"summary", "_sidebar", "_navbar", "_footer", "toc", "nav"})
"""Navigation of mdBook, GitBook, docsify, wikis, DocFX and MkDocs, where it has links and little else."""
_ERRORS = frozenset({"404", "500"})
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\n]*\)|\[\[[^\[\]\n]*\]\]")
_HEADING = re.compile(r"^#{1,6} .*$|<[^<>]*>", re.MULTILINE)
_SCRIPT = re.compile(rb"<script\b(?![^>]*\bsrc\s*=)(?![^>]*json)[^>]*>(.*?)</script", re.DOTALL | re.IGNORECASE)
_WORD = re.compile(r"\w+")

OTHER_WORDS = 0.25
"""Share of a table of contents that is no link and no heading: at most .04 in 8 real ones, else .84 and more."""
ERROR_WORDS = 100
"""Words of an error page: 11 to 39 in 4 real ones; a text on such pages has 326."""
SCRIPT_SHARE, PROGRAM_WORDS, LABEL_WORDS = 5, 200, 7
"""A program's page has as much script for each character of text, few words, and no longer line outside of headings.
Without the last two a saved page of 706 words beside 833 kB of script would be one."""


def site_file_reason(found: FoundFile, text: str) -> str:
    """Return why the file with this ``text`` (Markdown) is no document of its site, ``""`` if it is one.

    A file that is given itself, or was fetched by its address, is one.
    """
    if found.explicit or found.url:
        return ""
    name, words = found.file.name.lower(), len(_WORD.findall(text))
    stem, body = name.partition(".")[0], _HEADING.sub(" ", text)
    if stem in _CONTENTS:
        others = len(_WORD.findall(_LINK.sub(" ", body)))
        return "is a table of contents" if len(_LINK.findall(text)) > 1 and others <= OTHER_WORDS * words else ""
    if stem in _ERRORS and words <= ERROR_WORDS:
        series = {file.name[:3] for file in found.file.parent.glob("[0-9][0-9][0-9].*")}
        return "is an error page" if series <= _ERRORS else ""
    is_page = PurePosixPath(name).suffix in (".html", ".htm") and words <= PROGRAM_WORDS
    if is_page and max(len(_WORD.findall(line)) for line in body.split("\n")) <= LABEL_WORDS:
        scripts = sum(map(len, _SCRIPT.findall(found.file.read_bytes())))
        return "is a program's page, with little text" if scripts > SCRIPT_SHARE * len(text) else ""
    return ""
