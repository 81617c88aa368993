"""Do two questions that lie close together ask for the same thing?

The guard of the near-match cache. Embeddings put "without" beside "with", 2023 beside 2024 and Malaysia beside
Indonesia, so that nearness alone serves wrong answers. The guard lets an answer be shared only when the questions
differ in nothing but wording that cannot change the answer: articles and pronouns, politeness, inflection, a few
synonyms, "the deadline of the grant" for "the grant deadline". Whatever else differs says no: a number, a negation, a
name, any other word of content, who / when / how much, may / must, past / future, from / to, who does what to whom.
It is made to miss paraphrases rather than to accept one wrong pair.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from rag.text import same_question_words as words

_TOKEN = re.compile(r"[^\W_]+(?:[.,:'\u2019][^\W_]+)*|[%$\u20ac\u00a3<>=+]")
_CAPITALS = re.compile(r"\b[A-Z]{2,}\b")
_NEGATED = re.compile(r"\b(can|wo|sha|do|does|did|is|are|was|were|has|have|had|could|would|should|must)n?['\u2019]t\b")
_CLITIC = re.compile(r"['\u2019](?:s|re|ve|ll|d|m)$")
_STEM_CHARS = 4
"""A word keeps at least this many letters when an ending is cut off."""


def may_share_answer(a: str, b: str) -> bool:
    """Whether the answer to question ``a`` may be given to ``b``; symmetric, and true of a question and itself."""
    left, right = list(_words(a)), list(_words(b))
    if _content(left) != _content(right) or _demands(left) != _demands(right):
        return False
    before, after = _links(left), _links(right)
    return all(before[word] & after[word] for word in before.keys() & after.keys())


def _words(question: str) -> Iterator[str]:
    """Words, numbers and signs of ``question`` in lower case; contractions in full, number words as digits."""
    text = unicodedata.normalize("NFKC", question)
    if not text.isupper():
        text = _CAPITALS.sub(_marked, text)
    text = _NEGATED.sub(lambda match: f"{words.CONTRACTED.get(match[1], match[1])} not", text.lower())
    for phrase, plain in words.PHRASES:
        text = phrase.sub(plain, text)
    for match in _TOKEN.finditer(text):
        word = _CLITIC.sub("", match[0])
        yield words.NUMBERS.get(word, word)


def _marked(match: re.Match[str]) -> str:
    """US, WHO and IT are names, whatever "us", "who" and "it" are."""
    return f"acronym{match[0]}" if match[0].lower() in words.IGNORED else match[0]


def _content(found: list[str]) -> list[str]:
    """The words that say what is asked about, stemmed; "X of the Y" is turned into "Y X"."""
    content: list[str] = []
    run = 0
    head: list[str] | None = None
    for word in found:
        if word in words.IGNORED:
            if word == "of":
                head, run = content[len(content) - run :], 0
                del content[len(content) - len(head) :]
            elif word not in words.ARTICLES:
                content += head or []
                head, run = None, 0
            continue
        content.append(_stem(word))
        run += 1
    return content + (head or [])


def _asks(found: list[str]) -> str:
    """The kind of answer: the question word, with "how" its measure ("how much"); "whether" for yes or no."""
    for i, word in enumerate(found):
        if word == "how":
            measure = found[i + 1] if i + 1 < len(found) else ""
            return f"how {measure}" if measure in words.MEASURES else "how"
        if word in words.ASKS:
            return words.ASKS[word]
        if word in words.YES_NO:
            return "whether"
    return ""


def _demands(found: list[str]) -> tuple[str, str, str]:
    """What kind of answer is asked for, of what time, and whether of what must or of what may be."""
    asks = _asks(found)
    tense = next((words.TENSES[word] for word in found if word in words.TENSES), "")
    duty = next((words.DUTIES[word] for word in found if word in words.DUTIES), "")
    if asks.startswith("how") or (asks != "whether" and duty == "may"):
        duty = ""  # "how can I", "how should I" and "how do I" are one question
    return asks, tense, duty


def _links(found: list[str]) -> dict[str, set[str]]:
    """By which prepositions each word of content is led: "to Rotterdam" is not "from Rotterdam"."""
    links: dict[str, set[str]] = {}
    link = ""
    for word in found:
        if word in words.PREPOSITIONS:
            link = word
        elif word not in words.ARTICLES:
            if link and word not in words.IGNORED:
                links.setdefault(_stem(word), set()).add(link)
            link = ""
    return links


def _stem(word: str) -> str:
    """``word`` without its inflection, a synonym by its group's first word; words with a digit stay as they are."""
    if any(map(str.isdigit, word)) or not word.isascii():
        return word
    if word in words.SYNONYMS:
        return words.SYNONYMS[word]
    for ending, replacement in words.ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) + len(replacement) >= _STEM_CHARS:
            stem = word[: len(word) - len(ending)] + replacement
            if len(stem) > _STEM_CHARS and stem[-1] == stem[-2] and stem[-1] not in "lsz":
                stem = stem[:-1]  # "shipped" is "ship"
            return words.SYNONYMS.get(stem, stem)
    return word
