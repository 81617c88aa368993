"""Which markup is left in a chunk that its reader should not see, outside of code; a stated list for each format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from markdown_it import MarkdownIt

from documents.markup.code import HiddenCode

_TEXT_MARKUP = {
    "{{": re.compile(r"\{\{"),
    "{%": re.compile(r"\{%"),
    "{! {*": re.compile(r"\{!|\{\* "),
    ":::": re.compile(r"^[ \t>]*:{3,}|^[ \t>]*::+[a-z][\w-]*|^[ \t]*::[ \t]*$", re.MULTILINE),
    "///": re.compile(r"^[ \t>]*/{3,}", re.MULTILINE),
    "!!!": re.compile(r"^[ \t>]*(?:!!!|\?\?\?\+?|===)[ \t]", re.MULTILINE),
    "{.x}": re.compile(r"\{:?[ \t]*[.#][\w-]+[^{}\n]*\}|\{:[^{}\n]*\}"),
    "<!--": re.compile(r"<!--"),
}
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t].*$", re.MULTILINE)
_PARSER = MarkdownIt("commonmark").enable("table")
_WIKI = {"[[ ]]": r"!?\[\[[^\[\]\n]+\]\]", "[!x]": r"^> ?\[!\w+\]", "%%": r"%%[^%\n]+%%"}
_MDX = {"import": r"^(?:import|export)\s.+\bfrom\s+['\"]|^import\s+['\"]", "{/*": r"\{/\*"}
_MYST = {"(label)=": r"^\([\w-]+\)=\s*$", "{role}": r"\{[\w:.-]+\}(?=\ufdd0)", "{{": r"\{\{"}
_ENTITIES = {"&x;": r"&(?:nbsp|copy|lt|gt|amp|quot|#\d+|mdash|ndash);"}
_RST = {
    "::": r"^\s*\.\. [\w:.-]+::",
    ":role:": r"(?<![\w:]):[\w:.+-]+:(?=[`\ufdd0])",
    "`_": r"[`\ufdd1]__?(?!\w)",
    "|x|": r"(?<![\w|`])\|\w(?:[\w -]*\w)?\|_?(?![\w|])",
    ":option:": r"^\s*:(?:maxdepth|caption|hidden|linenos|glob|members|noindex|name):",
}
_ADOC = {
    "macro:": r"(?<!\w)(?:image|xref|link|include|video|footnote|kbd|btn|menu|pass|stem|icon|anchor)::?[^\s\[\]]*\[",
    ":attr:": r"^:[\w-]+!?:(?:\s|$)",
    "ifdef": r"^(?:ifdef|ifndef|endif|ifeval)::",
    "[[ ]]": r"\[\[[^\]\n]+\]\]",
    "----": r"^(?:={4,}|\+{4,}|\*{4,}|_{4,})$",
    "[role]": r"^\[(?:#|\.|%|source|cols|NOTE|TIP|quote|role)[^\]\n]*\]$",
    "{attr}": r"(?<![\\$\w])\{[a-z][\w-]+\}",
}
LISTS: Mapping[str, Mapping[str, str]] = {
    **{suffix: {**_WIKI, **_MDX, **_MYST, **_ENTITIES} for suffix in (".md", ".markdown", ".mdx")},
    **{suffix: {**_ADOC, **_ENTITIES} for suffix in (".adoc", ".asciidoc", ".asc")},
    **dict.fromkeys((".html", ".htm", ".xhtml", ".epub", ".docx", ".ipynb"), _ENTITIES),
    ".rst": {**_RST, **_ENTITIES},
}
"""Of each suffix names and patterns (lines); what Markdown leaves (``_TEXT_MARKUP``, HTML) counts in all of these."""
_PATTERNS = {
    suffix: {name: re.compile(pattern, re.MULTILINE) for name, pattern in listed.items()}
    for suffix, listed in LISTS.items()
}


def leftovers(text: str, path: str) -> list[str]:
    """Return the kinds of markup that are left in a chunk of the file ``path``; none for a format without a list."""
    listed = _PATTERNS.get(PurePosixPath(path).suffix.lower())
    if listed is None:
        return []
    hidden = HiddenCode().hide(text)
    prose = _HEADING.sub("", re.sub("[\ufdd0-\ufdd1]", "", hidden))
    found = [name for name, pattern in _TEXT_MARKUP.items() if pattern.search(prose)]
    tokens = _PARSER.parse(text)
    inline = (child for token in tokens for child in token.children or ())
    found += ["html"] * any(token.type in ("html_block", "html_inline") for token in (*tokens, *inline))
    return found + [name for name, pattern in listed.items() if pattern.search(hidden)]
