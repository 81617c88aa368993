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
_DONE = r"(?:SAID|HELD|FOUND|GIVEN|MENTION|determined|confirmed|verified|clear|known)\b"
_INFO = r"(?:DET )?(?:\S+ )?(?:INFO|MENTION)\b"
_ABOUT = r"(?:about|on|of|for|regarding|concerning)\b"
_OF_IT = rf"(?:$| {_ABOUT}| to\b| ASKING\b)"
_QUESTION = r"(?:questions?|topic|query|subject)\b"
_ASKED = rf"DET (?:\S+ )?(?:INFO|MENTION|{_QUESTION})(?: (?:to|about|on|for)(?: \S+){{1,8}}?)?"
_SUBJECT = r"(?!IF\b)\S+ (?:(?!ASKING\b|IF\b|,)\S+ ){0,15}?"
_IN = r"(?:in|by|within|from|on|among|under|of|based on|with|using)"
_IN_S = rf"(?: {_IN}(?: \S+ (?:in|of|from|by))? S\b)"
_SPEAK = r"(?:SAY|TELL|MENTION)\b"
_SPEAK_OF_IT = rf"(?:{_SPEAK}|(?:HOLD|HAVE) (?:(?:DET|it)$|{_INFO}))"
_FAILS = r"(?:FIND|MENTION|SAY|TELL|determine|verify)\b"
# "No information about members is shared" is a fact.
_NO_MORE = (
    r"(?!(?:(?!ASKING\b|that\b)\S+ )+?BE "
    r"(?!SAID|HELD|FOUND|made|possible|in S\b|GIVEN(?:$| (?:about|on|in|for|here)\b)))"
)
_NO = rf"(?:there BE (?:no|not)|{_NO_MORE}no) (?:\S+ )?"
_TOPIC = (
    r"(?: or MENTION)?(?: BE)?(?: (?:HELD|FOUND|GIVEN|SAID|made))?"
    r"(?:$| ,| S\b| (?:about|on|of|regarding|concerning|related|relating|as to|here|for|ASKING)\b"
    r"| (?:in|within|from) [SP]\b| to DET(?: question)?(?:$| in S\b)"
    r"| (?:to|that) (?:MENTION|SAY|TELL|HOLD|determine|support)\b)"
)
# "There is no mention of your name in the shared report" is a fact about the report.
_NOWHERE_ELSE = r"(?:(?=.* in S\b)|(?!.* in (?!P\b|(?:DET|it)$)))"
_BEYOND = r"(?:outside|beyond|out of|not within)(?: of)?"
_OWN_SCOPE = r"(?:(?:DET )?scope(?:$| ,| (?:of|for) (?:ASKING )?S\b)|(?:ASKING )?S\b|DET INFO$)"
_NOT_POSSIBLE = r"it BE (?:not possible|impossible) (?:for me )?to (?:TELL|know|determine|MENTION)"

