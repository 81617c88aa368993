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


def _one_says(match: re.Match[str]) -> str:
    """Of two subjects one is left: its verb stands in the singular."""
    verb = match["verb"]
    third = f"{verb[:-1]}ies" if verb.endswith("fy") else f"{verb}s"
    return f"{match['before']}{match['kept'] or match['also_kept'] or HOLE} {match['also'] or ''}{third}"


_KEPT = r"\[id_\d+\]"
_AND = r"[ \t]*(?:[,;/&+\u3001][ \t]*)?(?:(?:and|or)\b[ \t]*)?(?:(?:see[ \t]+)?also\b[ \t]*)?"
_ITEM = r"[ \t]*(?:>[ \t]*)?(?:(?:[-*+\u2022]|\d{1,3}[.)])[ \t]+)?"
_BEGIN = rf"(?:^{_ITEM}|[.!?][ \t]+)"
_START = rf"({_BEGIN})"
_LABEL = r"(?:[*_#]+[ \t]*)?(?:sources?|references?|citations?|refs?)\b[*_]*:?[*_]*"
_END = r"[ \t.,;:!?]*"

_NAME = r"(?:(?:the )?(?:snippet|chunk|passage|source|section|document)s? )?"
_TOLD = (
    r"(?:stated|described|explained|mentioned|noted|shown|outlined|documented|specified|detailed|indicated|defined"
    r"|listed|found|given|covered|discussed)"
)
_AS_TOLD = rf"(?:according to|as (?:is )?(?:also )?{_TOLD} (?:in|by|under))"
_LOOK = r"(?:(?:please )?(?:also )?(?:see(?: also)?|refer to)|cf\.?)"
# These may be what the reader has to do: "check @ before you start".
_VISIT = r"(?:(?:please )?(?:also )?(?:consult|check|visit))"
_SEE = (
    rf"(?:for (?:more|further|details|additional)[ \w]{{0,30}},? )?"
    rf"(?:{_LOOK}|{_VISIT}(?= [a-z ]{{0,22}}@(?:[.,;:!?)\]]|$))|(?:as )?per|based on)"
)
_FOR = r"[ \t]+(?:for|about|on|regarding|to|if|when)\b"
_FOR_MORE = (
    r"[ \t]+(?:for|about|on) (?:(?:the|an?|some) )?"
    r"(?:more|further|full|complete|additional|details|information|instructions|examples?|help)\b"
)
# "See @ for the full list": to the end of its clause.
_TAIL = rf"(?:{_FOR}[^.,;:!?()\[\]\n@\u2014]{{1,60}}(?=[.,;:!?)\]\u2014]|$))"
_VERBS = (
    "say|state|note|mention|explain|confirm|show|indicate|describe|tell|recommend|suggest|cover|give|define|discuss"
    "|warn|contain|advise"
)
_SAY = rf"(?-i:{_VERBS}|specify|clarify)"
_SAYS = rf"(?-i:(?:{_VERBS})s|specifies|clarifies)"
# After these stands the subject of a clause.
_JOINS = (
    r"(?:\b(?:as|only|just|but|while|whereas|what|which|because|since|if|though|although|where|how)[ \t]+"
    r"|(?<=[^\s@])[,;:\u2014][ \t]+)"
)

