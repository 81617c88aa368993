"""Splits a text into the pieces that Qwen's byte-pair encoding works on; no token crosses their borders."""

from __future__ import annotations

import re
from functools import cache

# The pattern of Qwen 1 to 3, published with their tokenizers, is
#   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
# `re` has neither \p{L} nor \p{N}, and its \s takes in U+001C to U+001F. Its \w is letters, numbers and "_", its \d the
# decimal digits; what is missing are the other numbers, categories Nl and No, listed here as of Unicode 16.
_OTHER_NUMBERS = (
    r"\xb2\xb3\xb9\xbc-\xbe\u09f4-\u09f9\u0b72-\u0b77\u0bf0-\u0bf2\u0c78-\u0c7e\u0d58-\u0d5e\u0d70-\u0d78"
    r"\u0f2a-\u0f33\u1369-\u137c\u16ee-\u16f0\u17f0-\u17f9\u19da\u2070\u2074-\u2079\u2080-\u2089\u2150-\u2182"
    r"\u2185-\u2189\u2460-\u249b\u24ea-\u24ff\u2776-\u2793\u2cfd\u3007\u3021-\u3029\u3038-\u303a\u3192-\u3195"
    r"\u3220-\u3229\u3248-\u324f\u3251-\u325f\u3280-\u3289\u32b1-\u32bf\ua6e6-\ua6ef\ua830-\ua835"
    r"\U00010107-\U00010133\U00010140-\U00010178\U0001018a\U0001018b\U000102e1-\U000102fb\U00010320-\U00010323"
    r"\U00010341\U0001034a\U000103d1-\U000103d5\U00010858-\U0001085f\U00010879-\U0001087f\U000108a7-\U000108af"
    r"\U000108fb-\U000108ff\U00010916-\U0001091b\U000109bc\U000109bd\U000109c0-\U000109cf\U000109d2-\U000109ff"
    r"\U00010a40-\U00010a48\U00010a7d\U00010a7e\U00010a9d-\U00010a9f\U00010aeb-\U00010aef\U00010b58-\U00010b5f"
    r"\U00010b78-\U00010b7f\U00010ba9-\U00010baf\U00010cfa-\U00010cff\U00010e60-\U00010e7e\U00010f1d-\U00010f26"
    r"\U00010f51-\U00010f54\U00010fc5-\U00010fcb\U00011052-\U00011065\U000111e1-\U000111f4\U0001173a\U0001173b"
    r"\U000118ea-\U000118f2\U00011c5a-\U00011c6c\U00011fc0-\U00011fd4\U00012400-\U0001246e\U00016b5b-\U00016b61"
    r"\U00016e80-\U00016e96\U0001d2c0-\U0001d2d3\U0001d2e0-\U0001d2f3\U0001d360-\U0001d378\U0001e8c7-\U0001e8cf"
    r"\U0001ec71-\U0001ecab\U0001ecad-\U0001ecaf\U0001ecb1-\U0001ecb4\U0001ed01-\U0001ed2d\U0001ed2f-\U0001ed3d"
    r"\U0001f100-\U0001f10c"
)
_LETTER = rf"[^\W\d_{_OTHER_NUMBERS}]"
_NUMBER = rf"[\d{_OTHER_NUMBERS}]"
_SPACE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_PIECE = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
    rf"|(?:[^\r\n\w]|_)?{_LETTER}+"
    rf"|{_NUMBER}"
    rf"| ?(?:[^\w{_SPACE}]|_)+[\r\n]*"
    rf"|[{_SPACE}]*[\r\n]+"
    rf"|[{_SPACE}]+(?![^{_SPACE}])"
    rf"|[{_SPACE}]+"
)


def split_pieces(text: str) -> list[str]:
    """The pieces of ``text`` in order; joined they are ``text`` again."""
    return _compiled().findall(text)


@cache
def _compiled() -> re.Pattern[str]:
    # On first use: compiling takes a few milliseconds, and a question that no model answers counts nothing.
    return re.compile(_PIECE)
