"""A token budget as bytes: the estimate that packing goes by, its measured error, and cutting a text to it."""

from __future__ import annotations

import re

CHARS_PER_TOKEN = 4
"""Waypoint's seed says 8,000 characters as 2,000 tokens; nothing else goes by it."""

BYTES_PER_TOKEN = 2.5
"""UTF-8 bytes that count as a token: nearly every text has more bytes a token, so that it takes less than its estimate.

Measured on 26,655 chunks of documentation and prose in 16 languages (ADR 15). Qwen counts more tokens than estimated
in .5 % of them, GPT-4o in .2 %, GPT-4 in 1.3 %. The estimate of the median chunk is 1.6 times Qwen's count. Of 3,321
contexts of eight chunks the worst has 1.13 times its estimate. Blocks of code alone exceed theirs more often (Qwen:
12 %), and so do texts for models with 32,000 tokens (Mixtral: 14 %; the worst context has 1.26 times its estimate).
Digits and random letters come to about 2.5 times their estimate, and hardly anything to more: a token is a byte at
least in nearly every vocabulary."""


def budget_bytes(tokens: int) -> int:
    """How many bytes of UTF-8 a budget of ``tokens`` allows."""
    return int(tokens * BYTES_PER_TOKEN)


def encode(text: str) -> bytes:
    """``text`` as UTF-8; a lone surrogate, which JSON can carry, as one byte."""
    return text.encode("utf-8", "replace")


def size(text: str) -> int:
    """Bytes of ``text`` as UTF-8."""
    return len(encode(text))


ELLIPSIS = "..."
"""Says that a text goes on. ASCII, as it is one token in every vocabulary; U+2026 is three in some."""

# Before a line's end; after a sentence and what closes it, before white space; after one of a script without spaces.
_END = re.compile(r"(?=\n)|(?<=[.!?])[\"'\u201d\u2019)\]]*(?=\s)|[\u3002\uff01\uff1f]")
_WORD_END = re.compile(r"(?<=\S)(?=\s)")
_CHARACTER = re.compile(".", re.DOTALL)


def cut_to(text: str, max_bytes: int, *, anywhere: bool = False) -> str:
    """``text`` if it fits, else its longest beginning of whole sentences or lines that does, with an ellipsis.

    Args:
        text: what is to be cut.
        max_bytes: UTF-8 bytes that the result may have, its ellipsis included.
        anywhere: where no sentence or line fits, cut at a word, and where no word does, at a character.

    Returns:
        At most ``max_bytes`` bytes; ``""`` when nothing fits.
    """
    encoded = encode(text)
    if len(encoded) <= max_bytes:
        return text
    more = f" {ELLIPSIS}"
    longest = len(encoded[: max(0, max_bytes - size(more))].decode("utf-8", "ignore"))
    for end in (_END, _WORD_END, _CHARACTER) if anywhere else (_END,):
        last = max((match.end() for match in end.finditer(text) if match.end() <= longest), default=0)
        if beginning := text[:last].rstrip():
            return beginning + more
    return ""
