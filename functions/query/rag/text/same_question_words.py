"""The words that ``rag.text.same_question`` knows."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARTICLES = _words("a an the this that these those my your our their his her its")
PREPOSITIONS = _words("of in on at for to from by with about into onto through")
_FUNCTION = _words(
    "i me we us you he him she it they them myself yourself ourselves themselves itself someone anyone somebody "
    "anybody is are am be been being was were do does did done have has had having will would shall can could may "
    "might should must as and there what which who whom whose when where why how if whether please kindly tell know "
    "explain just so also any some need needs needed necessary actually exactly really mean means meant understand "
    "possible hello hi hey thanks thank use used using"
)
IGNORED = ARTICLES | PREPOSITIONS | _FUNCTION
"""Nothing of what is asked about hangs on these alone; question words, duties and directions are compared apart."""

ASKS = {
    "what": "what", "which": "what", "who": "who", "whom": "who", "whose": "whose", "when": "when", "where": "where",
    "why": "why",
}  # fmt: skip
MEASURES = _words("much many long often far old big soon fast large late early high heavy tall wide deep quickly")
YES_NO = _words("is are am was were do does did have has had can could may might will would shall should must need")

TENSES = {"was": "past", "were": "past", "did": "past", "had": "past", "will": "future", "shall": "future"}
DUTIES = {
    "must": "must", "need": "must", "needs": "must", "needed": "must", "should": "must", "necessary": "must",
    "can": "may", "could": "may", "may": "may", "might": "may", "possible": "may",
}  # fmt: skip

CONTRACTED = {"can": "can", "wo": "will", "sha": "shall"}

_COUNTED = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
)
_ORDINALS = {"first": "1st", "second": "2nd", "third": "3rd", "fourth": "4th", "fifth": "5th"}
NUMBERS = {name: str(value) for value, name in enumerate(_COUNTED.split())} | _ORDINALS

PHRASES = tuple(
    (re.compile(rf"\b{pattern}\b"), plain)
    for pattern, plain in (
        (r"cannot", "can not"),
        (r"e-mail", "email"),
        (r"what (?:can|could|should|must|do|shall) (i|we|you|they|people) do to", r"how can \1"),
        (r"what can be done to", "how can people"),
        (r"(?:in )?(?:what|which) ways? (?=can|could|do|does|is|are)", "how "),
        (r"what (?:is|are) the (?:best )?ways? (?:to|of|for)", "how to"),
        (r"what time|(?:on |by )?(?:what|which) (?:date|day)", "when"),
        (r"(?:at |in )?(?:what|which) place", "where"),
        (r"for what reason|how come|what is the reason", "why"),
        (r"(?:do|does) (i|we|you|they|he|she|it) have to", r"must \1"),
        (r"(?:am|is|are) (i|we|you|they|he|she|it) (?:allowed|permitted|able) to", r"can \1"),
        (r"is it possible (?:for me |for us )?to", "can i"),
    )
)
"""Wordings of one question; each pattern matches a few words in a row and scans no further."""

SYNONYMS = {
    word: group[0]
    for group in (
        ("begin", "start", "begins", "starts", "began", "started"),
        ("buy", "purchase"), ("cost", "price", "costs", "prices"), ("delete", "erase"), ("repair", "fix"),
        ("help", "assist", "assistance"), ("photo", "picture", "photos", "pictures"), ("phone", "telephone"),
        ("email", "mail"), ("different", "differ", "differs", "difference", "differences"),
        ("child", "children", "kid", "kids"), ("man", "men"), ("woman", "women"), ("person", "people", "persons"),
        ("new", "novel"), ("serious", "severe"), ("quick", "fast"), ("happen", "occur"), ("treat", "treatment"),
        ("document", "paper", "papers"), ("pay", "payment", "paid", "pays"),
        ("send", "sent"), ("give", "gave", "given"), ("go", "goes", "went", "gone"), ("say", "said", "says"),
        ("write", "wrote", "written"), ("find", "found"), ("make", "made"), ("take", "took", "taken"),
        ("wear", "wore", "worn"), ("acronymus", "usa", "u.s"), ("uk", "u.k"),
        ("goods",), ("customs",), ("news",),
    )
    for word in group
}  # fmt: skip

ENDINGS = (
    ("ies", "y"), ("sses", "ss"), ("shes", "sh"), ("ches", "ch"), ("xes", "x"), ("ss", "ss"), ("us", "us"),
    ("is", "is"), ("s", ""), ("ied", "y"), ("eed", "eed"), ("ed", ""), ("ing", ""), ("e", ""),
)  # fmt: skip
"""Tried in this order; an ending that is its own replacement protects the word."""
