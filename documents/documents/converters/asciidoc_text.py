"""AsciiDoc's lines: included files, attributes, macros and references as a reader sees them.

Antora's names of files (``module:partial$part.adoc``, ``module:page.adoc``) and plain paths are known. Files are read
by ``PageContext`` alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from pathlib import PurePosixPath
from posixpath import dirname, join, normpath

from documents.markup.context import PageContext
from documents.markup.extensions import decode_entities
from documents.markup.includes import numbered_lines

_BUILT_IN = {
    "nbsp": " ", "sp": " ", "empty": "", "blank": "", "zwsp": "", "wj": "", "plus": "+", "asterisk": "*", "vbar": "|",
    "backtick": "`", "startsb": "[", "endsb": "]", "lt": "<", "gt": ">", "amp": "&", "apos": "'", "quot": '"',
    "two-colons": "::", "two-semicolons": ";;", "cpp": "C++", "caret": "^", "deg": "°", "tilde": "~",
}  # fmt: skip
_ATTRIBUTE_REFERENCE = re.compile(r"(?<!\\)\{([\w-]+)\}")
_UNKNOWN = re.compile(r"(?<![\\$\w/{=:\"'])\{([a-z][a-z\d_-]+)\}(?![\w/}=])")
# The value of an attribute over several lines: on 19 of Couchbase's pages.
_WRAPPED = re.compile(r"^:!?[\w-]+!?:[^\n]* \\\n(?:[^\n]* \\\n)*", re.MULTILINE)
_MAX_DEPTH = 5  # of attributes in attributes
_MAX_VALUE_CHARS = 10_000
_CODE = re.compile(r"(`+)(.+?)\1")


# Each is on 3 to 128 of 234 public pages (Pro Git, Spring Boot, Apache Tika, docling).
_RULES = tuple(
    (re.compile(pattern, re.MULTILINE), replacement)
    for pattern, replacement in (
        (r"\(\(\([^()]*\)\)\)", ""),  # an index term that is not shown
        (r"\[\[[^\[\]]*\]\]", ""),  # an anchor
        (r"(?<!\w)\[\.[\w. -]+\]#{1,2}([^#\n]+)#{1,2}", r"\1"),  # a role, on 107 of Couchbase's 584 pages
        (r"(?<!\w)\[\.[\w. -]+\](?=[*_`+\0])", ""),
        (r"(?<!\w)(?:stem|latexmath|asciimath):\[((?:\\\]|[^\]\n])+)\]", r"$\1$"),  # on 3 of Couchbase's pages
        (r"\[\^\]", "[]"),
        (r"<<[^<>,]*,\s*([^<>]+)>>", r"\1"),
        (r"<<#?([^<>,]+)>>", r"\1"),
        (r"(?:xref|link|mailto):[^\s\[\]]+\[([^\]]{1,300}?)(?:,[^\]=]{0,50}=[^\]]{0,300}|\^)?\]", r"\1"),
        (r"(?:xref|link|mailto):#?([^\s\[\]]+)\[\]", r"\1"),
        (r"https?://[^\s\[\]<>]+\[([^\]]{1,300}?)(?:,[^\]=]{0,50}=[^\]]{0,300}|\^)?\]", r"\1"),
        (r"image::?[^\s\[\]]*\[([^\],=]*)(?:,[^\]]*)?\]", r"\1"),
        (r"image::?[^\s\[\]]*\[[^\]]*\]|(?:icon|anchor|indexterm2?):[^\s\[\]]*\[[^\]]*\]", ""),
        (r"(?:kbd|btn):\[((?:\\\]|[^\]\n])+)\]", r"\1"),
        (
            r"menu:([^\s\[\]][^\[\]\n]{0,100})\[([^\]\n]*)\]",
            lambda match: " > ".join(filter(None, (match[1], match[2].strip()))),
        ),
        (r"\s*footnote:[\w-]*\[([^\]\n]+)\]", r" (\1)"),
        (r"(?<!\w)pass:[a-z,]*\[([^\[\]]{0,2000})\]", r"\1"),  # on 193 of Couchbase's 584 pages
        (r"footnote:[\w-]+\[\]", ""),  # another mark for the same note
        (r"(?<![\w*])\*(?![\s*])([^*\n]+?)(?<!\s)\*(?![\w*])", r"**\1**"),
        (r"\\(?=\{)", ""),
        (r"\s\+$", ""),  # a line break
    )
)


def split_lines(text: str) -> list[str]:
    """Return the lines of ``text``, each attribute with its whole value on one line."""
    return _WRAPPED.sub(lambda match: re.sub(r" \\\n\s*", " ", match[0]), text).split("\n")


def inline_markdown(text: str, attributes: Mapping[str, str]) -> str:
    """Return one or more lines as Markdown; in code between backticks only attributes are replaced.

    An unknown attribute, as of a playbook in another repository, is read by its name: 225 in Couchbase's documentation.
    """
    text = fill_attributes(text, attributes)
    parts: list[str] = []
    end = 0
    for match in _CODE.finditer(text):
        parts += [text[end : match.start()], match[0].replace("`+", "`").replace("+`", "`").replace("\\{", "{")]
        end = match.end()
    # The rules see a mark in place of code, which is put back afterwards.
    code = parts[1::2]
    plain = "\0".join([*parts[::2], text[end:]])
    for pattern, replacement in _RULES:
        plain = pattern.sub(replacement, plain)
    plain = _UNKNOWN.sub(r"\1", plain)
    plain = decode_entities(plain)  # Asciidoctor hands them on to HTML
    kept = iter(code)
    return re.sub("\0", lambda _: next(kept, ""), plain)


def fill_attributes(text: str, attributes: Mapping[str, str]) -> str:
    """Return ``text`` with the values of attributes; an unknown one stays as it is."""
    for _ in range(_MAX_DEPTH):
        before = text
        text = _ATTRIBUTE_REFERENCE.sub(lambda match: attributes.get(match[1], _BUILT_IN.get(match[1], match[0])), text)
        if text == before or len(text) > len(before) + _MAX_VALUE_CHARS:
            return before if len(text) > len(before) + _MAX_VALUE_CHARS else text
    return text


MAX_INCLUDE_DEPTH = 8

_INCLUDE = re.compile(r"include::([^\s\[\]][^\[\]\n]*)\[(.*)\]\s*$")
_ATTRIBUTE = re.compile(r":([\w-]+):(?:\s+(.*))?$")
_TITLE = re.compile(r"^(?:=|#)\s+(\S.*)$", re.MULTILINE)
_HEADING = re.compile(r"(={1,6})\s+\S")
_LINK = re.compile(r"xref:([^\s\[\]#]+)(#[^\s\[\]]*)?\[\]|(?:xref:#|<<#?)([\w.:-]+)(?:\[\]|>>)")
_ANCHOR = re.compile(r"\[(?:\[([\w.:-]+)[^\]]*\]|[\w ,%.-]*#([\w.:-]+)[^\]]*)\]\s*$")
_CAPTION = re.compile(r"(?:={2,6}\s+|\.(?![.\s]))(\S.*)$")
_FILE = re.compile(
    r"(?:[\w.@-]*@)?(?:(?P<component>[\w.-]*):)??(?:(?P<module>[\w.-]*):)?(?:(?P<family>[a-z]+)\$)?(?P<path>.+)"
)
_FAMILIES = {"partial": "partials", "example": "examples", "page": "pages", "attachment": "attachments"}
_TAGGED = re.compile(r"\b(tag|end)::(\S+?)\[\]")
_VALUE = re.compile(r"(\w+)\s*=\s*(\"[^\"]*\"|[^,\]]*)")


def include_files(lines: Sequence[str], attributes: MutableMapping[str, str], context: PageContext) -> list[str]:
    """Return ``lines`` with the files that they include, and with titles in links that have no words."""
    found = list(_Includer(context, dict(attributes)).run(lines, ()))
    titles = _Titles(context, dict(_captions_by_id(found)))
    return [_LINK.sub(titles.link, line) if "xref:" in line or "<<" in line else line for line in found]


class _Includer:
    def __init__(self, context: PageContext, attributes: MutableMapping[str, str]) -> None:
        self._context = context
        self._attributes = attributes

    def run(self, lines: Iterable[str], within: tuple[str, ...]) -> Iterator[str]:
        """Yield ``lines`` with their includes; ``within`` are the files being included, the innermost last."""
        for line in lines:
            if attribute := _ATTRIBUTE.match(line):
                self._attributes[attribute[1]] = attribute[2] or ""
            if include := _INCLUDE.match(line):
                yield from self._included(fill_attributes(include[1], self._attributes), include[2], within)
            else:
                yield line.removeprefix("\\") if line.startswith("\\include::") else line

    def _included(self, target: str, options: str, within: tuple[str, ...]) -> Iterator[str]:
        name = next(
            (name for name in _candidate_files(target, self._context, "partial", within) if name not in within), ""
        )
        text = self._context.read_include(name) if name and len(within) < MAX_INCLUDE_DEPTH else None
        if text is None:
            return
        given = {key: value.strip('"') for key, value in _VALUE.findall(options)}
        lines = list(_select_lines(split_lines(text.rstrip("\n")), given))
        offset = given.get("leveloffset", "").lstrip("+")
        more = "=" * int(offset) if offset.isdecimal() and len(offset) == 1 else ""
        is_document = not given.keys() & {"tag", "tags", "lines"} and self._is_document(name, lines)
        included = self._context.included
        included[-1], at = "\n".join(lines), len(included) - 1
        for line in self.run(lines, (*within, name)):
            if not is_document or _ATTRIBUTE.match(line):
                yield more + line if more and _HEADING.match(line) else line
        included[at:] = included[at:] * (not is_document)

    def _is_document(self, name: str, lines: Sequence[str]) -> bool:
        """Return whether a file is a document beside this one, as Pro Git's chapters are: it is not included twice.

        Antora marks documents by their folders. A file that was given alone has no other document beside it.
        """
        if self._context.alone or self._context.kind == "antora":
            return False
        path, file = PurePosixPath(name), self._context.find_file(name)
        if file is None or not file.is_relative_to(self._context.root.resolve()):
            return False
        known = path.suffix in (self._context.file.suffix, ".adoc", ".asciidoc") and not path.name.startswith("_")
        return known and any(map(_HEADING.match, lines))


class _Titles:
    def __init__(self, context: PageContext, own: MutableMapping[str, str]) -> None:
        self._context = context
        self._own = own  # by id, and those of other pages by name

    def link(self, match: re.Match[str]) -> str:
        """Return a link with the title of its target; unchanged if the title is unknown."""
        if match[3]:
            title = self._own.get(match[3], "")
            return f"<<{match[3]},{title}>>" if title else match[0]
        if match[1] not in self._own:
            names = _candidate_files(match[1], self._context, "page", ())
            heads = (self._context.read_beginning(name) for name in names)
            self._own[match[1]] = next((found[1].strip() for head in heads if (found := _TITLE.search(head))), "")
        title = self._own[match[1]].replace("]", "")
        return f"xref:{match[1]}[{title}]" if title else match[0]


def _candidate_files(target: str, context: PageContext, family: str, within: Sequence[str]) -> Iterator[str]:
    """Yield the paths that ``target`` may name, from the page's folder or one above it."""
    if "$" not in target and ":" not in target:
        yield normpath(join(dirname(within[-1]) if within else "", target))
        if family == "partial":
            return
    match = _FILE.fullmatch(target)
    if match is None or context.kind != "antora":
        return
    parts = context.file.parts
    own = parts[parts.index("modules") + 1] if "modules" in parts[:-2] else "ROOT"
    folder = _FAMILIES.get(match["family"] or family, "")
    if folder:
        yield f"modules/{match['module'] or own}/{folder}/{match['path']}"


