"""Words, in scripts that write them apart and in those that do not."""

from __future__ import annotations

import re

# Scripts that write words without spaces, or long ones: Thai to Khmer, kana, ideographs, Hangul.
_UNSPACED = re.compile("[\uac00-\ud7a3\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_UNSPACED_CHARS_PER_WORD = 2


def count_words(text: str) -> int:
    """Words between spaces; where a script has none, two characters count as one."""
    unspaced = len(_UNSPACED.findall(text))
    return len(_UNSPACED.sub("", text).split()) + unspaced // _UNSPACED_CHARS_PER_WORD
