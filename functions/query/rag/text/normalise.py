"""One form for all spellings of a question, in which every sign that carries meaning is still there."""

from __future__ import annotations

import re
import unicodedata

_DASHES = re.compile("[\u2010-\u2015\u2212]")
_MEANINGFUL = re.compile(
    "[#%&*@\u00a7\u2030\u2031]"
    r"|(?<=\d)\s*[-/]\s*(?=\d)"  # "5 - 3" is not "5 3"
    r"|(?<=\d)[.,:](?=\d)"  # "1.5" is not "15"
    r"|(?<![\w.,])[.,](?=\d)|(?<![\w.,])\.(?=\w)"  # ".5" is not "5", ".NET" is not "NET"
    r"|(?<!\w)-(?=\s?\d)|(?<!\w)[-/](?=\w)"  # "-5" is not "5"
    r"|(?<=\w)-+(?!\w)"  # "A-" is not "A"
    r"|(?<=\d)!|!(?=[\w=])"  # "5!" is not "5", "!=" is not "="
    "|(?<=\\d)['\"\u2032\u2033]"  # 6' is not 6
)


def normalise(text: str) -> str:
    """``text`` for comparison: Unicode-normalised (NFKC), lower case, no punctuation, white space collapsed.

    Signs that carry meaning stay, as words: "C++" is not "C", "-5" is not "5", "50 %" is not "50", "10\u00b2" is not
    "102". When in doubt a sign counts: what is kept apart for nothing costs a search, what is not a wrong answer.
    """
    raised = "".join(_spelt(char) if _raised(char) else char for char in text)
    plain = _DASHES.sub("-", unicodedata.normalize("NFKC", raised).lower())
    plain = _MEANINGFUL.sub(lambda match: "".join(map(_spelt, match[0].strip())), plain)
    return " ".join("".join(map(_comparable, plain)).split())


def _raised(char: str) -> bool:
    """Whether NFKC would let ``char`` run into the digits beside it: superscripts, subscripts, fractions."""
    return unicodedata.decomposition(char).startswith(("<super>", "<sub>", "<fraction>"))


def _comparable(char: str) -> str:
    """Letters, digits and their marks (a vowel sign makes another word) as they are; symbols spelt; else a space."""
    kind = unicodedata.category(char)[0]
    return char if kind in "LMN" or char == "_" else _spelt(char) if kind == "S" else " "


def _spelt(sign: str) -> str:
    return f" sign{ord(sign)} "