def _captions_by_id(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each id of a page with the heading or caption below it."""
    waiting: list[str] = []
    for line in lines:
        if anchor := _ANCHOR.match(line):
            waiting += filter(None, anchor.groups())
        elif caption := _CAPTION.match(line):
            yield from ((name, caption[1].strip()) for name in waiting)
            waiting = []
        elif line.strip() and not line.startswith("["):
            waiting = []


def _select_lines(lines: list[str], given: dict[str, str]) -> Iterator[str]:
    """Return the lines selected by ``lines=``, ``tag=`` or ``tags=``, without those that mark tags."""
    if numbers := given.get("lines"):
        return iter(numbered_lines(lines, numbers) or lines)
    names = re.split(r"[;,]", given.get("tag") or given.get("tags") or "")
    return _tagged_lines(lines, [name.strip() for name in names if name.strip()])


def _tagged_lines(lines: list[str], wanted: Sequence[str]) -> Iterator[str]:
    """Yield the lines within the ``wanted`` tags; with no tags, all lines."""
    open_tags: list[str] = []
    for line in lines:
        if mark := _TAGGED.search(line):
            open_tags = [*open_tags, mark[2]] if mark[1] == "tag" else [name for name in open_tags if name != mark[2]]
        elif not wanted or _is_wanted(open_tags, wanted):
            yield line


def _is_wanted(open_tags: Sequence[str], wanted: Sequence[str]) -> bool:
    for name in reversed(open_tags):  # the innermost that is named decides
        if f"!{name}" in wanted:
            return False
        if name in wanted:
            return True
    if open_tags:
        return "*" in wanted or "**" in wanted
    return "**" in wanted or all(name.startswith("!") for name in wanted)
