"""Words, in scripts that write them apart and in those that do not."""

from __future__ import annotations

import re

# Scripts that write words without spaces, or long ones: Thai to Khmer, kana, ideographs, Hangul.
_UNSPACED_RANGES = "\uac00-\ud7a3\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff"
_UNSPACED = re.compile(f"[{_UNSPACED_RANGES}]")
_UNSPACED_CHARS_PER_WORD = 2
_LETTER = rf"[^\W{_UNSPACED_RANGES}]"


def count_words(text: str) -> int:
    """Words between spaces; where a script has none, two characters count as one."""
    unspaced = len(_UNSPACED.findall(text))
    return len(_UNSPACED.sub("", text).split()) + unspaced // _UNSPACED_CHARS_PER_WORD


def holds_words(text: str, words: str) -> bool:
    """Whether ``words`` stand in ``text`` as whole words ("enter" does not in "center"); case counts."""
    after = f"(?!{_LETTER})" if re.search(f"{_LETTER}$", words) else ""
    return re.search(f"{_starting(words)}{after}", text) is not None


def holds_beginning(text: str, words: str) -> bool:
    """Whether ``words`` stand in ``text`` from the start of a word on; case counts.

    The last one may go on ("permit" in "import permits"), but a number is itself only as a whole: not "15" in "150".
    """
    after = r"(?!\d)" if words[-1:].isdecimal() else ""
    return re.search(f"{_starting(words)}{after}", text) is not None


def _starting(words: str) -> str:
    """A pattern of ``words``, not from the middle of a word on."""
    before = f"(?<!{_LETTER})" if re.match(_LETTER, words) else ""
    return f"{before}{re.escape(words)}"
