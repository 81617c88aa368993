"""One form for the spellings of a question that share a cached answer."""

from __future__ import annotations

import unicodedata

_SENTENCE_ENDS = ".?!\u2026\u3002\uff0e\uff1f\uff01\u061f"
"""Full stop, question and exclamation marks and the ellipsis, with those of Chinese, Japanese and Arabic."""


def question_key(text: str) -> str:
    """``text`` in NFC and case-folded, white space collapsed, without the punctuation that ends it.

    Every other sign counts: "C++" is not "C", "-5" is not "5", "10\u00b2" is not "102". What is kept apart for nothing
    costs a search, what is not a wrong answer.
    """
    plain = " ".join(unicodedata.normalize("NFC", text).casefold().split())
    return plain.rstrip(f" {_SENTENCE_ENDS}") or plain
