"""Which characters and patterns a question may not hold."""

from __future__ import annotations

import re
import unicodedata

# Scripts have no place in a question; matched after white space is collapsed and invisible characters are gone.
_SCRIPT = re.compile(
    r"""<\s*/?\s*(?:script|iframe|object|embed|applet|meta|link|base|form|svg|math|style|img|video|audio|body|html|input|
          button|details|marquee|isindex|xml|xss|frameset|frame|bgsound|layer|textarea|select|keygen|template)\b
      | <[^<>]{0,500}\bon[a-z]{3,30}\s*=
      | \b(?:javascript|vbscript|livescript|mocha)\s*:
      | \bdata\s*:\s*(?:text/html|image/svg|application/x?html)
      | \b(?:eval|settimeout|setinterval|expression|execscript|msgbox)\s*\(
      | \b(?:document|window|self|top|parent)\s*\.\s*(?:cookie|location|write|domain)\b
      | &\#(?:x[0-9a-f]{2,6}|[0-9]{2,7})\b;?
      | \bon(?:error|load|click|mouseover|focus|toggle|begin|pointer\w{2,8}|animation\w{3,9})\s*=""",
    re.IGNORECASE | re.VERBOSE,
)

_MAY_HIDE = {"\u200b", "\u2060", "\ufeff", "\u00ad"}
"""Zero-width characters that carry no meaning in a question; they are removed, so that they cannot split a pattern."""

# Joiners shape emoji and Persian or Indic words, marks set the direction of Arabic and Hebrew: they are text.
_FORMAT_TEXT = {"\u200c", "\u200d", "\u200e", "\u200f", "\u061c", "\u2066", "\u2067", "\u2068", "\u2069"}


def collapse(text: str) -> str:
    """``text`` on one line, each run of white space one blank, without invisible fillers."""
    return " ".join("".join(char for char in text if char not in _MAY_HIDE).split())


def holds_script(text: str) -> bool:
    """Whether ``text`` holds a script pattern such as ``<script``, ``javascript:`` or ``eval(``."""
    return _SCRIPT.search(unicodedata.normalize("NFKC", text)) is not None


def is_printable(text: str) -> bool:
    """Whether every character can be shown, by its Unicode category.

    Letters, marks, digits, punctuation, symbols (emoji) and blanks of every script pass, and so do code points
    that this Python's Unicode tables do not know yet. Controls (Cc), private use (Co), surrogates (Cs),
    non-characters, and format characters (Cf) other than joiners, direction marks and emoji tags do not.
    """
    return all(_may_show(char) for char in text)


def _may_show(char: str) -> bool:
    category = unicodedata.category(char)
    if category == "Cf":
        return (
            char in _FORMAT_TEXT or 0xE0020 <= ord(char) <= 0xE007F or unicodedata.bidirectional(char) in {"AN", "AL"}
        )
    if category == "Cn":
        return not (0xFDD0 <= ord(char) <= 0xFDEF or ord(char) & 0xFFFE == 0xFFFE)
    return category not in {"Cc", "Co", "Cs"}
