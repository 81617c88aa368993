"""Does an answer say that it has no answer?"""

from __future__ import annotations

import re

# Models reword the sentence that the prompt gives them; these are the wordings seen in practice. Only the
# opening counts: an answer that goes on to help ("I don't know the fee, but ...") may still refuse a part.
_REFUSAL = re.compile(
    r"""^\W*+
    (?:(?:i['’]?m\ sorry|sorry|unfortunately|apologies
      |based\ on\ the\ (?:provided\ )?(?:context|documentation|sources|knowledge\ base))\W++(?:but\W++)?)?
    (?:i\ (?:do\ not|don['’]t)\ (?:know|have\ (?:any\ |enough\ |specific\ |sufficient\ )*information)
      |i\ (?:cannot|can['’]t|could\ not|couldn['’]t)\ (?:answer|find|provide)
      |i(?:\ am|['’]m)\ (?:unable|not\ able)\ to\ (?:answer|find|provide)
      |(?:the|this)\ (?:provided\ )?(?:context|documentation|information|sources?|snippets?|knowledge\ base)
       \ (?:provided\ )?
       (?:do(?:es)?\ not|do(?:es)?n['’]t)\ (?:contain|include|mention|provide|answer|cover)
      |there\ is\ no\ (?:specific\ )?information)""",
    re.IGNORECASE | re.VERBOSE,
)

_HEDGE = re.compile(
    r"""\b(?:may(?!\ \d)|might|perhaps|possibly|probably|presumably
    |i\ (?:think|believe|guess|assume)|not\ (?:entirely\ )?(?:sure|certain|clear)
    |unclear|it\ (?:seems|appears)|could\ be|as\ far\ as\ i\ know)\b""",
    re.IGNORECASE | re.VERBOSE,
)


def count_hedges(answer: str) -> int:
    """How many hedging words ("might", "not sure" ...) ``answer`` holds; a date in May is none."""
    return sum(1 for _ in _HEDGE.finditer(answer))


def is_refusal(answer: str) -> bool:
    """True when ``answer`` opens by saying that it does not know or that the context does not say."""
    return _REFUSAL.match(answer) is not None
