"""Which characters and patterns a question may not hold."""

from __future__ import annotations

import re
import unicodedata

from rag.stages.admit.decoded_forms import readings

# What can hold a script or fetch one, and what forges a page.
_ELEMENT = (
    r"(?:iframe|object|embed|applet|meta|link|base|form|svg|math|style|img|video|audio|body|html|input|button|details"
    r"|marquee|isindex|xml|xss|frameset|frame|bgsound|layer|textarea|select|keygen|template)"
)
_PROPERTY = r"(?-i:document|window|self|top|parent)\.(?-i:cookie|location|write|domain)\b"

# What runs in a browser, and no more: a question may be about formulas, file names and comparisons. Matched after white
# space is collapsed and what does not show is gone.
_SCRIPT = re.compile(
    rf"""<\s*/?\s*script\b
      | </?{_ELEMENT}
        (?=\s*[/>]|\s+[\w:-]+\s*=|\s*$)   # "< base rate" and "<base rate allowed" are no tags
      | </?[a-z][^<>]{{0,500}}\bon[a-z]{{3,30}}\s*=
      | \b(?:javascript|vbscript)\s*:
      | \bdata:\s*(?:text/html|image/svg\+xml|application/xhtml\+xml|application/xml)\s*[;,]
      | \beval\s*\(
      | \b(?:settimeout|setinterval|execscript|msgbox)\(
      | :\s*expression\(                  # in a style; a cron expression has no colon before it
      | \b{_PROPERTY}
      | \bon(?:error|load|click|mouseover|focus|toggle|begin|pointer\w{{2,8}}|animation\w{{3,9}})\s*=""",
    re.IGNORECASE | re.VERBOSE,
)
# A sentence may name these: an element without attributes, where its tag is a word; a property that nothing is done
# with; and "eval", of which a bracket after a blank says what it is short for.
_NAMED = re.compile(
    rf"""(?<![^\s"'`(\[,/\x80-\U0010ffff])</?{_ELEMENT}\s?/?>(?=s?(?:[\s"'`)\],.;:?!/\x80-\U0010ffff-]|\Z))
      | (?:\A|(?<=[\w,]\s)|(?<=[\w,]\s["'`])){_PROPERTY}(?:\.[a-z]{{1,20}}\b)?
        (?=["'`]?(?:[,.:;?!]?\s+[^\W\d_]|[.?!]*\s*\Z))
      | \beval\s\((?:eval[a-z]{{1,20}}|(?=[^\W\d_][\w.'\u2019-]{{0,30}},?\s[^\W\d_])[\w\s.,'\u2019%&/-]{{3,200}})\)""",
    re.IGNORECASE | re.VERBOSE,
)
_TAG = re.compile(r"<[^<>]{0,500}>")
_WORD = re.compile(r"[^\W\d_]{2,}")
SENTENCE_WORDS = 2
"""Beside what is named; fewer make no sentence."""

# White space is what Unicode calls so. To Python the separators U+001C-1F are white space too; they are controls.
_BLANKS = re.compile(r"[^\S\x1c-\x1f]+")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")

# Left out of a question: they carry no meaning there, could split a pattern, and come along with what is pasted
# (embeddings and their end, U+202A-202C, around telephone numbers).
_LEFT_OUT = re.compile("[\u00ad\u200b\u202a-\u202c\u2060\ufeff]")

# Joiners shape emoji and Persian or Indic words, marks set the direction of Arabic and Hebrew, U+180E separates a
# vowel in Mongolian: they are text.
_FORMAT_TEXT = frozenset("\u061c\u180e\u200c\u200d\u200e\u200f\u2066\u2067\u2068\u2069")

# Unicode's Default_Ignorable_Code_Point, and the blank of braille: nothing of it is ever seen.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# A flag of a subdivision, such as Scotland's: a black flag and its code in tag characters.
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,7}\U000e007f")
# A text can be hidden in tag characters, and in runs of variation selectors, of which one at most follows a character.
_HIDDEN_TEXT = re.compile("[\U000e0000-\U000e007f]|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}")


def collapse(text: str) -> str:
    """``text`` on one line, each run of white space one blank, without invisible fillers."""
    return _BLANKS.sub(" ", _LEFT_OUT.sub("", text)).strip(" ")


def is_blank(text: str) -> bool:
    """Whether nothing of ``text`` shows: white space, joiners, direction marks, fillers."""
    return not _BLANKS.sub("", _UNSEEN.sub("", text))


def holds_script(text: str) -> bool:
    """Whether ``text`` holds a script pattern such as ``<script``, ``javascript:`` or ``eval(``.

    Read as it stands, and as HTML and addresses read it, decoded. A sentence may name what by itself does nothing:
    "Which <select> fields are there?".
    """
    plain, *decoded = readings(text)
    forms = (plain, *(_CONTROLS.sub("", form) for form in decoded))  # browsers read over a tab in "javascript:"
    return any(_does(_UNSEEN.sub("", unicodedata.normalize("NFKC", form))) for form in forms)


def _does(text: str) -> bool:
    if _SCRIPT.search(text) is None:
        return False
    rest = _NAMED.sub(" ", text)
    return len(_WORD.findall(_TAG.sub(" ", rest))) < SENTENCE_WORDS or _SCRIPT.search(rest) is not None


def is_printable(text: str) -> bool:
    """Whether every character can be shown, by its Unicode category.

    Letters, marks, digits, punctuation, symbols (emoji) and blanks of every script pass, and so do code points
    that this Python's Unicode tables do not know yet. Controls (Cc), private use (Co), surrogates (Cs),
    non-characters, and format characters (Cf) other than joiners, direction marks and those within a flag do not,
    and neither does a text that is hidden in characters that do not show.
    """
    plain = _FLAG.sub("", text)
    return _HIDDEN_TEXT.search(plain) is None and all(map(_may_show, plain))


def _may_show(char: str) -> bool:
    category = unicodedata.category(char)
    if category == "Cf":
        return char in _FORMAT_TEXT or unicodedata.bidirectional(char) in {"AN", "AL"}
    if category == "Cn":
        return not (0xFDD0 <= ord(char) <= 0xFDEF or ord(char) & 0xFFFE == 0xFFFE)
    return category not in {"Cc", "Co", "Cs"}
