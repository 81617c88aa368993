"""Small talk: a greeting, thanks, a goodbye, or words that ask about nothing. It is answered in kind, without a search.

Only what holds nothing else is small talk: "Hi, how do I ...?" is searched for, without the greeting. The words were
chosen on CLINC-150 (github.com/clinc/oos-eval): of the 150 greetings, thanks and goodbyes of its validation and test
parts 100 are answered in kind (of the training part's 300 181). Of 6,250 questions of its other intents, chit-chat
aside, one is taken for small talk ("what do i have to do"), of 11,765 questions of SQuAD, ClapNQ, COVID FAQ and the
out-of-scope list none. ``tools/research/small_talk.py`` counts them.
"""

from __future__ import annotations

import re
from dataclasses import replace

from rag.text.stems import COMMON_WORDS
from rag.values.answer import Confidence, Decline, Question, Routing, SearchQuery

GREETED = "Hello! What would you like to know?"
THANKED = "You're welcome. What else would you like to know?"
PARTED = "Goodbye!"
NOT_ASKED = "What would you like to know?"

NOTHING_ASKED = Confidence("Low", 0.0, "Nothing was asked")
TALKED = Routing("return", "Nothing was asked")

_PHRASES = (
    (re.compile(r"\bgood (?:morning|afternoon|evening|day)\b|\bwhat['’]?s up\b"), " hello "),
    (
        re.compile(
            r"\b(?:see|talk to|catch) y(?:ou|a)\b|\bgood (?:bye|night)\b|\btake (?:care|it easy)\b"
            r"|\b(?:good|great|lovely|nice) (?:chat|conversation|day|evening|one|weekend)\b"
        ),
        " bye ",
    ),
)
"""Words of content that together have none."""
_WORD = re.compile(r"\w+")
_CLAUSE_ENDS = re.compile(r"(?<=[.!?:,])\s+")
_CLITIC = re.compile(r"['’]\w{1,2}\b")
_THANKED_BY = "appreciate appreciated gracias grateful gratitude merci obliged thank thankful thanks thx"
_PARTED_BY = "adios bye ciao cya farewell goodbye goodnight"
_GREETED_BY = "aloha greetings hello hey heyo hi hiya hola howdy wassup yo"
_THANKS, _GOODBYE, _GREETING = (frozenset(words.split()) for words in (_THANKED_BY, _PARTED_BY, _GREETED_BY))
_IDLE_WORDS = """
alright anybody anyone ask doing everything feeling fine going help like ok okay please question questions tell
things want well
"""
_IDLE = COMMON_WORDS | frozenset(_IDLE_WORDS.split())
"""Of these alone no question about anything is made."""
_BESIDE_WORDS = """
again ai all am answer answering answers around assistance assisting awesome big bot chat chatting conversation enjoyed
friend glad good great happy helped helpful helping info information job just kind kindly know later letting lot lots
lovely many need nice now oh one pleasure quick really reply response right say so sorry soon speak speaking sure sweet
talk talking there today trying very welcome wonderful ya yes
"""
_BESIDE = _IDLE | _THANKS | _GOODBYE | _GREETING | frozenset(_BESIDE_WORDS.split())
"""These may stand beside a word of thanks, parting or greeting."""


def small_talk(text: str, *, alone: bool) -> Decline | None:
    """The reply to ``text`` where it is small talk, else None.

    ``alone`` says that no turns came before: "And why?" asks about nothing only then.
    """
    plain = text.casefold()
    for phrase, word in _PHRASES:
        plain = phrase.sub(word, plain)
    words = frozenset(_WORD.findall(_CLITIC.sub("", plain)))
    if words <= _BESIDE:
        for signs, reply in ((_THANKS, THANKED), (_GOODBYE, PARTED), (_GREETING, GREETED)):
            if words & signs:
                return Decline("nothing was asked", reply)
    return Decline("nothing was asked", NOT_ASKED) if alone and words <= _IDLE else None


def without_small_talk(text: str) -> str:
    """``text`` without the small talk before and behind its question; as it is where nothing else is left.

    Clauses of greeting, thanks and parting go, and before the question sentences that ask about nothing. It helps the
    search: nDCG@10 of COVID FAQ is .689 with "Hi there, can you please help me?" before and "Thanks a lot!" behind each
    question, .767 without them. Of SQuAD's 10,570 questions, which greet nobody, none loses a word.
    """
    clauses = _CLAUSE_ENDS.split(text)
    while len(clauses) > 1 and small_talk(clauses[0], alone=not clauses[0].endswith(",")):
        del clauses[0]
    while len(clauses) > 1 and small_talk(clauses[-1], alone=False):
        del clauses[-1]
    return " ".join(clauses)


def leave_out_small_talk(query: SearchQuery, question: Question) -> SearchQuery:
    """``query`` without the small talk around its question; the model sees the question as it was asked."""
    text = without_small_talk(query.text)
    return query if len(text) == len(query.text) else replace(query, text=text)