REFUSES = _table(
    # The documentation (for the API) does not say how. This page does not mention it. The text has no details.
    rf"S(?: (?:from|of|for|in|on|about)(?: \S+){{1,5}}?)? (?:DO|HAVE|CAN|would|will) not {_VERB}",
    rf"P (?:DO|CAN) not (?:{_SPEAK}|(?:HOLD|HAVE) (?:DET(?:$| {_QUESTION})|{_INFO}{_OF_IT}))",
    rf"S (?:(?:HOLD|HAVE|make|makes) )?no {_INFO}|P (?:(?:HOLD|HAVE|makes?) )?no {_INFO}{_OF_IT}",
    rf"[SP] (?:BE silent|BE (?:not |un)clear|not {_VERB}|fails? to {_VERB})",
    r"[SP] (?:(?:TELL|HOLD|HAVE|MENTION) )?(?:nothing|neither)\b",
    rf"(?:none of|nothing in|neither(?: of)?|no part of|no) (?:S|SOURCE|PAPER) (?:BE )?{_VERB}",
    r"(?:none of|neither(?: of)?|no) S BE$",  # relevant
    # (There is) no information about it. There is no mention of it. There is nothing about it. No relevant snippets.
    rf"{_NO}(?:INFO|MENTION|S){_TOPIC}{_NOWHERE_ELSE}",
    r"there BE nothing (?:(?:here|SAID|HELD|FOUND|GIVEN) )?(?:about|on|regarding|in S)\b",
    rf"nothing(?: {_ABOUT}(?: \S+){{1,6}}?)?(?: BE)?(?: (?:SAID|HELD|FOUND|GIVEN))? in S$",
    r"no (?:\S+ ){1,4}?SAID in [SP]",
    # GPS is not mentioned in the documentation. This is not specified. Not found. It is outside the scope.
    rf"{_SUBJECT}(?:BE|HAVE BE) not(?: BE)?(?: {_DONE})?{_IN_S}",
    rf"(?:{_SUBJECT})?CAN not BE {_DONE}{_IN_S}",
    rf"{_SUBJECT}BE (?:missing|absent) from (?:S\b|P$)",
    rf"{_SUBJECT}BE not SAID$",
    rf"(?:{_SUBJECT}BE not (?:BE )?(?:SAID|GIVEN)|{_ASKED} BE not (?:BE )?{_DONE}) (?:in|by|within|from|on) P(?:$| ,)",
    rf"{_ASKED} (?:(?:BE|CAN) not (?:BE )?{_DONE}|BE unavailable)$|(?:DET|it) CAN not BE {_DONE}$",
    rf"not {_DONE}$|not(?: {_DONE}| part)?{_IN_S}$",
    rf"{_SUBJECT}BE (?:not related|unrelated|not relevant) to S\b",
    rf"{_SUBJECT}(?:BE|falls?|goes) {_BEYOND} {_OWN_SCOPE}",
    rf"{_BEYOND} (?:(?:DET )?scope(?: (?:of|for) (?:ASKING )?S)?|(?:ASKING )?S|DET INFO)$",
    # I don't know. We have no information. I couldn't find it. I'm not sure. I can only answer questions about ...
    r"i DO not know\b|DO not know$|not sure$|no (?:idea|clue)$|n/a$|DET INFO BE limited",
    rf"we (?:DO not know|BE (?:not sure|unsure))(?:$| DET$|{_IN_S})",
    rf"(?:i|we) (?:DO not HAVE|(?:HAVE )?no) (?:{_INFO}|S\b)",
    r"i (?:DO not HAVE|(?:HAVE )?no) (?:DET )?(?:access|idea|way|PAPER|evidence)\b",
    rf"i DO not (?:think|believe) (?:S\b|{_SUBJECT}BE {_DONE}{_IN_S})",
    rf"i (?:CAN|DO) not FIND\b|we CAN not FIND\b|we DO not FIND {_INFO}",
    r"i HAVE not (?:HELD|FOUND)|i (?:(?:HAVE )?(?:HELD|FOUND)|FIND|HAVE) (?:no|nothing)\b",
    r"i CAN not (?:MENTION|TELL|SAY|HOLD|determine|verify|help|assist|respond|comment|advise|share)\b",
    r"we CAN not (?:MENTION|determine)\b",
    r"i CAN only (?:MENTION|HOLD|help|assist|respond)\b",
    r"i BE (?:not sure|not certain|not aware|not familiar|unsure|uncertain|unaware|unfamiliar)\b",
    # Couldn't find it in the docs.
    rf"(?:(?:CAN|HAVE) not (?:{_FAILS}|FOUND)|DO not FIND)(?: \S+){{0,15}}?{_IN_S}",
    # It is not possible to tell. It is unclear from the MD. Unknown. That is not something I can answer.
    rf"{_NOT_POSSIBLE}(?:$| (?:DET|it)(?: (?:INFO|MENTION|question))?$|.*{_IN_S})",
    rf"it BE (?:not clear|unclear|unknown|uncertain)(?:$|{_IN_S})",
    rf"(?:(?:{_ASKED}|DET) BE )?(?:unknown|unanswerable|unclear)(?:$|{_IN_S}$)",
    r"(?:DET|it) BE not something (?:i|we|S)\b",
)

