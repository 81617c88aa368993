"""Do two questions that lie close together ask for the same thing?

The guard of the near-match cache. Embeddings put "without" beside "with", 2023 beside 2024, "paid to us" beside "paid
by us" and Malaysia beside Indonesia, so that nearness alone serves wrong answers. Here each question is brought into
one form by rules that cannot change its answer (articles, courtesy, plurals, contractions, a few synonyms and wordings,
see ``same_question_words``), and an answer is shared when the forms are equal, word for word. Whatever no rule names
says no: a number, a sign, a "not", a name, a tense, a preposition, who does what to whom. It is made to miss
paraphrases rather than to accept one wrong pair.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from rag.stages.cache import same_question_words as words
from rag.stages.cache.normalise import normalise, with_raised_spelt

_CAPITALS = re.compile(r"\b[A-Z]{2,}\b")
_LETTER = re.compile(r"(?<=\S )A\b")
_NAME_IN_S = re.compile(r"(?<=\S )[A-Z][a-z]+s\b")
_SIGN = re.compile(r"sign\d+")


def may_share_answer(a: str, b: str) -> bool:
    """Whether the answer to question ``a`` may be given to ``b``. An equivalence: each question asks for the same as
    itself, and two that ask for the same as a third ask for the same."""
    return _form(a) == _form(b)


def _form(question: str) -> str:
    """What ``question`` asks for: the same text for all wordings that the rules know."""
    plain = normalise(_spelt_out(question))
    text = " ".join(words.FORMS.get(word, word) for word in plain.split())
    for wording, one in words.WORDINGS:
        text = wording.sub(one, text)
    return " ".join(_kept(text.split())) or plain


def _spelt_out(question: str) -> str:
    """``question`` with its contractions in full, in lower case but for what is a name only in capitals."""
    text = " ".join(unicodedata.normalize("NFKC", with_raised_spelt(question)).replace("\u2019", "'").split())
    if not text.isupper():
        text = _CAPITALS.sub(_named, text)
        text = _LETTER.sub("letter_a", text)  # "vitamin A" is not "a vitamin"
        text = _NAME_IN_S.sub(r"name_\g<0>", text)  # Williams is not William
    text = text.lower()
    for contraction, full in words.CONTRACTIONS:
        text = contraction.sub(full, text)
    return text


def _named(match: re.Match[str]) -> str:
    """US, WHO and IT are names, whatever "us", "who" and "it" are."""
    return f"name_{match[0]}" if match[0].lower() in words.COMMON else match[0]


def _kept(found: list[str]) -> Iterator[str]:
    """Without articles and courtesy, in the singular, number words as digits, a synonym by its group's first word."""
    for i, word in enumerate(found):
        if word in words.COURTESY or (word in words.ARTICLES and not _is_letter(found, i)):
            continue
        one = words.SYNONYMS.get(word) or _singular(word)
        yield words.NUMBERS.get(one) or words.SYNONYMS.get(one, one)


def _is_letter(found: list[str], i: int) -> bool:
    """Whether the "a" at ``i`` names something, as in "hepatitis a", "is it a", "a+"."""
    if found[i] != "a":
        return False
    ends = i + 1 == len(found) or _SIGN.fullmatch(found[i + 1]) is not None
    return ends or (i > 0 and found[i - 1] in words.LETTERED)


def _singular(word: str) -> str:
    """``word`` without the s of a plural or a third person."""
    if not (word.isascii() and word.isalpha()) or len(word) < words.MIN_PLURAL or word in words.NO_PLURALS:
        return word
    for ending, singular in words.ENDINGS:
        if word.endswith(ending):
            return word.removesuffix(ending) + singular
    return word
