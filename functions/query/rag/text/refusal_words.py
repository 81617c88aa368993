"""The words that ``rag.text.refusal`` knows, and how a clause is read into classes of them."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CLASSES = {
    # What an answer is written from, whatever stands beside the word.
    "SOURCE": "documentation documentations doc docs md markdown snippet snippets excerpt excerpts passage passages "
    "context contexts kb faq faqs",
    # What it may be written from, and what it may just as well be about.
    "PAPER": "document documents text texts source sources page pages article articles guide guides manual manuals "
    "material materials content contents section sections resource resources file files data",
    "GIVEN": "available provided given supplied retrieved shared uploaded attached above",
    "INFO": "information info detail details instruction instructions guidance explanation anything specifics "
    "knowledge description insight insights",
    "MENTION": "mention mentions answer answers reference references",
    "TELL": "say says tell tells",
    "SAY": "specify specifies state states describe describes discuss discusses explain explains address addresses "
    "indicate indicates clarify clarifies define defines refer refers reveal reveals disclose discloses elaborate "
    "outline outlines talk talks name names confirm confirms",
    "HOLD": "contain contains include includes cover covers provide provides offer offers hold holds give gives show "
    "shows supply supplies list lists",
    "HAVE": "have has had having",
    "SAID": "mentioned specified stated described discussed explained addressed answered documented defined detailed "
    "outlined indicated clarified disclosed referenced said named",
    "HELD": "covered included contained listed present part shown",
    "FOUND": "found located",
    "FIND": "find locate see identify spot",
    "BE": "is are was were be been being am",
    "DO": "do does did",
    "CAN": "can could may might",
    "DET": "the this that these those my our your all such",
    "IF": "if when whenever where unless once",
    "ASKING": "what how whether which who why",
}
_CLASS = {word: name for name, words in _CLASSES.items() for word in _words(words)}

_SPEAKING = ("MENTION", "TELL", "SAY", "HOLD", "HAVE", "BE", "DO", "CAN")
SPEAKS = frozenset(word for word, name in _CLASS.items() if name in _SPEAKING) | _words(
    "ca both all only also never fail fails lack lacks omit omits make makes focus focuses deal deals relate relates"
)
"""What goes on with a statement about sources, without its n't."""
SOURCE_WORDS = _words(_CLASSES["SOURCE"])
PAPER_WORDS = _words(_CLASSES["PAPER"])

_LEFT_OUT = _words(
    "explicitly directly specifically clearly actually currently really yet even fully further necessarily readily "
    "exactly any both enough sufficient specific relevant explicit direct exact more much detailed additional other "
    "complete full definitive certain precise concrete also just very simply either anywhere quite a an own"
)
"""A refusal is one with and without these: they say how much or how, not what."""

_PHRASES = (
    (r"\bknowledge bases?\b|\bhelp (?:center|centre|articles?)\b|\bsearch results\b|\buser guides?\b", "docs"),
    (r"\b(?:seems?|appears?) to\b|\bat all\b", ""),
    (r"\bcan(?:not|'?t)\b", "can not"),
    (r"\b(do|does|did|is|are|was|were|could|would|has|have|had)n'?t\b", r"\1 not"),
    (r"\b(it|that|this|there|here|what)'s\b", r"\1 is"),
    (r"'m\b", " am"),
    (r"'re\b", " are"),
    (r"'ve\b", " have"),
    (r"'d\b", " would"),
    (r"\bnever\b", "not"),
    (r"\b(?:do|does|did) not +be\b", "is not"),
    (r"\bnot enough\b|\binsufficient\b|\black(?:s|ing)?\b|\bomits?\b", "no"),
    (r"\b(?:(?:(?:am|is|are|was|were) )?(?:not able|unable)|(?:have|has) not been able) to\b", "can not"),
)
_PATTERNS = tuple((re.compile(pattern), by) for pattern, by in _PHRASES)
_TOKEN = re.compile(r"[^\W_]+(?:[-'_/.][^\W_]+)*|,")

# "the provided documentation snippets that I have access to", "the files you have uploaded", "the MD".
_BEFORE = r"(?:(?!(?:of|in|on|from|for|and|or|no|not|nothing|about|only|i|we|you)\b)[a-z\d]\S*|GIVEN|PAPER) "
_AFTER = r" (?:GIVEN|SOURCE|PAPER|i|we|you|HAVE|access|to|me|us|at|hand|BE GIVEN|DET(?= (?:i|we|you)\b))\b"
# "Clockify's help center", and at the start "Clockify documentation".
_OWN = r"[a-z]\S*'s? "
_NAMED = r"(?:^|(?<=, ))(?!(?:while|although|though|whereas|since|because|as|so|neither|none|each|see|with)\b)"
_SOURCE = re.compile(
    rf"(?:\b(?:DET |(?:DET )?{_OWN})(?:{_BEFORE}){{0,3}}?|\b(?:GIVEN )?|{_NAMED}(?P<named>(?:{_BEFORE}){{1,2}}?))"
    rf"SOURCE\b(?:{_AFTER}){{0,8}}"
    r"|\b(?:DET )?GIVEN (?:PAPER|INFO)\b(?: GIVEN\b)?"
    r"|\bDET (?:PAPER|INFO) (?:(?:i|you|we) )?(?:HAVE )?(?:BE )?GIVEN\b"
)
_PAPER = re.compile(r"\bDET (?!(?:of|in|on|and|or)\b)([a-z]\S* |PAPER )?PAPER\b")


def classify(clause: str) -> str:
    """The words of ``clause`` (lower case, plain apostrophes), each known one by its class: "S DO not SAY ASKING to".

    Contractions are written out, adverbs left out; a comma is a word. ``S`` stands for a noun phrase that names what
    the answer was written from, ``P`` for one that may, ``Q`` for one that a word before it makes likelier to be what
    the answer is about: "the PDF file".
    """
    for pattern, by in _PATTERNS:
        clause = pattern.sub(by, clause)
    words = (word for word in _TOKEN.findall(clause) if word not in _LEFT_OUT)
    tags = _SOURCE.sub(lambda found: "Z" if found["named"] else "S", " ".join(_CLASS.get(word, word) for word in words))
    return _PAPER.sub(lambda found: "Q" if found[1] else "P", tags)
