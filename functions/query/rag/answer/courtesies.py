"""Courtesies: sentences of an answer that speak of nothing that was asked or found, as greetings and offers of help."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from rag.answer.statements import EXCLAIMS
from rag.ask.remarks import KINDS, Remarks
from rag.values.answer import Context

FAR, NEAR = 0.25, 0.4
"""Highest cosine of a courtesy with the question and each passage, and lowest one with the nearest labelled remark.

Of 61 courtesies beside 216 contexts of MTRAG and 36 of the house sample they tell 87 and 86 %. Of the 1,086 statements
of MTRAG's rated answers they take two, "Sure!" and "Yes, of course!", from faithful ones.
"""


def courtesies(context: Context, remarks: Remarks | None) -> Callable[[str], bool]:
    """Return what tells of a sentence whether it is a remark rather than a word on what was asked or found.

    One that agrees or disagrees is one only where it exclaims: "Sure!", but not "That is not allowed."
    """
    if remarks is None or context.evidence is None:
        return str.isspace
    known = [context.evidence.asked.vector, *(passage.hit.vector for passage in context.passages)]
    vectors = np.stack([vector for vector in known if vector is not None])

    @cache
    def is_courtesy(sentence: str) -> bool:
        said = remarks.embed(sentence)
        kind = remarks.utterances.kind(said, NEAR)
        is_reply = kind in {"assent", "dissent"} and not EXCLAIMS.search(sentence)
        return kind != KINDS[0] and not is_reply and float((vectors @ said).max()) < FAR

    return is_courtesy
