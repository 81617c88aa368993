"""Tags of HTML as they stand in a text, and the one block of it that is read as it is: code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import unescape

from rag.answer import tree as t

_NAME = re.compile(r"</?([A-Za-z][\w:-]*)")
_LANGUAGE = re.compile(r"\blang(?:uage)?-([\w+#.-]{1,30})")
_ATTRIBUTE = re.compile(r"\b(href|alt|start)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'>]+)", re.IGNORECASE)
_PRE = re.compile(r"<pre\b[^>]*>(.*?)(?:</pre\s*>|\Z)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag as it stands in a line: ``name`` in lower case, ``""`` of a comment or a declaration."""

    raw: str
    name: str = ""
    closes: bool = False
    attributes: dict[str, str] = field(default_factory=dict)


def tag_of(raw: str) -> Tag:
    """The tag that ``raw`` is."""
    name = _NAME.match(raw)
    attributes = {one[1].lower(): unescape(one[2].strip("\"' ")) for one in _ATTRIBUTE.finditer(raw)}
    return Tag(raw, name[1].lower(), raw.startswith("</"), attributes) if name else Tag(raw)


def raw_block(content: str) -> Sequence[t.Block]:
    """A block whose content is no Markdown: of ``<pre>`` the code, of scripts, styles and comments nothing."""
    code = _PRE.match(content.strip())
    if code is None:
        return ()
    language = _LANGUAGE.search(content[: content.find(">", content.lower().find("<code")) + 1])
    return (code_block(re.sub(r"</?(?:code|span)\b[^>]*>", "", code[1]), language),)


def code_block(markup: str, language: re.Match[str] | None = None) -> t.CodeBlock:
    """Code as HTML has it, between more ticks than it holds."""
    text = unescape(markup).strip("\n").rstrip()
    ticks = max((len(run) for run in re.findall("`+", text)), default=0)
    return t.CodeBlock(text, language[1] if language else "", "`" * max(3, ticks + 1))
