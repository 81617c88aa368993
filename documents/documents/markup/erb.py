"""Ruby's templates (``<% %>``) in Middleman's pages: the partials that they take in, and what a call shows."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from documents.markup.edits import GONE, tidy
from documents.markup.surroundings import Surroundings

MAX_DEPTH = 4
PARTIAL_SUFFIXES = ("", ".md.erb", ".md", ".html.md.erb", ".html.md", ".html.erb", ".erb", ".html")

_TAG = re.compile(r"<%(?P<literal>%)?(?P<code>(?:[^%]|%(?!>)){0,2000})%>")
_PARTIAL = re.compile(r"=?\s*(?:partial|render|include)\b[\s(]*[\"'](?P<name>[^\"'\n]+)[\"']")
_LINK = re.compile(r"=\s*link_to\b[\s(]*(?P<q>[\"'])(?P<text>.*?)(?P=q)\s*,\s*[\"'](?P<to>[^\"'\s]+)[\"']")
_TEXT = re.compile(r"=\s*\w+[\s(]+(?P<q>[\"'])(?P<text>.*\s.*)(?P=q)\s*\)?\s*-?", re.DOTALL)
_FRONT_MATTER = re.compile(r"\A---\n.*?^---[ \t]*\n", re.DOTALL | re.MULTILINE)


def is_erb(surroundings: Surroundings) -> bool:
    """Whether the page is such a template, by its file's name."""
    return surroundings.file.suffix.lower() == ".erb"


def without_erb(text: str, surroundings: Surroundings, depth: int = MAX_DEPTH) -> str:
    """``text`` with partials taken in, links and texts of calls in place of the calls, and all other tags gone.

    Ruby runs before Markdown is read, in code as well.
    """

    def shown(match: re.Match[str]) -> str:
        if match["literal"]:
            return f"<%{match['code']}%>"
        if partial := _PARTIAL.match(match["code"]):
            found = _partial(partial["name"], surroundings) if depth else None
            return GONE if found is None else without_erb(found, surroundings, depth - 1)
        if link := _LINK.match(match["code"]):
            return f"[{link['text']}]({link['to']})"
        said = _TEXT.fullmatch(match["code"])
        return said["text"] if said else GONE

    return tidy(_TAG.sub(shown, text))


def _partial(name: str, surroundings: Surroundings) -> str | None:
    """The text of a partial, whose file may begin with ``_`` and have the suffixes of a template."""
    place = PurePosixPath(name)
    for stem in (place, place.with_name(f"_{place.name}")):
        for suffix in PARTIAL_SUFFIXES:
            found = surroundings.included(f"{stem}{suffix}")
            if found is not None:
                return _FRONT_MATTER.sub("", found.replace("\r\n", "\n"))
    return None
