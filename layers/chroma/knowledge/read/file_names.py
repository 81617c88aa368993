"""File names: the format that a name says, and the title that it gives a document without one."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from pathlib import PurePosixPath

from knowledge.read import markdown as md

TEMPLATE_SUFFIXES = frozenset({".erb", ".liquid", ".njk", ".j2", ".tmpl", ".in"})
"""Suffixes of templates, behind the suffix of the format that they make: ``page.md.erb``."""

_DATA = frozenset({".csv", ".tsv"})  # a template of these holds a program and no text
_PAGE = ".html"  # Middleman's page.html.md is Markdown that becomes page.html
INDEX_NAMES = frozenset({"index", "_index", "readme", "page"})
"""Files that stand for their folder, lower case, without suffix."""

# Jekyll's date before a post's name, and the numbers that Nuxt Content, Docusaurus and people sort pages by, such as
# "1.getting-started" and "02-install".
_DATED = re.compile(r"^\d{4}-\d\d?-\d\d?[-_]")
_NUMBERED = re.compile(r"^\d{1,3}(?:\.|[-_ ]+)(?=[^\W\d])")
_RECORDED = re.compile(r"[-_]?(?:GMT)?(?<!\d)(20\d\d)([01]\d)([0-3]\d)[-_][0-2]\d{5}(?!\d)[-_]?")  # of a recorder

_EXPORTED = re.compile(r"(?<=[^/])[ _-][0-9a-f]{32}(?:_all)?(?=[./]|$)")
"""The number that Notion exports a page or a table under: 8 of 8 tables of one export had it in their titles."""

MOST_ALIKE = 2
"""Headings of the title's level, itself with them, where the title begins the text and is not of level 1."""


def strip_numbers(path: str, digits: int = 0) -> str:
    """Cut the numbers of an export in a path down to so many digits."""
    return _EXPORTED.sub(lambda number: number[0][: digits and 1 + digits], path)


def suffix(name: str) -> str:
    """Return the suffix of a file name, lower case, with the dot."""
    return PurePosixPath(name).suffix.lower()


def strip_template_suffixes(name: str) -> str:
    """Remove the suffixes of templates from a name or path, if another suffix stands before them."""
    while suffix(name) in TEMPLATE_SUFFIXES and suffix(name[: -len(suffix(name))]):
        name = name[: -len(suffix(name))]
    return name


def format_suffix(name: str, known: Container[str], formats: Mapping[str, str]) -> str:
    """Return the suffix of ``known`` that decides how the file ``name`` is read, ``""`` if it is not read.

    ``formats`` is the user's table: the suffix to read as, by the end of a name; the longest end counts.
    """
    ends = [end for end in formats if name.lower().endswith(end)]
    if ends:
        return formats[max(ends, key=len)]
    made = strip_template_suffixes(name)
    found = suffix(made)
    return found if found in known and not (made != name and found in _DATA) else ""


def strip_format(path: str) -> str:
    """Remove all suffixes of formats from a path: ``a/page`` of ``a/page.html.md.erb``."""
    plain = PurePosixPath(strip_template_suffixes(path)).with_suffix("")
    return (plain.with_suffix("") if plain.suffix.lower() == _PAGE else plain).as_posix()


def title_from_name(path: str) -> str:
    """Return the words of a file's name (``path`` with forward slashes), without a sort number.

    A file that stands for its folder has the folder's name, where ``path`` has one.
    """
    place = PurePosixPath(path)
    own = PurePosixPath(strip_format(path)).name
    named = place.parent.name if own.lower() in INDEX_NAMES and place.parent.name else own
    named = strip_numbers(named).removesuffix(".zip").removesuffix(".transcript")
    name = _NUMBERED.sub("", _DATED.sub("", _RECORDED.sub(r" \1-\2-\3 ", named)))
    name = name if " " in name.strip() else name.replace("-", " ").replace("_", " ")  # "Drag-and-drop files" is words
    return " ".join(name.split()) or named


def title_heading(text: str) -> str:
    """Return the first heading if it is a title: of level 1 or at the beginning, and alone of its level; else ``""``.

    Where the text begins there may be one more of its level ("Summary"), as in the Rust book.
    Others name a part of the text: 155 of 173 first headings of Obsidian's help.
    """
    blocks = md.parse(text)
    named = [heading for heading in md.headings(blocks) if heading.title]
    if not named:
        return ""
    first = named[0]
    begins, top = first is blocks[0], first.level == 1
    same = sum(heading.level == first.level for heading in named)
    return first.title if (begins and (top or same <= MOST_ALIKE)) or (top and same == 1) else ""
