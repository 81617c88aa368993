"""The engine that answers without an LLM: whole sentences of the context, each with its citation.

It quotes and never pretends to be a model. Every candidate sentence gets

    cos(question, sentence) + .4 x idf share of the question's words in it + .3 x cos(question, its chunk)

and sentences are taken best first, skipping near-repeats, while they fit; the answer is then put into document
order. The weights were chosen on the sample questions; the order of the best sentences is flat around them.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from rag.records import Turn
from rag.text.sentences import split_lines, split_sentences
from rag.types import Completion, Context, Deadline, Embedder, Question

MODEL = "extractive"
MIN_SENTENCES = 2
MAX_SENTENCES = 5
MAX_CHARS = 900
_MAX_CANDIDATES = 48
_WORDS_WEIGHT = 0.4
_CHUNK_WEIGHT = 0.3
# A further sentence must be nearly as good as the best one: padding would bury the answer.
_KEEP_SHARE = 0.72
_REPEAT_COSINE = 0.95
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")


class EmbedderSource(Protocol):
    """Hands out the embedder of the index that is current."""

    def lease(self) -> AbstractContextManager[HasEmbedder]:
        """The open index for the length of a ``with`` block."""
        ...


class HasEmbedder(Protocol):
    """An open index, as far as this engine cares."""

    @property
    def embedder(self) -> Embedder:
        """The index's own embedder."""
        ...


@dataclass(frozen=True, slots=True)
class _Candidate:
    text: str
    citation: str
    chunk_cosine: float
    place: tuple[int, int, int]
    """Rank of the document, chunk within it, sentence within that: sorts into document order."""


@dataclass(frozen=True, slots=True)
class ExtractiveWriter:
    """Two to five whole sentences of at most ``MAX_CHARS`` characters with their citations.

    ``no_answer`` is the text when the context holds nothing quotable.
    """

    index: EmbedderSource
    no_answer: str

    def __call__(
        self, question: Question, context: Context, *, deadline: Deadline, history: Sequence[Turn] = ()
    ) -> Completion:
        """See ``rag.stages.generate.Writer``; uses no network, no deadline and no history."""
        candidates = _shortlist(question.meaning, _candidates(context))
        if not candidates:
            return Completion(text=self.no_answer, model=MODEL, finish_reason="stop", calls=0)
        with self.index.lease() as index:
            asked = index.embedder.embed([question.meaning])[0]  # by itself: a remote embedder's is known already
            vectors = index.embedder.embed([candidate.text for candidate in candidates])
        cosines = vectors @ asked
        words = _word_shares(question.meaning, candidates)
        scores = [
            float(cosine) + _WORDS_WEIGHT * share + _CHUNK_WEIGHT * candidate.chunk_cosine
            for cosine, share, candidate in zip(cosines, words, candidates, strict=True)
        ]
        costs = [len(_quoted(candidate)) + 1 for candidate in candidates]
        repeats = vectors @ vectors.T > _REPEAT_COSINE
        everyone = range(len(candidates))

        def alone(i: int) -> bool:
            """No second sentence fits beside this one: it would be the whole answer."""
            return not any(costs[i] + costs[j] <= MAX_CHARS and not repeats[i, j] for j in everyone if j != i)

        chosen: list[int] = []
        room = MAX_CHARS
        for i in sorted(everyone, key=lambda i: (alone(i), -scores[i], candidates[i].place)):
            if len(chosen) == MAX_SENTENCES:
                break
            if len(chosen) >= MIN_SENTENCES and scores[i] < _KEEP_SHARE * scores[chosen[0]]:
                break
            if costs[i] <= room and not repeats[i, chosen].any():
                chosen.append(i)
                room -= costs[i]
        quotes = sorted((candidates[i] for i in chosen), key=lambda candidate: candidate.place)
        text = " ".join(_quoted(candidate) for candidate in quotes) or self.no_answer
        return Completion(text=text, model=MODEL, finish_reason="stop", calls=0)


def _quoted(candidate: _Candidate) -> str:
    return f"{candidate.text} {candidate.citation}"


def _candidates(context: Context) -> list[_Candidate]:
    """Every distinct sentence of the context; single lines where it holds no sentence at all."""
    for split in (split_sentences, split_lines):
        documents: dict[str, int] = {}
        seen: set[str] = set()
        found = []
        for passage in context.used:
            chunk = passage.hit.chunk
            rank = documents.setdefault(chunk.doc_id or chunk.title, len(documents))
            for number, text in enumerate(split(passage.text)):
                key = " ".join(_WORD.findall(text.casefold()))
                if key and key not in seen and len(text) + len(passage.citation) + 1 < MAX_CHARS:
                    seen.add(key)
                    place = (rank, chunk.chunk_index, number)
                    found.append(_Candidate(text, passage.citation, passage.hit.parts["dense"], place))
        if found:
            return found
    return []


def _shortlist(question: str, candidates: list[_Candidate]) -> list[_Candidate]:
    """At most ``_MAX_CANDIDATES`` sentences to embed, by their words and their chunk."""
    if len(candidates) <= _MAX_CANDIDATES:
        return candidates
    shares = _word_shares(question, candidates)
    ranked = sorted(range(len(candidates)), key=lambda i: -(_WORDS_WEIGHT * shares[i] + candidates[i].chunk_cosine))
    return [candidates[i] for i in sorted(ranked[:_MAX_CANDIDATES])]


def _word_shares(question: str, candidates: Sequence[_Candidate]) -> list[float]:
    """For each candidate the idf-weighted share (0..1) of the question's word stems that it holds."""
    stems = [_stems(candidate.text) for candidate in candidates]
    frequency = Counter(stem for words in stems for stem in words)
    idf = {stem: math.log(1 + len(candidates) / (1 + frequency[stem])) for stem in _stems(question)}
    total = sum(idf.values()) or 1.0
    return [sum(weight for stem, weight in idf.items() if stem in words) / total for words in stems]


def _stems(text: str) -> set[str]:
    """The words of ``text`` cut to six letters: enough to let "exports" meet "exporting"; codes and numbers whole."""
    words = (word for word in _WORD.findall(text.casefold()) if len(word) > 2)
    return {word if any(map(str.isdigit, word)) else word[:6] for word in words}
