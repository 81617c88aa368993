"""Where a text cites chunks by id, in the forms that models write: ``[id_3]``, ``(id_3, id_5)``, ``id_3``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

MAX_RANGE = 50
"""A longer range names its ends only."""
MAX_WORDS = 6
"""A bracket with more words beside its ids is an aside, not a citation."""

_SQUARE, _OTHER = r"\[\u3010\uff3b\u3014", r"({<\uff08"
_CLOSE = r"\])}>\u3011\uff3d\u3015\uff09"
_ID = r"(?<!\w)ids?[\s\\]{0,2}[_:#-]?\s?\d+"
_BARE = r"id\\?_\d+"
_OR = r"(?:\s*(?:[,;/|&+\u3001\uff0c\uff1b]|\band\b|\bor\b))+\s*"
_TO = r"\s*(?:[-\u2010-\u2015~]|\bto\b|\bthrough\b|\.\.\.?)\s*"
_ALONE = r"\d+(?=\s*(?:[,;/|&+\u2010-\u2015-]|\band\b|\bor\b|\W*$))"
_LIST = re.compile(rf"{_ID}(?:(?:{_TO}|{_OR}|\s+){_ID}|(?:{_TO}|{_OR}){_ALONE})*", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_RANGE = re.compile(rf"{_TO}(?:ids?[\s\\_:#-]*)?", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2,}")

_LEAD = (
    r"(?:(?:see|also|cf|per|from|in|cite|cited|according to|sources?|refs?|references?|citations?|chunks?|snippets?"
    r"|passages?|docs?|documents?)\b\W*)*"
)
_OPENS_WITH_IDS = re.compile(rf"\W*{_LEAD}{_LIST.pattern}", re.IGNORECASE)
_PLACE = re.compile(r"\s*[:,\u2020|\u2013\u2014-].{0,60}|\W*", re.DOTALL)
# "(id 3)" and "(ID_3)" cite; "(ID 1042)" and "(id: 5)" are of what the answer is about.
_TIGHT = re.compile(r"(?<!\w)(?:ids?\\?[_ :-]?\d|(?i:ids?)\\?_\d)")
_UNDERSCORE = re.compile(r"(?<!\w)ids?\s?\\?_\s?\d", re.IGNORECASE)

_ANY = re.compile(
    rf"\\?(?P<open>[{_SQUARE}{_OTHER}])(?P<inside>[^{_SQUARE}{_OTHER}{_CLOSE}]{{3,200}})[{_CLOSE}]"
    rf"(?P<target>\([^()\s]{{0,600}}\))?|(?<![\w/=&?#.@\\-])(?<![/=$][{_OTHER}])(?P<bare>{_BARE}(?:{_TO}{_BARE}|[-\u2013]\d+)?)(?![\w/@]|\.\w|-[^\W\d])",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"^[ \t]*(?P<fence>```++|~~~++)[^\n]*\n(?:.*?\n)??[ \t]*(?:(?P=fence)|\Z)"
    r"|(?<!`)(?P<ticks>`++)(?P<code>[^\n]+?)(?<!`)(?P=ticks)(?!`)",
    re.MULTILINE | re.DOTALL,
)
# An address holds no mark, nor does the target of a link.
_ADDRESS = re.compile(r"https?://(?:[^\s<>\[\]()]|\([^\s<>()]*\))+|(?<=\]\()[^()\s]+(?=\))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mark:
    """``text[start:end]`` cites ``numbers``, in order; those of them that only lie within a range are ``implied``."""

    start: int
    end: int
    numbers: tuple[int, ...]
    implied: frozenset[int]
    in_code: bool


def find_marks(text: str) -> Iterator[Mark]:
    """The citations in ``text``, in order.

    A bracket of any kind that is made of ids (with a word before, a title or a place after them) is one as a whole;
    other ids count by themselves where they are written ``id_3``. In code only a bracket of ids that stands by itself
    counts; addresses hold none.
    """
    codes = [match.span() for match in _CODE.finditer(text) if not _is_ids(match["code"] or "")]
    masked = _ADDRESS.sub(lambda match: "x" * len(match[0]), text)
    at = 0
    while match := _ANY.search(masked, at):
        while codes and codes[0][1] <= match.start():
            codes.pop(0)
        in_code = bool(codes) and codes[0][0] <= match.start()
        if not _cites(match, in_code):
            at = match.start() + 1
            continue
        inside = match["bare"] or match["inside"]
        written = [_numbers(found[0]) for found in _LIST.finditer(inside)]
        numbers = tuple(number for some, _ in written for number in some)
        implied = frozenset[int]().union(*(within for _, within in written))
        yield Mark(match.start(), match.end(), numbers, implied, in_code)
        at = match.end()


def _cites(match: re.Match[str], in_code: bool) -> bool:
    if match["bare"]:
        return not in_code
    inside, before = match["inside"], match.string[match.start() - 1 : match.start()]
    square = match["open"] not in _OTHER
    if in_code:
        return square and not before.isalnum() and _is_ids(inside)
    if match["target"]:
        return square and _is_ids(inside)
    if square:
        short = len(_WORD.findall(inside)) <= MAX_WORDS
        return short and bool(_OPENS_WITH_IDS.match(inside) or _UNDERSCORE.search(inside))
    ids = _OPENS_WITH_IDS.match(inside)
    if ids is None or before in {"/", "=", "$"}:  # "/users/{id_3}"
        return False
    return _TIGHT.search(inside) is not None and _PLACE.fullmatch(inside, ids.end()) is not None


def _is_ids(text: str) -> bool:
    """Whether ``text`` holds ids and nothing beside them but what leads in."""
    ids = _OPENS_WITH_IDS.match(text)
    return ids is not None and not any(character.isalnum() for character in text[ids.end() :])


def _numbers(ids: str) -> tuple[list[int], set[int]]:
    """The numbers in a list of ids, with those within its ranges; and which these are."""
    found = list(_NUMBER.finditer(ids))
    numbers = [_int(found[0][0])]
    implied: set[int] = set()
    for last, match in pairwise(found):
        first, number = _int(last[0]), _int(match[0])
        if 0 <= first < number <= first + MAX_RANGE and _RANGE.fullmatch(ids[last.end() : match.start()]):
            numbers += range(first + 1, number)
            implied |= set(range(first + 1, number))
        numbers.append(number)
    return numbers, implied


def _int(digits: str) -> int:
    return int(digits) if len(digits) < 10 else -1  # no chunk has such a number
