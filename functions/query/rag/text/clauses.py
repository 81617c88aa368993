"""An answer as clauses: marks, markup and asides taken off, cut where a new statement may begin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rag.text.source_names import CITED, NAMED, mark_names, name_sources

_TICK = re.compile(r"(?<=\w)[`\u00b4\u2018\u2019\u02bc\u2032\uff07](?=\w)")
# Citations of all profiles: [id_2], [Title > Section], [text](address), (Source: ...), bare addresses and ids.
_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\([^()\s]{0,600}\)")
_MARK = re.compile(
    r"\\?[\[\u3010\uff3b][^\[\]\u3010\u3011\uff3b\uff3d\n]{0,300}[\]\u3011\uff3d]"
    r"|\((?:see |sources?:|ids?[_ :-]?\d)[^()\n]{0,600}\)|https?://\S+|\bid_\d+\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\([^()\n]{0,300}\)")
_LATE_MARK = re.compile(rf"([.!?])\s*({CITED}[{CITED}\s,]*)")
_MARKUP = str.maketrans("", "", '*_#>~`"\u201c\u201d\u201e\u00ab\u00bb|\\')
_DOTTED = re.compile(r"\b(?:e\.g|i\.e|etc|vs|approx)\.", re.IGNORECASE)
_BULLET = re.compile(r"(?:[-+*\u2022]|\d{1,3}[.)])\s")
_SENTENCE = re.compile(r"[^.!?]+(?:[.!?](?=\S)[^.!?]+)*[.!?]*")
_SUBJECT = r"(?:i|we|you|it|they|there|this|that|these|the|please)\b"
# "No. It does not say": the no is to the question, as in "No, it does not say".
_NO = re.compile(r"^no[.!] (?=\w)")
_CUT = re.compile(
    rf";|\s[-\u2013\u2014]{{1,2}}\s|\u2014|:\s|,?\s(?:but|however|although|though|except|instead)\b,?"
    rf"|,\s(?:and|or|nor)\s(?={_SUBJECT})|,\s(?:so|yet)\s"
    r"|,?\sand\s(?=(?:do|does|did)(?:n't|\snot)\s(?:mention|say|tell|specify|state|describe|discuss|explain|contain)\b)",
)


@dataclass(frozen=True, slots=True)
class Clause:
    """``text`` in lower case with plain apostrophes, without marks, perhaps empty.

    ``cited`` says that a citation stands in it or after it; ``asks`` that it belongs to a question; ``listed`` that it
    is an item of a list below a line that ends with a colon.
    """

    text: str
    cited: bool
    asks: bool
    listed: bool


def split_clauses(answer: str) -> Iterator[Clause]:
    """The clauses of ``answer`` in order, read as they are asked for.

    Cut at the ends of lines and sentences, at colons, semicolons and dashes, and before "but" and its like.
    """
    announced = False
    for line in answer.replace(CITED, "").replace(NAMED, "").splitlines():
        bare = _TICK.sub("'", " ".join(line.split()))
        bullet = _BULLET.match(bare)
        listed = announced and bullet is not None
        bare = _LINK.sub(rf"\1{CITED}", bare[bullet.end() if bullet else 0 :])
        bare = _MARK.sub(lambda mark: mark_names(mark[0]), bare)
        bare = " ".join(_DOTTED.sub("", _ASIDE.sub("", bare)).translate(_MARKUP).split())
        bare = _LATE_MARK.sub(r" \2\1 ", name_sources(bare))
        bare = _NO.sub("no, ", " ".join(bare.lower().split()))
        for sentence in _SENTENCE.findall(bare):
            for part in _CUT.split(sentence):
                text = " ".join(part.replace(CITED, " ").split()).strip(" .!?,:;-")
                yield Clause(text, CITED in part, sentence.endswith("?"), listed)
        if bare:
            announced = listed or bare.endswith(":")
