"""The ids of a page's headings, used behind ``#`` in links to its sections, by the algorithm of its site.

Each algorithm is written after its source (github-slugger, kramdown-parser-gfm and Hugo agree; mdit-vue; Nuxt's mdc;
Python-Markdown's toc; pymdownx.slugs; docutils.nodes.make_id). docs/evidence/addresses.md has the share of real links
that each one gets right.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from knowledge.read.markdown import Block

# What a heading says of itself: "{#id .class}" (Hugo, kramdown, VitePress, mdBook), "{ #id }" (Python-Markdown; each of
# FastAPI's 2,009), "{: #id}" on the next line (kramdown; 376 on Jekyll's site), "{/* #id */}" (MDX; 291 on Helm's).
_ATTRIBUTES = re.compile(r"\s*(?:\{:?\s*[#.:][^{}]*\}|\{/\*\s*#[^{}]*\*/\})(?=\s*#*\s*$)")
_NEXT_LINE = re.compile(r" {0,3}\{:\s*[#.][^{}]*\}\s*$")
_ID = re.compile(r"#([^\s{}*]+)")
# 6,606 headings of docs_aws, 16 of Docsy's: "# Title<a name=\"id\"></a>".
_TAG = re.compile(r"<(a|span)\s+(?:name|id)=[\"']?([^\"'\s>]+)[\"']?\s*(?:/>|>\s*</\1\s*>)")
_VITEPRESS = re.compile(r"[\s~`!@#$%^&*()\-_+=\[\]{}|\\;:\"'“”‘’<>,.?/]+")
_NUMBERED = re.compile(r"(.*)_(\d+)")


def remove_explicit_ids(lines: Sequence[str], headings: Iterable[Block]) -> tuple[list[str], dict[int, str]]:
    """Return the ``lines`` without the ids in their ``headings``, and these ids by the heading's first line."""
    kept, ids = list(lines), {}
    for heading in headings:
        here, said = range(heading.first, heading.end), ""
        if heading.end < len(kept) and _NEXT_LINE.match(kept[heading.end]):
            said, kept[heading.end] = kept[heading.end], ""
        for number in here:
            if match := _ATTRIBUTES.search(kept[number]):
                said += match[0]
                kept[number] = kept[number][: match.start()] + kept[number][match.end() :]
        tags = [match[2] for number in here for match in _TAG.finditer(kept[number])]
        for number in here if tags else ():
            kept[number] = _TAG.sub("", kept[number])
        named = _ID.search(said)
        if found := named[1] if named else tags[0] if tags else "":
            ids[heading.first] = found
    return kept, ids


def heading_ids(titles: Sequence[str], explicit: Sequence[str], *, algorithm: str = "github") -> Iterator[str]:
    """Yield the id of each heading of a page, in order: the explicit one, else one made of the title."""
    slug, number = ALGORITHMS[algorithm]
    used = {name: 0 for name in explicit if name}
    for title, name in zip(titles, explicit, strict=True):
        yield name or number(slug(title), used)


def _github(title: str) -> str:
    kinds = ("L", "N", "M", "Pc")  # letters, numbers, marks, and the underscore with its like
    kept = (char for char in title.lower() if char in " -" or unicodedata.category(char).startswith(kinds))
    return "".join(kept).replace(" ", "-")


def _nuxt(title: str) -> str:
    slug = re.sub(r"-+", "-", _github(title)).strip("-")
    return f"_{slug}" if slug[:1].isdigit() else slug


def _vitepress(title: str) -> str:
    plain = "".join(char for char in unicodedata.normalize("NFKD", title) if not "\u0300" <= char <= "\u036f")
    slug = re.sub(r"-{2,}", "-", _VITEPRESS.sub("-", plain)).strip("-").lower()
    return f"_{slug}" if slug[:1].isdigit() else slug


def _python_markdown(title: str) -> str:
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def _docutils(title: str) -> str:
    plain = unicodedata.normalize("NFKD", title.lower()).encode("ascii", "ignore").decode()
    return re.sub(r"^[-0-9]+|-+$", "", re.sub(r"[^a-z0-9]+", "-", plain))


def _with_hyphen(slug: str, used: dict[str, int]) -> str:
    found = slug
    while found in used:
        used[slug] = used.get(slug, 0) + 1
        found = f"{slug}-{used[slug]}"
    used[found] = 0
    return found


def _with_underscore(slug: str, used: dict[str, int]) -> str:
    match = _NUMBERED.fullmatch(slug)
    stem, number = (match[1], int(match[2])) if match else (slug, 0)
    number = max(number, used.get(slug, 0))  # where the search for this one ended before
    found = slug
    while found in used or not found:
        number += 1
        found = f"{stem}_{number}"
    used[slug] = number
    used.setdefault(found, 0)
    return found


def _with_number(slug: str, used: dict[str, int]) -> str:
    """Number a heading without a free name as docutils does: "id1", "id2"."""
    count = 1
    while not slug or slug in used:
        slug, count = f"id{count}", count + 1
    used[slug] = 0
    return slug


ALGORITHMS: Mapping[str, tuple[Callable[[str], str], Callable[[str, dict[str, int]], str]]] = {
    "github": (_github, _with_hyphen),  # and Hugo, Jekyll, Docusaurus, mdBook, Starlight
    "nuxt": (_nuxt, _with_hyphen),
    "vitepress": (_vitepress, _with_hyphen),
    "python-markdown": (_python_markdown, _with_underscore),  # MkDocs
    "pymdownx": (_github, _with_underscore),  # MkDocs with pymdownx.slugs
    "docutils": (_docutils, _with_number),  # Sphinx
}
