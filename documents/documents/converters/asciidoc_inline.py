"""AsciiDoc within a line: attributes, macros and references by what a reader sees of them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from documents.converters.output import one_line
from documents.markup.entities import without_entities

_BUILT_IN = {
    "nbsp": " ", "sp": " ", "empty": "", "blank": "", "zwsp": "", "wj": "", "plus": "+", "asterisk": "*", "vbar": "|",
    "backtick": "`", "startsb": "[", "endsb": "]", "lt": "<", "gt": ">", "amp": "&", "apos": "'", "quot": '"',
    "two-colons": "::", "two-semicolons": ";;", "cpp": "C++", "caret": "^", "deg": "°", "tilde": "~",
}  # fmt: skip
_ATTRIBUTE = re.compile(r"(?<!\\)\{([\w-]+)\}")
# The value of an attribute over several lines: on 19 of Couchbase's pages.
_WRAPPED = re.compile(r"^:!?[\w-]+!?:[^\n]* \\\n(?:[^\n]* \\\n)*", re.MULTILINE)
_MAX_DEPTH = 5  # of attributes in attributes
_MAX_VALUE_CHARS = 10_000
_CODE = re.compile(r"(`+)(.+?)\1")


def _menu(match: re.Match[str]) -> str:
    """``menu:File[Export > PDF]`` as ``File > Export > PDF``."""
    return " > ".join(filter(None, (match[1], match[2].strip())))


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
        (r"menu:([^\s\[\]][^\[\]\n]{0,100})\[([^\]\n]*)\]", _menu),
        (r"\s*footnote:[\w-]*\[([^\]\n]+)\]", r" (\1)"),
        (r"(?<!\w)pass:[a-z,]*\[([^\[\]]{0,2000})\]", r"\1"),  # on 193 of Couchbase's 584 pages
        (r"footnote:[\w-]+\[\]", ""),  # another mark for a note that was said
        (r"(?<![\w*])\*(?![\s*])([^*\n]+?)(?<!\s)\*(?![\w*])", r"**\1**"),
        (r"\\(?=\{)", ""),
        (r"\s\+$", ""),  # a line break
    )
)


def lines_of(text: str) -> list[str]:
    """The lines of ``text``, an attribute and its value on one."""
    return _WRAPPED.sub(lambda match: re.sub(r" \\\n\s*", " ", match[0]), text).split("\n")


def words(text: str, attributes: Mapping[str, str]) -> str:
    """``text``, one or more lines, as Markdown; code between backticks keeps its characters but for attributes."""
    text = resolved(text, attributes)
    parts: list[str] = []
    end = 0
    for match in _CODE.finditer(text):
        parts += [text[end : match.start()], match[0].replace("`+", "`").replace("+`", "`").replace("\\{", "{")]
        end = match.end()
    # What stands for code in the rules, which may have it in the middle, is put back afterwards.
    code = parts[1::2]
    plain = "\0".join([*parts[::2], text[end:]])
    for pattern, replacement in _RULES:
        plain = pattern.sub(replacement, plain)
    plain = without_entities(plain)  # Asciidoctor hands them on to HTML
    kept = iter(code)
    return re.sub("\0", lambda _: next(kept, ""), plain)


def resolved(text: str, attributes: Mapping[str, str]) -> str:
    """``text`` with the values of attributes; one that is not known stays as it is."""
    for _ in range(_MAX_DEPTH):
        before = text
        text = _ATTRIBUTE.sub(lambda match: attributes.get(match[1], _BUILT_IN.get(match[1], match[0])), text)
        if text == before or len(text) > len(before) + _MAX_VALUE_CHARS:
            return before if len(text) > len(before) + _MAX_VALUE_CHARS else text
    return text


def cell(text: str, attributes: Mapping[str, str]) -> str:
    """A table's cell on one line."""
    return one_line(words(text, attributes))
