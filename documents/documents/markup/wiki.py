"""What wikis write in Markdown: links ``[[page|words]]``, notes within notes ``![[page#part]]``, ``%%comments%%``.

Obsidian, GitHub's wikis and Foam write links like this. Code stays as it is.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from documents.markup.code import Hidden
from documents.markup.edits import GONE, tidy
from documents.markup.surroundings import Surroundings

MAX_DEPTH = 4
"""Notes in notes that are taken in."""

_LINK = re.compile(
    r"(?<![\\\[])(?P<embed>!?)\[\[(?P<page>[^\[\]\n|]{0,300}?)(?:\\?\|(?P<words>[^\[\]\n]{0,500}))?\]\](?![(\[])"
)
_COMMENT = re.compile(r"%%.*?%%", re.DOTALL)
_MARKED = re.compile(r"==(?=\S)([^=\n]+?)(?<=\S)==")
_BLOCK_ID = re.compile(r"(?:^|[ \t]+)\^[A-Za-z0-9-]+[ \t]*$", re.MULTILINE)
_SIZE = re.compile(r"\d+(?:x\d+)?$")
_FRONT_MATTER = re.compile(r"\A---\n.*?^---[ \t]*\n", re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")


def without_wiki(text: str, surroundings: Surroundings) -> str:
    """``text`` with the words of its links, and with the notes that stand in it; without comments and block ids."""
    if "[[" not in text and not surroundings.is_vault:
        return text
    return _shown(text, surroundings, MAX_DEPTH)


def _shown(text: str, surroundings: Surroundings, depth: int) -> str:
    hidden = Hidden()
    prose = hidden.hide(text)
    if surroundings.is_vault or _LINK.search(prose):
        prose = _BLOCK_ID.sub(GONE, _MARKED.sub(r"\1", _COMMENT.sub(GONE, prose)))
    prose = _LINK.sub(lambda match: _one(match, surroundings, depth), prose)
    return hidden.back(tidy(prose))


def _one(match: re.Match[str], surroundings: Surroundings, depth: int) -> str:
    page, _, part = match["page"].partition("#")
    words = (match["words"] or "").strip()
    if match["embed"]:
        return _embedded(match, surroundings, depth, words)
    if words and surroundings.note(words) is not None and surroundings.note(page) is None:
        return page.strip()  # GitHub's wikis have the page behind the words
    return words or _name(page, part) or match[0]


def _embedded(match: re.Match[str], surroundings: Surroundings, depth: int, words: str) -> str:
    page, _, part = match["page"].partition("#")
    if PurePosixPath(page).suffix.lower() not in ("", ".md") and surroundings.note(page) is None:
        return GONE if not words or _SIZE.match(words) else words  # a picture, a PDF
    path = surroundings.note(page) if depth and page else None
    found = surroundings.included(path) if path else None
    if found is None:
        return words or _name(page, part) or GONE
    found = _part(_FRONT_MATTER.sub("", found.replace("\r\n", "\n"), count=1), part).strip("\n")
    return _placed(_shown(found, surroundings, depth - 1), match)


def _placed(taken: str, match: re.Match[str]) -> str:
    """``taken`` as blocks of its own, within the item or quotation around it, or as words of the line."""
    before = match.string[: match.start()].rpartition("\n")[2]
    if not before:
        return f"\n\n{taken}\n\n"
    indent = before if not before.strip(" \t>") else ""  # an embed in a quotation or an item stays there
    return taken.replace("\n", f"\n{indent}") if indent else " ".join(taken.split())


def _name(page: str, part: str) -> str:
    """``Note > Heading``, as Obsidian shows a link without words of its own; ids of blocks are not shown."""
    name = PurePosixPath(page.strip()).name.removesuffix(".md")
    return " > ".join(filter(None, (name, *(word.strip() for word in part.split("#") if not word.startswith("^")))))


def _part(text: str, part: str) -> str:
    """The section or block of ``text`` that is asked for; all of it where there is no such part."""
    lines = text.split("\n")
    if part.startswith("^"):
        return _block(lines, part) or text
    wanted = _plain(part.rpartition("#")[2])
    for number, line in enumerate(lines if wanted else ()):
        if (heading := _HEADING.match(line)) and _plain(heading[2]) == wanted:
            levels = ((n, _HEADING.match(lines[n])) for n in range(number + 1, len(lines)))
            end = next((n for n, next_ in levels if next_ and len(next_[1]) <= len(heading[1])), len(lines))
            return "\n".join(lines[number:end])
    return text


def _block(lines: list[str], mark: str) -> str:
    """The item or paragraph that ends with ``mark``, or that stands above a line with nothing else."""
    for number, line in enumerate(lines):
        if line.rstrip().endswith(mark):
            if line.lstrip().startswith(("-", "*", "+")):
                return line
            above = "\n".join(lines[: number + 1]).removesuffix(mark).rstrip()
            return above.rpartition("\n\n")[2]
    return ""


def _plain(heading: str) -> str:
    """A heading's words as links to it have them: in any case, without marks."""
    return " ".join(re.findall(r"\w+", heading)).casefold()