# Repeated until nothing changes: each gives to the hole what stands only for its sake.
_WIDEN = (
    _rule(r"(?<![\w`])(\*\*|__|~~|\*|_|\^|`++|[\"'])@\1(?!\w)|<(sup|sub|cite|code|em|strong|b|i)>@</\2>", "@"),
    _rule(r"\\?[\[(\uff3b\u3010\uff08{<\u201c\u2018][ \t]*@[ \t]*\\?[\])\uff3d\u3011\uff09}>\u201d\u2019]", "@"),
    # What counts two of them goes with one, except where it denies.
    _rule(r"\b(n)either @ nor @", r"\1o part of the documentation"),
    _rule(r"\b(neither) @ nor\b", r"\1 the documentation nor"),
    _rule(rf"(\bneither {_KEPT} nor) @", r"\1 the documentation"),
    _rule(
        rf"(?P<before>)(?P<kept>)(?P<also_kept>)(?:\b(?:both|either) )?@,? (?:and|or) @ (?P<also>also )?"
        rf"(?:(?:both|all) )?(?P<verb>{_SAY})\b",
        _one_says,
    ),
    _rule(rf"@{_AND}@", "@"),
    _rule(rf"{_START}(?:{_AS_TOLD}|unlike|contrary to) {_NAME}@,[ \t]+(?={_KEPT} (?:also )?{_SAYS}\b)", r"\1"),
    _rule(
        rf"(?P<before>{_BEGIN}(?:(?:as|only|just) )?)(?:(?:both|either) )?"
        rf"(?:@,? (?:and|or) (?P<kept>{_KEPT})|(?P<also_kept>{_KEPT}),? (?:and|or) @) (?P<also>also )?"
        rf"(?:(?:both|all) )?(?P<verb>{_SAY})\b",
        _one_says,
    ),
    _rule(rf"\b(?:both|either) @{_AND}({_KEPT})(?!{_AND}{_KEPT})", r"\1"),
    _rule(rf"\b(?:both|either) ({_KEPT}){_AND}@(?!{_AND}{_KEPT})", r"\1"),
    _rule(rf"@{_AND}(?={_KEPT})"),
    _rule(rf"({_KEPT}){_AND}@", r"\1"),
    _rule(rf"(^|[(.,!?;][ \t]*){_LABEL}[ \t]*@", r"\1@"),
    _rule(rf"^[ \t]*{_LABEL}[ \t]*\n(?:[ \t]*\n)?(?:{_ITEM}@[ \t]*(?:\n|\Z))+(?!{_ITEM}(?:{_KEPT}|@))", "@\n"),
    # "According to @, you press Start", then "press Start, as stated in @" and "(see @)".
    _rule(rf"({_BEGIN}|[(][ \t]*){_LOOK} {_NAME}@{_TAIL}", r"\1@"),
    _rule(rf"{_START}as @(?: (?:also )?{_SAYS})?,[ \t]+(\w)", _capital),
    _rule(rf"{_START}(?:{_AS_TOLD}|{_SEE}|from|in) {_NAME}@(?!{_FOR_MORE})(?:[,:][ \t]*|[ \t]+)(\w)", _capital),
    _rule(rf"({_BEGIN}|[(][ \t]*){_SEE} {_NAME}@(?!{_FOR_MORE})", r"\1@"),
    _rule(
        rf"(?<![ \t])[ \t]*(?:[,;:\u2014][ \t]*|\b(?:and|also)[ \t]+)"
        rf"(?:{_LOOK} {_NAME}@{_TAIL}|(?:{_AS_TOLD}|{_SEE}) {_NAME}@(?!{_FOR_MORE}))",
        "@",
    ),
    _rule(rf"(?<![ \t])(?:[ \t]*,[ \t]*|(?<=[(\[]))as @ (?:also )?{_SAYS}(?=[ \t]*(?:[,.;:!?)\]]|$))", "@"),
    _rule(rf"(?<![ \t])[ \t]*\b{_AS_TOLD} {_NAME}@", "@"),
)
_CLOSE = (
    # In code only the mark goes, with the comment that it was.
    _rule(r"(?<![ \t])[ \t]*(?:#|//|--)[ \t]*%[ \t]*$"),
    _rule(r"(?<![ \t])[ \t]+%(?=\s|\Z)|%"),
    # Where the mark was a word of its sentence, another stands for it.
    _rule(rf"{_START}@ {_SAYS} that (\w)", _capital),
    _rule(rf"{_START}@ (?=(?:also )?{_SAYS}\b)", r"\1The documentation "),
    _rule(rf"({_JOINS})@ (?=(?:also )?{_SAYS}\b)", r"\1the documentation "),
    _rule(rf"\b((?:{_LOOK}|{_VISIT}) {_NAME})@(?={_FOR_MORE})", r"\1the documentation"),
    _rule(r"\b((?:based on|(?:comes?|came|taken|quoted|derived) from) )@(?!\w)", r"\1the documentation"),
    _rule(rf"\b({_TOLD}|find|read more|learn more)((?: \w+){{0,2}}) (in|by|under) @", r"\1\2 \3 the documentation"),
    # A line or a sentence of which nothing is left.
    _rule(r"(?<=[^\d\s][.!?])[ \t]+@[.!?]?(?=\s|\Z)"),
    _rule(rf"(?<!\s)\s*^{_ITEM}@{_END}\s*\Z|\A{_ITEM}@{_END}$\s*"),
    _rule(rf"\n[ \t]*\n{_ITEM}@{_END}(?=\n[ \t]*\n)|\n{_ITEM}@{_END}$"),
    _rule(r"(?<=[.!?])[ \t]+@[.!?](?=\s|\Z)"),
    _rule(rf"{_START}@[,;:][ \t]+(\w)", _capital),
    _rule(r"(?<=\S)([ \t]+[-\u2013\u2014])[ \t]+@[ \t]+[-\u2013\u2014](?=[ \t])", r"\1"),
    _rule(rf"(^{_ITEM})@[.,;:!?]*[ \t]*", r"\1"),
    # What led to it, where nothing follows; a colon may lead to what is on the next line.
    _rule(r"(?<![ \t])(?:[ \t]*[;:\u2013\u2014]|(?<=\S)[ \t]+-{1,3})[ \t]*@(?=[.,;:!?)\]}]|\s*\Z)"),
    _rule(r"(?<![ \t])(?:[ \t]*[;\u2013\u2014]|(?<=\S)[ \t]+-{1,3})[ \t]*@[ \t]*$"),
    # The rest: with the white space before it, and with the comma that ends nothing.
    _rule(
        r"(?<=[(\[{])@[ \t]*(?:[,;:][ \t]*)?"
        r"|(?<![ \t])(?:[ \t]*(?:,[ \t]*)?@(?=[.!?)\]}])|[ \t]*@(?=[,;:])|[ \t]+@(?=\s|\Z))"
    ),
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
