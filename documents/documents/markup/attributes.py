"""Attribute lists (``{.class}``, ``{: #id}``) and other small marks in a line: gone, but for anchors of headings."""

from __future__ import annotations

import re

from documents.markup.edits import GONE, tidy

_ITEM = r"""(?:[.#][\w:.!/\[\]%-]+|[:@]?[\w:-]+=(?:"[^"\n]*"|'[^'\n]*'|[^\s"'{}]+))"""
# With a colon: 29 of 45 pages of a Jekyll theme's documentation, 29 of 111 in docs_jekyll. Without: 63 of 137 in
# docs_fastapi, 110 of 119 of Vue's, 26 of 96 of Material's. `{name=value}` alone is one only behind a link, a picture,
# emphasis or code.
_COLON_LIST = re.compile(r"\{::?[ \t]*(?:/?[\w-]+[ \t]*)?(?:[^{}\n\"']|\"[^\"\n]*\"|'[^'\n]*')*\}")
_LIST = re.compile(rf"\{{[ \t]*{_ITEM}(?:[ \t]+(?:{_ITEM}|[\w-]+))*[ \t]*\}}")
_NO_LIST = re.compile(r"\{[ \t]*[\w:@-]")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t].*$", re.MULTILINE)
_ANCHOR = re.compile(r"(?:^|[\s:{])#([^\s{}\"']+)")
_BELOW_HEADING = re.compile(
    r"^( {0,3}#{1,6}[ \t][^\n]*|[^\n]+\n {0,3}(?:=+|-+)[ \t]*)\n[ \t]*(\{:[^{}\n]*\})[ \t]*$", re.MULTILINE
)
_SPAN = re.compile(r"(?<![!\]\\])\[([^\[\]\n]*)\](?=\{[ \t]*[.#:\w])")
_SPAN_END = re.compile(rf"(?<![!\]\\])\[([^\[\]\n]*)\](?:{_LIST.pattern}|{_COLON_LIST.pattern})")
# MDC's `:name[text]{...}`: 26 of 60 pages in docs_nuxt_content.
_MDC = re.compile(r"(?<![\w:`/])::?[a-z][\w-]*(?:\[(?P<text>[^\[\]\n]*)\](?:\{[^{}\n]*\})?|\{(?P<props>[^{}\n]*)\})")
_MDC_BREAK = re.compile(r"(?<!\S):br(?!\S)")
_LABEL = re.compile(r"""\b(?:label|text|title|value)=(?:"([^"]*)"|'([^']*)')""")
_ICON = re.compile(r":(?:material|octicons|fontawesome|simple)-[\w-]+:")  # 55 of 96 of Material's pages


def without_attributes(text: str) -> str:
    """``text`` without attribute lists, icons and MDC's marks; ``## Heading {#anchor}`` keeps its anchor."""
    text = _BELOW_HEADING.sub(_raised, text)
    text = _MDC_BREAK.sub(GONE, _ICON.sub(GONE, _MDC.sub(_mdc, text)))
    text = _SPAN_END.sub(r"\1", text)
    text = _HEADING.sub(lambda match: _heading(match[0]), text)
    return tidy("\n".join(line if _HEADING.match(line) else _line(line) for line in text.split("\n")))


def _raised(match: re.Match[str]) -> str:
    """The anchor in the line below a heading goes to the heading's end."""
    anchor = _ANCHOR.search(match[2])
    heading, newline, ruler = match[1].partition("\n")
    return f"{heading} {{#{anchor[1]}}}{newline}{ruler}" if anchor else match[1]


def _heading(line: str) -> str:
    anchor = ""
    for found in (*_COLON_LIST.findall(line), *_LIST.findall(line)):
        anchor = anchor or next(iter(_ANCHOR.findall(found)), "")
    bare = _LIST.sub("", _COLON_LIST.sub("", line))
    return line if bare == line else bare.rstrip() + (f" {{#{anchor}}}" if anchor else "")


def _line(line: str) -> str:
    if "{" not in line:
        return line
    return _LIST.sub(_list, _COLON_LIST.sub(GONE, line))


def _list(match: re.Match[str]) -> str:
    before = match.string[: match.start()]
    attached = before[-1:] in (")", "]", "*", "_", "\ufdd1") or not before.strip()
    if before.endswith(("{", "\\", "$")) or (_NO_LIST.match(match[0]) and not attached):
        return match[0]
    return GONE


def _mdc(match: re.Match[str]) -> str:
    if match["text"] is not None:
        return match["text"]
    label = _LABEL.search(match["props"])
    if label is None and not re.search(r"=|^\s*[.#]", match["props"]) and match["props"].strip():
        return match[0]
    return (label[1] or label[2] or GONE) if label else GONE
