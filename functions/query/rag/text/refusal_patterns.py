"""What a clause that refuses looks like, over the word classes of ``rag.text.refusal_words``.

``S`` stands for the sources, ``P`` for a paper that may be one, the other words in capitals for their classes; ``\\S+``
is any word. Each pattern is matched from the start of a clause.
"""

from __future__ import annotations

import re


def _table(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


# --- the parts of a refusal

_VERB = r"(?:SAY|TELL|HOLD|HAVE|MENTION|go into|touch on)\b"
_DONE = r"(?:SAID|HELD|GIVEN|MENTION|determined|confirmed|verified|located|clear|known)\b"
_INFO = r"(?:DET )?(?:\S+ )?(?:INFO|MENTION)\b"
_QUESTION = r"(?:questions?|topic|query|subject)\b"
_ASKED = rf"DET (?:\S+ )?(?:INFO|MENTION|{_QUESTION})(?: (?:to|about|on|for)(?: \S+){{1,8}}?)?"
_SUBJECT = r"(?!IF\b)\S+ (?:(?!ASKING\b|IF\b|,)\S+ ){0,15}?"
_IN = r"(?:in|by|within|from|on|among|under|of|based on|with|using)"
_IN_S = rf"(?: {_IN}(?: \S+ (?:in|of|from|by))? S\b)"
_NO = r"(?:there BE (?:no|not)|no) (?:\S+ )?"
_TOPIC = (
    r"(?: or MENTION)?(?: BE)?(?: (?:HELD|GIVEN|SAID|made))?"
    r"(?:$| ,| S\b| (?:about|on|of|regarding|concerning|related|relating|as to|here|for|ASKING)\b"
    r"| (?:in|within|from) [SP]\b| to DET(?: question)?(?:$| in S\b)"
    r"| (?:to|that) (?:MENTION|SAY|TELL|HOLD|determine|support)\b)"
)
# "There is no mention of your name in the shared report" is a fact about the report.
_NOWHERE_ELSE = r"(?!.* in (?![SP]\b|PAPER\b|(?:DET|it)$))"

REFUSES = _table(
    # The documentation (for the API) does not say how. This page does not mention it. The text has no details.
    rf"S(?: (?:from|of|for|in|on|about)(?: \S+){{1,5}}?)? (?:DO|HAVE|CAN|would|will) not {_VERB}",
    rf"P (?:DO|CAN) not (?:(?:SAY|TELL|MENTION)\b|(?:HOLD|HAVE) (?:DET(?:$| {_QUESTION})|{_INFO}))",
    rf"[SP] (?:(?:HOLD|HAVE|make|makes) )?no {_INFO}",
    rf"[SP] (?:BE silent|BE (?:not |un)clear|(?:TELL|HOLD|HAVE) nothing|not {_VERB}|fails? to {_VERB})",
    rf"(?:none of|nothing in|neither of|no part of|no) (?:S|SOURCE|PAPER) (?:BE )?{_VERB}",
    # (There is) no information about it. There is no mention of it. There is nothing about it.
    rf"{_NO}INFO{_TOPIC}",
    rf"{_NO}MENTION{_TOPIC}{_NOWHERE_ELSE}",
    r"there BE nothing (?:about|on|regarding|in S)\b",
    r"no (?:\S+ ){1,4}?SAID in [SP]",
    # GPS is not mentioned in the documentation. This is not specified. Not found. It is outside the scope.
    rf"{_SUBJECT}(?:BE|HAVE BE) not(?: BE)?(?: {_DONE})?{_IN_S}",
    rf"{_SUBJECT}CAN not BE {_DONE}{_IN_S}",
    rf"{_SUBJECT}BE (?:missing|absent) from (?:S\b|P$)",
    rf"{_SUBJECT}BE not SAID$",
    rf"(?:{_SUBJECT}BE not (?:BE )?(?:SAID|GIVEN)|{_ASKED} BE not (?:BE )?{_DONE}) (?:in|by|within|from|on) P(?:$| ,)",
    rf"{_ASKED} (?:BE|CAN) not (?:BE )?{_DONE}$|(?:DET|it) CAN not BE {_DONE}$",
    rf"not {_DONE}(?:$|{_IN_S}$)",
    rf"{_SUBJECT}BE (?:not related|unrelated|not relevant) to S\b",
    rf"{_SUBJECT}(?:BE|falls?|goes) (?:outside|beyond|out of|not within)(?: of)? (?:DET )?(?:scope|S)\b",
    # I don't know. We have no information. I couldn't find it. I'm not sure. I can only answer questions about ...
    r"i DO not know\b|DO not know$|not sure$|no idea$|n/a$|DET INFO BE limited",
    rf"(?:i|we) (?:DO not HAVE|(?:HAVE )?no) (?:{_INFO}|S\b)",
    r"i (?:DO not HAVE|(?:HAVE )?no) (?:DET )?(?:access|idea|way|PAPER|evidence)\b",
    rf"i DO not (?:think|believe) (?:S\b|{_SUBJECT}BE {_DONE}{_IN_S})",
    rf"i (?:CAN|DO) not FIND\b|we CAN not FIND\b|we DO not FIND {_INFO}",
    r"i HAVE not HELD|i (?:(?:HAVE )?HELD|FIND) (?:no|nothing)",
    r"i CAN not (?:MENTION|TELL|SAY|HOLD|determine|verify|help|assist|respond|comment|advise|share)\b",
    r"we CAN not (?:MENTION|determine)\b",
    r"i CAN only (?:MENTION|HOLD|help|assist|respond)\b",
    r"i BE (?:not sure|not certain|not aware|not familiar|unsure|uncertain|unaware|unfamiliar)\b",
    # It is not possible to tell. It is unclear from the MD. Unknown. That is not something I can answer.
    r"it BE (?:not possible|impossible) (?:for me )?to (?:TELL|know|determine|MENTION)"
    r"(?:$| (?:DET|it|from|based|with|ASKING)\b)",
    rf"it BE (?:not clear|unclear|unknown|uncertain)(?:$|{_IN_S})",
    rf"(?:(?:{_ASKED}|DET) BE )?(?:unknown|unanswerable|unclear)(?:$|{_IN_S}$)",
    r"(?:DET|it) BE not something (?:i|we|S)\b",
)

REFUSES_TOO = re.compile(rf"(?:it|they) (?:DO|CAN) not (?:(?:SAY|TELL|MENTION)\b|(?:HOLD|HAVE) (?:DET$|{_INFO}))")
"""Refuses where "it" and "they" are the sources: after a clause about those."""

# --- what may stand before and beside it

OPENS = _table(
    # Unfortunately, ... I'm sorry, but ... It seems that ...
    r"(?:unfortunately|regrettably|honestly|to BE honest|however|therefore|thus|hence|currently|overall|strictly|well"
    r"|in short|so|and|or|but|hello|hi|sorry(?: (?:about|for) (?:DET|it))?|i BE (?:\S+ )?(?:sorry|afraid)"
    r"|(?:i )?apologi[sz]e|(?:my|DET) apologies|(?:please )?note|(?:it|DET) (?:seems|appears)|it looks like|i must TELL"
    r"|that SAID|at DET time|as of now)(?: for DET inconvenience)?(?: ,)?(?: but)?"
    r"(?: (?:that|DET(?= (?:i|we|S|P|DET|INFO|there)\b)))?(?: ,)? ",
    # Based on the MD ... As an AI, ... I have looked through the documents, but ...
    r"(?:(?:based )?(?:up)?on|according to|from|in|within|given|GIVEN|(?:as )?per|judging from|looking at) S(?: ,)? ",
    r"(?:based (?:up)?on|according to|after|regarding|as for|about|concerning|with regards? to|from ASKING i|HAVE|GIVEN"
    r"|as ai|i (?:HAVE )?[a-z]+ed|to MENTION)(?: (?!,)\S+){0,14} , (?:(?:but|and|that) )?",
)

CONCEDES = re.compile(r"(?:while|although|though|even though|whereas|since|because|as) ((?:(?!, )\S+ )+), ")
"""While X, Y."""

_REFER = r"(?:contact|ask|consult|reach|rephras|try rephras)(?:e|ing)?\b"
_ELSEWHERE = r"(?:support|administrators?|admins?|team|specialists?|experts?|official|website|vendor|manager)\b"
_ADVICE = r"(?:(?:you|it) (?:CAN|should|would)(?: \S+){0,4}? |i (?:would )?(?:recommend|suggest|advise) (?:\S+ )?)"

COURTEOUS = _table(
    r"thank|thanks|hello|hi\b|sorry|i BE (?:\S+ )?sorry|(?:i )?apologi[sz]e|(?:my|DET) apologies|let me know|feel free",
    r"i hope|i (?:would|will|'ll) be (?:\S+ )?(?:happy|glad)|i CAN help|BE there INFO else|DO you HAVE another",
    r"(?:CAN|would|will) you (?:\S+ )?(?:HOLD|MENTION|share|clarify|rephrase|SAY|TELL|like)",
    rf"please (?:\S+ )?(?:{_REFER}|(?:check|refer|clarify|HOLD|share|SAY|TELL|let|try|visit|feel)\b)",
    r"IF you (?:HAVE|need|CAN|would|want|HOLD|share|let)\b",
    rf"{_ADVICE}?{_REFER}",
    rf"{_ADVICE}?(?:check|FIND|visit|refer|look)(?:ing)?\b.* {_ELSEWHERE}",
    rf"for (?:\S+ ){{1,4}}?(?:, )?(?:please|visit|{_REFER})",
    r"i (?:HAVE )?(?:looked|checked|searched|reviewed|read|examined|consulted|went) ",
)

SOURCES = _table(
    r"S\b",
    r"DET closest\b|DET only (?:INFO|MENTION|topic)\b",
    r"(?:it|they|DET) (?:DO )?(?:only )?(?:SAY|TELL|MENTION|focus|focuses)\b",
)
"""Says what the sources are about: no answer, unless it is cited."""

LABELS = frozenset(
    {"a", "answer", "final answer", "short answer", "response", "reply", "assistant", "result", "conclusion"}
    | {"source", "sources", "reference", "references", "citation", "citations"}
)
"""What stands before a colon or above the answer."""
