"""The rules of ``rag.stages.cache.same_question``: which words and wordings cannot change a question's answer.

Each rule is a claim that two wordings always ask for the same. "Can" and "must" never do, nor do "should" and "must",
"when" and "what time", "could" and "can" but for "could I".
"""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARTICLES = _words("a an the")
COURTESY = _words("please kindly hello hi hey thanks really actually")
LETTERED = _words(
    "annex appendix block building category class exhibit flight form gate grade group hepatitis hall influenza level "
    "line option part permit plan platform room schedule section tier type unit version vitamin zone"
)
"""What an "a" behind it is the name of."""

CONTRACTIONS = tuple(
    (re.compile(pattern), full)
    for pattern, full in (
        (r"\bcan't\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"\bshan't\b", "shall not"),
        (r"\b(do|does|did|is|are|was|were|has|have|had|could|would|should|must|might|need)n't\b", r"\1 not"),
        (r"\b(what|who|where|when|why|how|it|that|there|here|he|she)'s\b", r"\1 is"),
        (r"'re\b", " are"),
        (r"'m\b", " am"),
        (r"'ve\b", " have"),
        (r"'ll\b", " will"),
        (r"'d\b", " would"),
        (r"'s\b", ""),  # "the grant's deadline"
    )
)

FORMS = {"am": "is", "are": "is", "were": "was", "does": "do", "has": "have", "which": "what", "whom": "who"}

_COURTEOUSLY = "(?:(?:please|kindly|hello|hi|hey) )*"
_AUX = "(can|do|did|is|was|have|had|will|would|could|should|must|might)"
_PRONOUN = "(i|we|you|he|she|it|they)"
_REFERS = "(?:a|an|the|this|that|these|those|my|your|our|his|her|its|their|i|we|you|he|she|it|they|no)"
_ATTRIBUTE = "(amount|cost|date|deadline|duration|fee|length|limit|price|purpose|rate|size|time|value|weight)s?"

WORDINGS = tuple(
    (re.compile(pattern), one)
    for pattern, one in (
        (rf"^{_COURTEOUSLY}(?:(?:can|could|would) you )?{_COURTEOUSLY}tell me (?=wh|how|if)", ""),
        (r"\bcannot\b", "can not"),
        (r"\be (?:sign45 )?mail(s?)\b", r"email\1"),  # "e-mail": normalise spells the hyphen
        (r"\b(?:u s a|u s|usa|united states of america|united states)\b", "name_us"),
        (r"\b(?:u k|united kingdom)\b", "uk"),
        (r"\ba (few|little)\b", r"a_\1"),  # not "few"
        (rf"\b{_AUX} not {_PRONOUN}\b", r"\1 \2 not"),
        (r"\bmay (?=(?:i|we|you|he|she|it|they)\b)", "can "),
        (r"^could (?=(?:i|we)\b)", "can "),
        (r"\bis (i|we) (?:allowed|permitted) to\b", r"can \1"),
        (r"\bis it possible (?:for me )?to\b", "can i"),
        (rf"\bdo {_PRONOUN} (?:have|need) to (?!offer\b|say\b|show\b)", r"must \1 "),
        (r"\bwhat (?:can|could) i do to\b", "how to"),
        (r"\bwhat is (?:the|a) way to\b", "how to"),
        (r"\b(?:in )?what ways? (?=can|could|do\b|is\b)", "how "),
        (r"\bhow (?:do|can|could) i\b", "how to"),
        (r"\bhow (?:can|could) (we|you|they|people)\b", r"how do \1"),
        (r"\bhow should (i|we|you|they) act\b", r"what should \1 do"),
        (r"\bwhere (?:can|could) i\b", "where do i"),
        (rf"^what do (?!{_REFERS}\b)(\w+(?: \w+){{0,7}}) mean$", r"what is \1"),  # not of a fever, or of this
        (r"^what (?:can|do) i understand by (.+)$", r"what is \1"),
        (r"^what is meant by (.+)$", r"what is \1"),
        (rf"^what is (?:the )?{_ATTRIBUTE} of (.+)$", r"what is \2 \1"),
        (r"^what (?:people|person|population group|group of people) (?=is\b|do\b|can\b|must\b|should\b)", "who "),
    )
)  # fmt: skip
"""Wordings of one question, over normalised text in which ``FORMS`` are applied, tried in this order."""

_COUNTED = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
)
_ORDINALS = {"first": "1st", "second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th"}
NUMBERS = {name: str(value) for value, name in enumerate(_COUNTED.split())} | _ORDINALS

SYNONYMS = {
    word: group[0]
    for group in (
        ("begin", "start"), ("buy", "purchase"), ("cost", "price"), ("delete", "erase"), ("repair", "fix"),
        ("help", "assist"), ("photo", "picture"), ("phone", "telephone"), ("child", "children", "kid"),
        ("man", "men"), ("woman", "women"), ("person", "people"), ("new", "novel"), ("serious", "severe"),
        ("quick", "fast"), ("happen", "occur"),
    )
    for word in group
}  # fmt: skip

MIN_PLURAL = 4
"""Letters of the shortest word that loses an s: "fees" is one, "its" is not."""
ENDINGS = (
    ("ies", "y"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x"), ("ss", "ss"), ("us", "us"),
    ("is", "is"), ("s", ""),
)  # fmt: skip
"""Tried in this order; an ending that is its own replacement protects the word."""
NO_PLURALS = _words(
    "arms contents customs damages funds glasses goods hers leaves means minutes news odds ours papers premises "
    "quarters rights savings securities spirits statistics terms theirs works yours"
)
"""They mean something else than without their s."""

COMMON = (
    ARTICLES | COURTESY | FORMS.keys() | NUMBERS.keys() | SYNONYMS.keys() | set(FORMS.values())
    | _words("i we us you he him she her it they them me my his its our and or not no if in on at to of by as for from "
             "what who when where why how can may might will shall could would should must need have had did was")
)  # fmt: skip
"""Words that capitals may turn into names."""
