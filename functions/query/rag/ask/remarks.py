"""Remarks such as thanks and greetings: they are answered in kind, without a search.

A text is a remark if its nearest labelled utterance is one and near enough. A less near one is a remark only if the
documents do not answer it. The utterances come from CLINC-150 (Larson et al., 2019), HWU64 (Liu et al., 2019) and this
project; only their vectors ship, made by ``tools/research/remarks.py``. docs/evidence/retrieval.md has the figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rag.text.stems import content_stems
from rag.values.answer import Decline, RepeatedQuestion
from rag.values.question import Question, SearchQuery, Turn

KINDS = (
    "question", "thanks", "assent", "dissent", "identity", "greeting", "goodbye", "repeat", "simpler", "help", "recall",
)  # fmt: skip
"""A row of the vectors begins with the place of its kind in this tuple."""
REPEAT, SIMPLER, HELP, RECALL = KINDS[-4:]
ON_EARLIER = frozenset({REPEAT, SIMPLER, RECALL})
COURTESIES = frozenset({"thanks", "assent", "dissent", "greeting", "goodbye"})
"""Kinds that are dropped before and behind questions."""
NEAR = 0.55
"""The cosine from which an utterance is near enough. At .5 one of a hundred questions of ClapNQ is a remark."""
SURE = 0.8
"""The cosine that decides alone. Of 2,041 questions of people none reaches .75."""
ASKING = re.compile(r"[?\uff1f\u061f]|\b(?:how|wh(?:at|en|ere|ich|om?|ose|y))\b", re.IGNORECASE)
"""A question mark or a question word. "Until when?" is near to a goodbye."""

NO_QUESTION = "nothing was asked"
NOT_ASKED = "What would you like to know?"
REPLIES = {
    "thanks": "You're welcome. What else would you like to know?",
    "assent": "Good. What else would you like to know?",
    "dissent": "If an answer is wrong or does not help, please ask again in other words.",
    "identity": "I am a program. I answer from the documents of this knowledge base and say where an answer stands in "
    f"them. {NOT_ASKED}",
    "greeting": f"Hello! {NOT_ASKED}",
    "goodbye": "Goodbye!",
}
VOTE = " A vote against it helps too: what it rests on then comes later."
YOU_ASKED = "You asked:"
ONLY_QUOTES = "Without a language model I can only quote the documents. This is what I found:"

_CLAUSE_ENDS = re.compile(r"(?<=[.!?:,])\s+")


@dataclass(frozen=True, slots=True, eq=False)
class Utterances:
    """Labelled utterances: ``vectors`` are unit vectors of shape (utterances, dimensions), ``kinds`` their kinds."""

    vectors: NDArray[np.float32]
    kinds: NDArray[np.int8]

    @classmethod
    def from_rows(cls, stored: NDArray[np.int8]) -> Utterances:
        """Read rows of a kind's number and a vector's direction in int8."""
        vectors = stored[:, 1:].astype(np.float32)
        return cls(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), stored[:, 0])

    def nearest(self, vector: NDArray[np.float32]) -> tuple[str, float]:
        """Return the kind of the utterance nearest to the unit ``vector``, and its cosine."""
        cosines = self.vectors @ vector
        nearest = int(np.argmax(cosines))
        return KINDS[self.kinds[nearest]], float(cosines[nearest])

    def kind(self, vector: NDArray[np.float32], near: float = NEAR) -> str:
        """Return the kind of the nearest utterance, "question" if its cosine is below ``near``."""
        kind, cosine = self.nearest(vector)
        return kind if cosine >= near else KINDS[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remarks:
    """Recognises remarks and replies to them.

    ``embed`` returns a text's unit vector in the space of ``utterances``. ``votes``: answers can be voted on.
    ``writes``: a language model writes them. ``guide`` returns an overview of the documents.
    """

    utterances: Utterances
    embed: Callable[[str], NDArray[np.float32]]
    votes: bool
    writes: bool
    guide: Callable[[], Decline]

    def __call__(
        self,
        question: Question,
        history: Callable[[], Sequence[Turn]],
        *,
        alone: bool,
        is_answerable: Callable[[], bool],
    ) -> Decline | RepeatedQuestion | None:
        """Return the reply to a remark, or the last question if it shall be answered again; None for a question.

        ``alone``: there are no turns before (only then "And why?" is no question). ``history`` returns these turns,
        oldest first. ``is_answerable`` searches for the question and returns whether the documents answer it without
        a doubt.
        """
        kind, cosine = self.utterances.nearest(self.embed(question.text))
        if cosine < NEAR or (cosine < SURE and (_asks(question.text, kind, alone=alone) or is_answerable())):
            kind = KINDS[0]
        if kind in ON_EARLIER:
            return self._reply_on_earlier(kind, tuple(history()))
        if kind == HELP:
            return self.guide()
        if kind == KINDS[0]:
            return _reply(NOT_ASKED) if alone and not content_stems(question.text) else None
        return _reply(REPLIES[kind] + (VOTE if kind == "dissent" and self.votes else ""))

    def kind(self, text: str) -> str:
        """Return the kind of ``text``, one of ``KINDS``."""
        return self.utterances.kind(self.embed(text))

    def drop_courtesies(self, query: SearchQuery, question: Question) -> SearchQuery:
        """Return ``query`` without the courtesies before and behind its question; the model sees the question as asked.

        This helps the search: nDCG@10 of COVID FAQ is .693 with "Hi there, can you please help me?" before and "Thanks
        a lot!" behind each question, .751 after this, .764 without them. Of 600 questions of SQuAD with several clauses
        none loses a word.
        """
        clauses = _CLAUSE_ENDS.split(query.text)
        while len(clauses) > 1 and self.kind(clauses[0]) in COURTESIES:
            del clauses[0]
        while len(clauses) > 1 and self.kind(clauses[-1]) in COURTESIES:
            del clauses[-1]
        text = " ".join(clauses)
        return query if len(text) == len(query.text) else replace(query, text=text)

    def _reply_on_earlier(self, kind: str, turns: tuple[Turn, ...]) -> Decline | RepeatedQuestion:
        if not turns:
            return _reply(NOT_ASKED)
        if kind == RECALL:
            return replace(_reply(YOU_ASKED), items=tuple(turn.asked for turn in turns))
        return RepeatedQuestion(turns, "" if self.writes or kind == REPEAT else ONLY_QUOTES)


def _asks(text: str, kind: str, *, alone: bool) -> bool:
    """Return whether ``text`` asks; "Who pays?", near to the ``kind`` identity, may refer to an earlier turn."""
    may_ask = kind in COURTESIES or not (alone or kind in ON_EARLIER)
    return kind == KINDS[0] or (may_ask and ASKING.search(text) is not None)


def _reply(reply: str) -> Decline:
    return Decline(NO_QUESTION, reply)
