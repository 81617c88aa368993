"""The language of documents and questions, and the function words of languages.

py3langid detects it from a text's bytes. Of XQuAD's 240 paragraphs in each of twelve languages at least 230 have their
own name by their first 300 characters (Chinese; all 240 in eleven), of 1,600 English texts of COVID FAQ, ClapNQ, SQuAD
and 600 pages of four documentation sites 99 %. Questions are too short for it: the function words of each language are
counted. Stop words are stop-words', stemmers Snowball's: nDCG@10 of BM25 alone on
XQuAD with a language's own stemmer instead of English's: Romanian .966 for .923, Arabic .934 for .884, Turkish .935 for
.896, Greek .948 for .909, Spanish .961 for .953.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from knowledge.cut.scripts import latin_share

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

ENGLISH = "English"
SAMPLE, CHARS = 200, 400
"""Texts, evenly taken, and their first characters for the detection: a second for the model, .3 for them."""
MOST = 0.5
"""More than this share of the texts, each counted by how likely it is, is in the language."""

_COMMON = """
a about an and any are as at be been between but by can could did do does for from get had has have how i if in into
is it its many may me much must my no not of on or our out shall should so than that the their them then there these
they this those to up us was we were what when where which who whom whose why will with would you your
"""
COMMON_WORDS = frozenset(_COMMON.split())
"""The function words of English, which say nothing about the subject of a question. stop-words' English list has 1,300
words, among them "area", "computer" and "fire"."""
SURELY = 5
_LETTERS = re.compile(r"[^\W\d_]+")

_LANGUAGES = (
    "af:Afrikaans ar:Arabic bg:Bulgarian bn:Bengali ca:Catalan cs:Czech da:Danish de:German el:Greek en:English "
    "es:Spanish et:Estonian eu:Basque fa:Persian fi:Finnish fr:French ga:Irish he:Hebrew hi:Hindi hr:Croatian "
    "hu:Hungarian hy:Armenian id:Indonesian it:Italian ja:Japanese km:Khmer ko:Korean lo:Lao lt:Lithuanian lv:Latvian "
    "ms:Malay my:Burmese nb:Norwegian ne:Nepali nl:Dutch nn:Norwegian no:Norwegian pl:Polish pt:Portuguese ro:Romanian "
    "ru:Russian sk:Slovak sl:Slovenian sr:Serbian sv:Swedish sw:Swahili ta:Tamil th:Thai tr:Turkish uk:Ukrainian "
    "ur:Urdu vi:Vietnamese zh:Chinese"
)
_NAMES = dict(pair.split(":") for pair in _LANGUAGES.split())
"""ISO 639 codes and their English names; other codes count as unknown."""


def detect_language(texts: Iterable[str]) -> str:
    """Return the English name of the language of most ``texts``, ``""`` if it is uncertain."""
    shares = language_shares(list(texts))
    best = max(shares, key=lambda name: shares[name], default="")
    return best if shares.get(best, 0.0) > MOST else ""


def language_shares(texts: Sequence[str]) -> Mapping[str, float]:
    """Return the share (0..1) of ``texts`` in each language, by its English name; together at most 1.

    A text counts by the chance that it is in the language.
    """
    sample = _sample(texts)
    shares: dict[str, float] = defaultdict(float)
    for text in filter(str.strip, sample):
        code, chance = _identifier().classify(text)
        if name := _NAMES.get(code):
            shares[name] += float(chance) / len(sample)
    return shares


def is_latin(texts: Sequence[str]) -> bool:
    """Return whether most letters of ``texts`` are Latin."""
    return latin_share(_sample(texts)) >= MOST


def load_stop_words(language: str) -> Sequence[str]:
    """Return the stop words of ``language``, sorted; for ``""`` the English ones."""
    if language in {"", ENGLISH}:
        from bm25s import stopwords  # late: `import bm25s` takes 150 ms, and only an ingest needs it

        return sorted({*stopwords.STOPWORDS_EN, "i"})  # rare in documents and in every other question: it would decide
    return sorted(word for word, languages in _function_words().items() if language in languages)


def languages_of(text: str) -> frozenset[str]:
    """Return the English names of the languages with most function words in ``text``; none if it has none.

    Of 668 German, Polish, Italian and Swedish questions (COVID FAQ) 98.7 % have their own language among them, of 4,293
    English questions (SQuAD, ClapNQ, COVID FAQ, CLINC's out-of-scope list) 99.8 %.
    """
    counts = _count_function_words(text)
    most = max(counts.values(), default=0)
    return frozenset({ENGLISH}) if counts[ENGLISH] == most > 0 else frozenset(n for n in counts if counts[n] == most)


def other_languages(texts: Iterable[str], language: str) -> frozenset[str]:
    """Return the languages beside ``language`` of whole ``texts``, by at least ``SURELY`` different function words.

    Of 21,910 pieces of 1,000 characters of nine English sites one has another, of 914 of FastAPI's German pages 883.
    """
    found = set()
    for text in texts:
        counts = _count_function_words(" ".join(set(_LETTERS.findall(text.casefold()))))
        (best, most), *_ = [*counts.most_common(1), ("", 0)]
        if best != language and most >= max(SURELY, 2 * counts[language]) and languages_of(text) == {best}:
            found.add(best)
    return frozenset(found)


def is_function_word(word: str, languages: Iterable[str]) -> bool:
    """Return whether ``word``, in lower case, is a function word of one of ``languages``."""
    return not _function_words().get(word, frozenset()).isdisjoint(languages)


def find_function_words(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Yield the first and end character of each function word of ``language`` in ``text``."""
    known = _function_words()
    yield from (word.span() for word in _LETTERS.finditer(text) if language in known.get(word[0].casefold(), ()))


def _count_function_words(text: str) -> Counter[str]:
    """Count the function words of each language in ``text``."""
    known = _function_words()
    return Counter(name for word in _LETTERS.findall(text.casefold()) for name in known.get(word, ()))


@cache
def _function_words() -> Mapping[str, frozenset[str]]:
    """Return the languages of each function word; single letters are of English alone."""
    from stop_words import AVAILABLE_LANGUAGES, get_stop_words  # late: it reads 33 files

    lists = {name.capitalize(): get_stop_words(name) for name in AVAILABLE_LANGUAGES}
    lists = {name: [word for word in words if len(word) > 1] for name, words in lists.items()}
    found: dict[str, set[str]] = defaultdict(set)
    for language, words in {**lists, ENGLISH: COMMON_WORDS}.items():
        for word in words:
            found[word.casefold()].add("Malay" if language == "Malaysian" else language)
    return {word: frozenset(languages) for word, languages in found.items()}


def _sample(texts: Sequence[str]) -> list[str]:
    step = max(1, len(texts) / SAMPLE)
    return [texts[int(place * step)][:CHARS] for place in range(min(SAMPLE, len(texts)))]


@cache
def _identifier() -> LanguageIdentifier:
    from py3langid import langid  # late: a second, and only an ingest needs it

    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