UNDECIDED = re.compile(rf"{_NOT_POSSIBLE} (?:DET|it|from|based|with|ASKING|IF)\b(?!.* IF\b)")
"""Refuses unless it is cited by itself: "it is not possible to determine the location [id_3]" is of the product."""

REFUSES_UNCITED = _table(
    rf"{_NO}INFO{_TOPIC}",
    # No results. Nothing found. Details about GPS are not available. This is outside the scope of the question.
    rf"no (?:\S+ )?(?:results?|matches)(?:$| {_ABOUT})",
    rf"no (?:\S+ )?(?:results?|match|matches|PAPER) (?:BE )?FOUND(?:$| {_ABOUT})",
    rf"nothing(?: (?:about|on|regarding)(?: \S+){{1,6}}?)? (?:BE )?(?:SAID|FOUND)(?:$| {_ABOUT})",
    rf"(?:INFO|MENTION)(?: {_ABOUT}(?: \S+){{1,8}}?)? (?:(?:BE |CAN )?not (?:BE )?{_DONE}|BE (?:missing|unavailable))$",
    rf"{_SUBJECT}(?:BE|falls?|goes) {_BEYOND} (?:DET )?scope\b",
    r"we (?:DO not know|BE (?:not sure|unsure)) (?:(?:ASKING|IF) (?:DET|it)|DET MENTION)\b",
    # Couldn't find any information. Unable to answer this question. Cannot be determined.
    rf"(?:(?:CAN|DO) not FIND|HAVE not FOUND|DO not HAVE|FOUND no) (?:DET$|it$|{_INFO}{_OF_IT})",
    rf"FOUND nothing(?:$| {_ABOUT})|CAN not (?:help|assist)(?:$| with DET)",
    rf"CAN not (?:{_FAILS}|help|assist)(?: (?:DET|it))?(?: {_QUESTION})?$",
    r"CAN not BE (?:SAID|FOUND|determined|confirmed|verified|known)$|(?:undocumented|unspecified|undetermined)$",
)
"""Refuses unless it is cited: then it tells of what the documentation is about."""

REFUSES_TOO = _table(
    rf"(?:(?:it|they) (?:DO|CAN)|DO) not {_SPEAK_OF_IT}",
    rf"(?:neither|none)(?: of (?:DET(?: two)?|them))? (?:DO )?{_SPEAK_OF_IT}",
)
"""Refuses where "it", "they", "neither" or nothing names the sources: after a clause about those."""

# --- what may stand before and beside it

OPENS = _table(
    # No, the documentation doesn't mention that: no to the question only where the sources say so.
    r"no , (?=(?:i|we|there BE) |.*\bS\b)",
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
    r"no (?:\S+ )?(?:PAPER|S|MENTION|citations?)(?: BE)?(?: (?:cited|used|needed|applicable|HELD|FOUND|GIVEN))?$",
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

TOPICS = re.compile(
    r"(?:the )?cited snippets (?:(?:both|all|only) )*(?:discuss|cover|describe|address|concern|focus|deal|relate|talk"
    r"|is(?: only)? (?:about|related)|are(?: only)? (?:about|related))(?:e?s)?\b(?!.*(?:\bthat\b|\d))"
)
"""Says what sources named by their marks are about, over the words of the clause."""

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

FOOTER = re.compile(
    r"(?:(?:cited|used|relevant) )?(?:sources?|references?|citations?|snippets?|documents?)"
    r"(?: (?:used|cited|consulted))?"
)
"""What names the sources below an answer."""

NO_SOURCES = re.compile(
    r"(?:none|nil|null|n/?a|-|0|not applicable|not available)(?: (?:found|used|cited|available|applicable|needed))?"
)
"""What such a footer holds where there are none."""
