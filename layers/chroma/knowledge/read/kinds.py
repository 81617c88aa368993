"""What a file is read as, by its name."""

from __future__ import annotations

from collections.abc import Container, Mapping
from pathlib import PurePosixPath

TEMPLATE_SUFFIXES = frozenset({".erb", ".liquid", ".njk", ".j2", ".tmpl", ".in"})
"""A template that makes a file of another format has one of these behind that format's suffix: ``page.md.erb``."""

_DATA = frozenset({".csv", ".tsv"})  # a template of these holds a program and no text
_PAGE = ".html"  # Middleman's page.html.md is Markdown that becomes page.html


def suffix(name: str) -> str:
    """The suffix of a file name, lower case, with the dot."""
    return PurePosixPath(name).suffix.lower()


def without_template(name: str) -> str:
    """A file's name or path without the suffixes of templates, where another suffix stands before them."""
    while suffix(name) in TEMPLATE_SUFFIXES and suffix(name[: -len(suffix(name))]):
        name = name[: -len(suffix(name))]
    return name


def kind_of(name: str, known: Container[str], formats: Mapping[str, str]) -> str:
    """The suffix, one of ``known``, that the file ``name`` is read as; ``""``: nothing reads it.

    ``formats`` is what a user said: the suffix to read as, by the end of a name; the longest end counts.
    """
    ends = [end for end in formats if name.lower().endswith(end)]
    if ends:
        return formats[max(ends, key=len)]
    made = without_template(name)
    found = suffix(made)
    return found if found in known and not (made != name and found in _DATA) else ""


def stem(path: str) -> str:
    """A path without what says the format: ``a/page`` of ``a/page.html.md.erb``."""
    plain = PurePosixPath(without_template(path)).with_suffix("")
    return (plain.with_suffix("") if plain.suffix.lower() == _PAGE else plain).as_posix()
