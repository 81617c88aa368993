"""Remarks: what adds no content to a conversation is no question. It is answered in kind, without a search.

A text is a remark where its nearest labelled utterance is one, and near enough. One that is less near is a remark only
where the documents do not answer it. The utterances are those of CLINC-150 (Larson et al., 2019) and of HWU64 (Liu et
al., 2019), and a few of ours; what ships are their vectors, which ``tools/research/remarks.py`` makes.
docs/retrieval.md has the figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rag.text.stems import content_stems
from rag.values.answer import Decline, RepeatedQuestion
from rag.values.question import Question, SearchQuery, Turn

if TYPE_CHECKING:
    from numpy.typing import NDArray

KINDS = (
    "question", "thanks", "assent", "dissent", "identity", "greeting", "goodbye", "repeat", "simpler", "help", "recall",
)  # fmt: skip
"""A row of the vectors begins with the number of its kind here."""
REPEAT, SIMPLER, HELP, RECALL = KINDS[-4:]
ON_EARLIER = frozenset({REPEAT, SIMPLER, RECALL})
COURTESIES = frozenset({"thanks", "assent", "dissent", "greeting", "goodbye"})
"""What stands before and behind questions. "What," and "how are they made?" are clauses of theirs."""
NEAR = 0.55
"""The cosine from which an utterance is near enough. At .5 one of a hundred questions of ClapNQ is a remark."""
SURE = 0.8
"""The cosine from which nothing else is looked at. Of 2,041 questions of people none reaches .75."""
ASKING = re.compile(r"[?\uff1f\u061f]|\b(?:how|wh(?:at|en|ere|ich|om?|ose|y))\b", re.IGNORECASE)
"""What asks: a mark, or a question word. "Until when?" is near to a goodbye."""

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
    def of(cls, stored: NDArray[np.int8]) -> Utterances:
        """Those of rows of a kind's number and a direction in int8."""
        vectors = stored[:, 1:].astype(np.float32)
        return cls(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), stored[:, 0])

    def nearest(self, vector: NDArray[np.float32]) -> tuple[str, float]:
        """The kind of the utterance nearest to the unit ``vector``, and its cosine."""
        cosines = self.vectors @ vector
        nearest = int(np.argmax(cosines))
        return KINDS[self.kinds[nearest]], float(cosines[nearest])

    def kind(self, vector: NDArray[np.float32], near: float = NEAR) -> str:
        """The kind of the nearest utterance, "question" where none has a cosine of ``near``."""
        kind, cosine = self.nearest(vector)
        return kind if cosine >= near else KINDS[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remarks:
    """``embed`` gives a text's unit vector in the space of ``utterances``.

    ``votes`` says whether answers can be voted on, ``writes`` whether a language model writes them. ``guide`` says
    what can be asked.
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
        """What to reply to a remark, or the last question, which is to be answered again.

        None where something is asked. ``alone`` says that no turns came before: "And why?" asks about nothing only
        then. ``history`` gives these turns, oldest first. ``is_answerable`` searches for the question as it stands, and
        says whether the documents answer it without a doubt.
        """
        kind, cosine = self.utterances.nearest(self.embed(question.text))
        if cosine < NEAR or (cosine < SURE and (_asks(question.text, kind, alone=alone) or is_answerable())):
            kind = KINDS[0]
        if kind in ON_EARLIER:
            return self._of_earlier(kind, tuple(history()))
        if kind == HELP:
            return self.guide()
        if kind == KINDS[0]:
            return _said(NOT_ASKED) if alone and not content_stems(question.text) else None
        return _said(REPLIES[kind] + (VOTE if kind == "dissent" and self.votes else ""))

    def kind(self, text: str) -> str:
        """One of ``KINDS``."""
        return self.utterances.kind(self.embed(text))

    def leave_out(self, query: SearchQuery, question: Question) -> SearchQuery:
        """``query`` without the courtesies before and behind its question; the model sees the question as it was asked.

        It helps the search: nDCG@10 of COVID FAQ is .693 with "Hi there, can you please help me?" before and "Thanks a
        lot!" behind each question, .751 with what this leaves of them, .764 without them. Of 600 questions of SQuAD
        with several clauses none loses a word.
        """
        clauses = _CLAUSE_ENDS.split(query.text)
        while len(clauses) > 1 and self.kind(clauses[0]) in COURTESIES:
            del clauses[0]
        while len(clauses) > 1 and self.kind(clauses[-1]) in COURTESIES:
            del clauses[-1]
        text = " ".join(clauses)
        return query if len(text) == len(query.text) else replace(query, text=text)

    def _of_earlier(self, kind: str, turns: tuple[Turn, ...]) -> Decline | RepeatedQuestion:
        if not turns:
            return _said(NOT_ASKED)
        if kind == RECALL:
            return replace(_said(YOU_ASKED), items=tuple(turn.asked for turn in turns))
        return RepeatedQuestion(turns, "" if self.writes or kind == REPEAT else ONLY_QUOTES)


def _asks(text: str, kind: str, *, alone: bool) -> bool:
    """Whether ``text`` asks; "Who pays?", near to an utterance of the ``kind`` identity, may lean on a turn before."""
    may_ask = kind in COURTESIES or not (alone or kind in ON_EARLIER)
    return kind == KINDS[0] or (may_ask and ASKING.search(text) is not None)


def _said(reply: str) -> Decline:
    return Decline(NO_QUESTION, reply)
