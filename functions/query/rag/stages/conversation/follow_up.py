"""Does a question lean on the conversation, and what stands in for a rewriting model.

``leans_on_history`` is a handful of rules over the words of the question alone: no model, no history, microseconds.
It is made for precision: a stand-alone question that is rewritten may be spoiled, while a follow-up that is missed is
searched for as it stands, as in a system without a conversation.
"""

from __future__ import annotations

from rag.stages.conversation import follow_up_words as words
from rag.stages.conversation.follow_up_words import Word, content, read

MAX_WORDS = 60
"""A longer question brings its own topic, and is not read."""
MAX_FRAGMENT_WORDS = 5
"""A question without a verb of asking that is longer than this is a keyword search, not a fragment."""
ENOUGH_TOPIC = 2
"""With as many words that name a topic, a question of its own is complete although it opens with "and" or "so"."""
ENOUGH_TOPIC_AFTER_ABOUT = 4
"""What "what about" is followed by has no verb: it takes more words to be a question of its own."""
MAX_STRICT_WORDS = 9
"""Up to this length a pronoun's antecedent must stand in an earlier clause."""
MAX_CARRIED_WORDS = 12
"""Topic words that ``carry_over`` adds at most: more would drown the question."""


def leans_on_history(question: str) -> bool:
    """Whether ``question`` cannot be understood without the turns before it.

    It leans when it opens like a continuation ("And the deadline?", "What about ..."), is a fragment ("For beer?"),
    refers to something that it does not name ("Can I edit it later?"), leaves out what it asks about ("Is there an
    exception?"), or holds no word of content ("How long?"). A pronoun whose antecedent stands in the question and an
    empty "it" ("Is it possible to ...") are no references.

    Each rule has its figure: without it the rates of tests/evaluation/test_follow_ups.py fall by half a point or more.
    """
    found = read(question)
    return 0 < len(found) <= MAX_WORDS and (
        _continues(found) or _is_fragment(found) or _refers(found) or _is_hollow(found)
    )


def carry_over(question: str, previous_questions: tuple[str, ...]) -> str:
    """``question`` with the missing topic words of the conversation behind it, in brackets.

    The fallback where no model rewrites: from ``previous_questions`` (oldest first) it takes the content words of the
    newest question that stands alone, at most ``MAX_CARRIED_WORDS`` and none that the question has: "And the
    deadline?" after "How do I report in GaCounts?" becomes "And the deadline? (report GaCounts)". The follow-ups since
    count where the question refers to something by a pronoun. A question that names little of a topic ("Is it paid?"
    aside) may have been a follow-up that nobody noticed: the one before it counts too. A question that stands alone, or
    has nothing before it, is returned as it is.
    """
    if not leans_on_history(question):
        return question
    refers = _refers(read(question))
    turns: list[str] = []
    for turn in reversed(previous_questions):
        alone = not leans_on_history(turn)
        if alone or refers:
            turns.insert(0, turn)
        if alone and _topic(read(turn)) >= ENOUGH_TOPIC:
            break
    known = {word.key for word in content(read(question))}
    carried: dict[str, str] = {}
    for turn in turns:
        for word in content(read(turn)):
            if word.key not in known and len(carried) < MAX_CARRIED_WORDS:
                carried.setdefault(word.key, word.text)
    return f"{question.rstrip()} ({' '.join(carried.values())})" if carried else question


def _continues(found: list[Word]) -> bool:
    """Opens with "what about" or a conjunction and does not go on to a full question of its own."""
    first, second = found[0].key, found[1].key if len(found) > 1 else ""
    if (first, second) in words.CONTINUATIONS:
        return _topic(found[2:]) < ENOUGH_TOPIC_AFTER_ABOUT
    if first not in words.CONJUNCTIONS:
        return False
    asks = any(word.key in words.ASKING for word in found[1:])
    return not asks or _topic(found) < ENOUGH_TOPIC


def _topic(found: list[Word]) -> int:
    """How many words of ``found`` name a topic by themselves."""
    return sum(word.is_content and word.key not in words.GENERIC for word in found)


def _is_fragment(found: list[Word]) -> bool:
    """No verb of asking, and opened by a preposition or an article or closed by "too": "For beer?", "The fee?".

    "Which formats?" is one too.
    """
    if len(found) == 2 and found[0].text.lower() in {"what", "which"}:
        return found[1].is_content
    if len(found) == 1 and found[0].asks:
        return found[0].is_content and found[0].text[1:].islower() | found[0].text.isdecimal()
    if len(found) > MAX_FRAGMENT_WORDS or any(word.key in words.ASKING for word in found):
        return False
    opens = found[0].key in words.FRAGMENT_OPENERS
    return opens or found[-1].key in words.FRAGMENT_ENDS or [word.key for word in found[-2:]] == ["as", "well"]


def _refers(found: list[Word]) -> bool:
    return any(_is_reference(found, place) for place in range(len(found)))


def _is_reference(found: list[Word], place: int) -> bool:
    """Whether the word at ``place`` stands for something that the question does not name before it."""
    word = found[place].key
    last = found[place - 1].key if place else ""
    following = found[place + 1].key if place + 1 < len(found) else ""
    if word == "it":
        refers = found[place].text != "IT" and not _is_empty_it(found, place)
    elif word == "this":
        refers = following not in words.PERIODS
    elif word == "that":
        refers = not following or not last or last in words.BEFORE_THAT
    elif word == "there":
        refers = last not in words.BE and following not in words.BE
    elif word == "one":
        refers = last in words.BEFORE_ONE
    else:
        refers = word in words.REFERENCES
    return refers and not _is_named(found, place)


def _is_named(found: list[Word], place: int) -> bool:
    """Whether words before ``place`` may name what the pronoun there stands for.

    In a short question that is a content word of an earlier clause: within one clause "it" is neither the verb
    ("Can I edit it?") nor its subject ("Does exercise affect it?") nor what it belongs to ("the first sign of it").
    A possessive may also mean its own clause's subject ("Does the carrier publish its rates?").
    """
    end = place
    followed = place + 1 < len(found)
    owns = found[place].key in words.POSSESSIVES
    owns = owns or (found[place].key == "her" and followed and found[place + 1].is_content)
    if len(found) <= MAX_STRICT_WORDS and not owns:
        marks = (i for i in range(place - 1, 0, -1) if _opens_clause(found, i, place, followed=followed))
        end = next(marks, 0)
    return any(word.is_content and word.key not in words.GENERIC for word in found[:end])


def _opens_clause(found: list[Word], i: int, place: int, *, followed: bool) -> bool:
    """Whether a clause, or what stands behind a comma, opens at ``i``; "before her?" is no clause."""
    if found[i].after_comma:
        return True
    return found[i].key in words.CLAUSE_MARKS and (i + 1 < place or followed)


def _is_empty_it(found: list[Word], place: int) -> bool:
    """The "it" of "how long does it take to clear customs" and "is it true that ..."."""
    for i in range(place + 2, len(found) - 1):
        if found[i].key in words.CLAUSE_OPENERS:
            light = found[i + 1].key in words.LIGHT_VERBS
            return any(rest.is_content and (light or rest.key not in words.GENERIC) for rest in found[i + 1 :])
    return False


def _is_hollow(found: list[Word]) -> bool:
    """Nothing but function words and words that mean something only beside a topic: "What are the requirements?"."""
    thanks = all(word.key in words.COURTESIES for word in found)
    return not thanks and all(word.key in words.GENERIC for word in content(found))
