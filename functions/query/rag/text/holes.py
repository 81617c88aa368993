"""Closing the holes that removed citations leave in a text, so that it still reads well.

Every rule is anchored at a hole: where none is, nothing changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

HOLE, CODE_HOLE = "\ufdd0", "\ufdd1"
"""Stand for a removed citation in running text and in code; these characters are in no text of ours."""

MAX_ROUNDS = 10
"""Of widening holes: brackets within brackets, labels above labels."""

type _Rule = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]


def _rule(pattern: str, by: str | Callable[[re.Match[str]], str] = "") -> _Rule:
    """``@`` in ``pattern`` and ``by`` is a hole, ``%`` one in code."""
    found = pattern.replace("@", HOLE).replace("%", CODE_HOLE)
    return re.compile(found, re.IGNORECASE | re.MULTILINE), by.replace("@", HOLE) if isinstance(by, str) else by


def _capital(match: re.Match[str]) -> str:
    return f"{match[1]}{match[2].upper()}"


_KEPT = r"\[id_\d+\]"
_AND = r"[ \t]*(?:[,;/&+\u3001][ \t]*)?(?:(?:and|or)\b[ \t]*)?"
_ITEM = r"[ \t]*(?:>[ \t]*)?(?:(?:[-*+\u2022]|\d{1,3}[.)])[ \t]+)?"
_START = rf"(^{_ITEM}|[.!?][ \t]+)"
_LABEL = r"(?:[*_#]+[ \t]*)?(?:sources?|references?|citations?|refs?)\b[*_]*:?[*_]*"
_END = r"[ \t.,;:!?]*"

_NAME = r"(?:(?:the )?(?:snippet|chunk|passage|source|section|document)s? )?"
_TOLD = (
    r"(?:stated|described|explained|mentioned|noted|shown|outlined|documented|specified|detailed|indicated|defined"
    r"|listed|found|given|covered|discussed)"
)
_AS_TOLD = rf"(?:according to|as (?:is )?{_TOLD} (?:in|by|under))"
_SEE = (
    r"(?:for (?:more|further|details|additional)[ \w]{0,30},? )?"
    r"(?:(?:please )?(?:also )?(?:see(?: also)?|refer to|consult)|cf\.?|(?:as )?per|based on)"
)
_SAYS = r"(?:says|states|notes|mentions|explains|confirms|shows|indicates|specifies|describes)"

# Repeated until nothing changes: each gives to the hole what stands only for its sake.
_WIDEN = (
    _rule(r"(?<![\w`])(\*\*|__|~~|\*|_|\^|`++|[\"'])@\1(?!\w)|<(sup|sub|cite|code|em|strong|b|i)>@</\2>", "@"),
    _rule(r"\\?[\[(\uff3b\u3010\uff08{<\u201c\u2018][ \t]*@[ \t]*\\?[\])\uff3d\u3011\uff09}>\u201d\u2019]", "@"),
    _rule(rf"@{_AND}@", "@"),
    _rule(rf"@{_AND}(?={_KEPT})"),
    _rule(rf"({_KEPT}){_AND}@", r"\1"),
    _rule(rf"(^|[(.,!?;][ \t]*){_LABEL}[ \t]*@", r"\1@"),
    _rule(rf"^[ \t]*{_LABEL}[ \t]*\n(?:[ \t]*\n)?(?:{_ITEM}@[ \t]*(?:\n|\Z))+(?!{_ITEM}(?:{_KEPT}|@))", "@\n"),
    # "According to @, you press Start", then "press Start, as stated in @" and "(see @)".
    _rule(rf"{_START}(?:{_AS_TOLD}|{_SEE}|from|in) {_NAME}@(?:[,:][ \t]*|[ \t]+)(\w)", _capital),
    _rule(rf"({_START}|[(][ \t]*){_SEE} {_NAME}@", r"\1@"),
    _rule(rf"(?<![ \t])[ \t]*(?:[,;:\u2014][ \t]*|\b(?:and|also)[ \t]+)(?:{_AS_TOLD}|{_SEE}) {_NAME}@", "@"),
    _rule(rf"(?<![ \t])[ \t]*\b{_AS_TOLD} {_NAME}@", "@"),
)
_CLOSE = (
    # In code only the mark goes, with the comment that it was.
    _rule(r"(?<![ \t])[ \t]*(?:#|//|--)[ \t]*%[ \t]*$"),
    _rule(r"(?<![ \t])[ \t]+%(?=\s|\Z)|%"),
    # Where the mark was a word of its sentence, another stands for it.
    _rule(rf"{_START}@ {_SAYS} that (\w)", _capital),
    _rule(rf"{_START}@ (?=(?:also )?{_SAYS}\b)", r"\1The documentation "),
    _rule(rf"\b({_TOLD}|find|read more|learn more)((?: \w+){{0,2}}) (in|by|under) @", r"\1\2 \3 the documentation"),
    # A line or a sentence of which nothing is left.
    _rule(r"(?<=[^\d\s][.!?])[ \t]+@[.!?]?(?=\s|\Z)"),
    _rule(rf"\s*^{_ITEM}@{_END}\s*\Z|\A{_ITEM}@{_END}$\s*"),
    _rule(rf"\n[ \t]*\n{_ITEM}@{_END}(?=\n[ \t]*\n)|\n{_ITEM}@{_END}$"),
    _rule(r"(?<=[.!?])[ \t]+@[.!?](?=\s|\Z)"),
    _rule(rf"(^{_ITEM})@[.,;:!?]*[ \t]*", r"\1"),
    # The rest: with the white space before it, and with the comma that ends nothing.
    _rule(r"[ \t]*,?[ \t]*@(?=[.!?)\]}])|[ \t]*@(?=[,;:])|(?<=[(\[{])@[ \t]*|[ \t]+@(?=\s|\Z)"),
    _rule(r"(?<=\w)@(?=\w)", " "),
    _rule(r"@"),
)


def close_holes(text: str) -> str:
    """``text`` without its holes and what stood only for their sake: separators, brackets, lead-ins, empty lines."""
    for _ in range(MAX_ROUNDS):
        before = text
        for pattern, by in _WIDEN:
            text = pattern.sub(by, text)
        if text == before:
            break
    for pattern, by in _CLOSE:
        text = pattern.sub(by, text)
    return text
