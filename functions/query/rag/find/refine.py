"""Refine stages: drop, diversify and order the hits, if their order is in doubt by a language model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from knowledge.model.values import Chunk, Hit
from rag.contract import CLOSE, OPEN, Decider
from rag.find.feedback import adjusted_score
from rag.find.retrieve import Scale
from rag.ledger import Ledger
from rag.text.sources import is_later_message, newest_message, older_versions, path_of
from rag.text.stems import content_stems
from rag.values.answer import CheckedClaim, Passage, RefinedHits
from rag.values.question import Question


@dataclass(frozen=True, slots=True)
class MinScore:
    """Keeps hits whose plain cosine is at least ``threshold`` on ``scale``; the request's threshold wins."""

    threshold: float
    scale: Scale

    def __call__(self, hits: tuple[Hit, ...], question: Question) -> RefinedHits:
        bar = self.threshold if question.threshold is None else question.threshold
        return RefinedHits(tuple(hit for hit in hits if self.scale(hit.parts["dense"]) >= bar))


REPEAT_COSINE = 0.95
"""Above it two chunks are copies or editions of one text. Sections of one document lie below .87 in all samples."""


@dataclass(frozen=True, slots=True)
class Mmr:
    """Chooses ``keep`` hits one by one, each the best by relevance_weight x relevance - (1 - w) x likeness.

    Relevance is the hit's score (at most 1, as a cosine is) scaled to 0..1 over the candidates; likeness is the
    largest cosine to a hit that was already chosen (Carbonell and Goldstein, 1998). That sum alone lets copies of the
    best chunk win every place, as no other topic comes near their relevance: so a copy (``REPEAT_COSINE``) of a chosen
    hit is chosen only if nothing else is left, unless it has a word of the question that the chosen one lacks
    ("the rates of 2023 and 2025"). The chosen hits keep their order by score. Hits need their vectors.
    """

    relevance_weight: float
    keep: int

    def __call__(self, hits: tuple[Hit, ...], question: Question) -> RefinedHits:
        if len(hits) <= self.keep:
            return RefinedHits(hits)
        vectors = np.stack([hit.vector for hit in hits if hit.vector is not None])
        alike = vectors @ vectors.T
        copies = _copies(hits, alike > REPEAT_COSINE, question.understood)
        scores = np.minimum([hit.score for hit in hits], 1)
        spread = float(np.ptp(scores))
        value = self.relevance_weight * ((scores - scores.min()) / spread if spread else np.ones(len(hits)))
        likeness = np.zeros(len(hits))
        remaining, repeated = np.ones(len(hits), dtype=bool), np.zeros(len(hits), dtype=bool)
        for number in range(self.keep):
            new = remaining & ~repeated
            marginal = value - (1 - self.relevance_weight) * likeness
            best = int(np.argmax(np.where(new if new.any() else remaining, marginal, -np.inf)))
            likeness = np.maximum(likeness, alike[best]) if number else alike[best]
            repeated |= copies[:, best]
            remaining[best] = False
        return RefinedHits(tuple(hits[i] for i in np.flatnonzero(~remaining)))


def _copies(hits: tuple[Hit, ...], near: NDArray[np.bool_], question: str) -> NDArray[np.bool_]:
    """Return, for rows i and columns j, whether hit i has no word of the question that hit j lacks."""
    pairs = [(i, j) for i, j in np.argwhere(near).tolist() if i != j]
    asked = content_stems(question) if pairs else set()
    chunks = {i: hits[i].chunk for i, _ in pairs}  # few hits are near
    stems = {i: asked & content_stems(f"{one.title} {one.section} {one.text}") for i, one in chunks.items()}
    copies = np.zeros_like(near)
    for i, j in pairs:
        copies[i, j] = stems[i] <= stems[j]
    return copies


_YEAR = re.compile(r"\b(?:19|20)\d{2}\b")


@dataclass(frozen=True, slots=True)
class NewerFirst:
    """Orders hits by date where their ``adjusted_score`` differs by less than ``width``; scores do not change.

    "Within .02" is no equivalence (.80 and .79 are alike, .79 and .775 are, .80 and .775 are not): a sort that compares
    pairs, like the seed's, depends on the initial order. Here the best remaining hit opens a group, which takes every
    hit less than ``width`` below it. Within a group hits of a year that the question names come first, then newer ones,
    then undated ones; equal dates are ordered by score, then as retrieved. The result depends on the question and the
    set of hits only, and no hit passes one that scores better by ``width`` or more.
    """

    width: float

    def __call__(self, hits: tuple[Hit, ...], question: Question) -> RefinedHits:
        left = by_score = sorted(hits, key=lambda hit: (-adjusted_score(hit), -hit.parts["dense"], hit.chunk.number))
        ordered: list[Hit] = []
        years = frozenset(_YEAR.findall(question.understood))
        while left:
            top = adjusted_score(left[0])
            size = next((i for i, hit in enumerate(left) if top - adjusted_score(hit) >= self.width), len(left)) or 1
            ordered += sorted(left[:size], key=lambda hit: (not years & _years(hit), -hit.chunk.dated))
            left = left[size:]
        places = {hit.chunk.number: place for place, hit in enumerate(by_score)}
        moved_up = [hit.chunk.id for place, hit in enumerate(ordered) if place < places[hit.chunk.number]]
        rule = f"of {', '.join(sorted(years))}, then newer first" if years else "newer first"
        return RefinedHits(tuple(ordered), (f"{rule}: {', '.join(moved_up)}",) if moved_up else ())


def _years(hit: Hit) -> set[str]:
    """Return the years that the title and the section name, else the year of the date."""
    chunk = hit.chunk
    return set(_YEAR.findall(f"{chunk.title} {chunk.section}")) or {str(chunk.dated // 10_000)}


SAME_COSINE = 0.84
"""From this cosine on two passages of different documents have the same subject.

On the sample of GaCounts, which has three pairs of editions, the 22 sections that two editions share have .848 to .991,
all others at most .835.
"""


def near_duplicates(one: Hit, other: Hit) -> bool:
    """Return whether two chunks have the same subject; False if a vector is unknown."""
    if one.vector is None or other.vector is None:
        return False
    return float(one.vector @ other.vector) >= SAME_COSINE


def newest_editions_first(hits: tuple[Hit, ...], question: Question) -> RefinedHits:
    """Return ``hits``, each behind its newer editions and later messages; the trail names those that moved up."""
    wanted = content_stems(question.understood)

    def precedes(new: Hit, old: Hit) -> bool:
        if new.match and is_later_message(new.chunk, old.chunk):  # without a match the first hit is quoted
            return True
        return _succeeds(new, old, wanted)

    ordered: dict[int, Hit] = {}
    for hit in hits:
        editions = [hit, *(one for one in hits if precedes(one, hit))]
        newest_first = sorted(editions, key=lambda one: sum(precedes(new, one) for new in editions))
        ordered |= {one.chunk.number: ordered.get(one.chunk.number, one) for one in newest_first}
    before = [hit.chunk.number for hit in hits]
    moved_up = [hit.chunk.id for place, hit in enumerate(ordered.values()) if place < before.index(hit.chunk.number)]
    return RefinedHits(tuple(ordered.values()), (f"newer edition first: {', '.join(moved_up)}",) if moved_up else ())


def outdated_passages(passages: Sequence[Passage], question: str) -> Mapping[int, Sequence[int]]:
    """Return the places of the ``passages`` with newer editions among them, with the places of these."""
    wanted = content_stems(question)
    hits = [passage.hit for passage in passages]
    newer = ([place for place, one in enumerate(hits) if _succeeds(one, older, wanted)] for older in hits)
    return {place: editions for place, editions in enumerate(newer) if editions}


def is_outdated(statements: Sequence[CheckedClaim], passages: Sequence[Passage], question: str) -> bool:
    """Return whether a statement rests on a passage whose newer edition differs.

    It differs if the statement has a word of the older passage that no passage of the newer document has. A statement
    that also cites the newer edition is not outdated.
    """
    wanted = content_stems(question)
    hits = {passage.hit.chunk.number: passage.hit for passage in passages}

    def is_replaced(statement: CheckedClaim, older: Hit) -> bool:
        newer = [one for one in hits.values() if _succeeds(one, older, wanted) and _is_newer(one.chunk, older.chunk)]
        if not newer or any(one.chunk.number in statement.chunks for one in newer):
            return False
        documents = {one.chunk.doc_id for one in newer}
        newer_stems = content_stems("\n".join(one.chunk.text for one in hits.values() if one.chunk.doc_id in documents))
        return bool(content_stems(statement.text) & content_stems(older.chunk.text) - newer_stems)

    taken = (one for one in statements if one.support != "unsupported")
    return any(is_replaced(one, hits[number]) for one in taken for number in one.chunks if number in hits)


def uncited_message(cited: Sequence[Chunk]) -> str:
    """Return writer and day of the newest message of a thread that is ``cited`` by earlier ones alone, else ``""``."""
    newest = {chunk.doc_id for chunk in cited if not newest_message(chunk)}
    return next(filter(None, (newest_message(chunk) for chunk in cited if chunk.doc_id not in newest)), "")


_NUMBERS = re.compile(r"[\W\d_]+")


def are_versions(one: Chunk, other: Chunk) -> bool:
    """Return whether two files differ by a version or by numbers in their names."""
    names = {_NUMBERS.sub(" ", PurePosixPath(chunk.path).stem) for chunk in (one, other)}
    return len(names) == 1 or other.path in older_versions(one) or one.path in older_versions(other)


def _is_newer(one: Chunk, other: Chunk) -> bool:
    return other.path in older_versions(one) or 0 < other.dated < one.dated


def _succeeds(newer: Hit, older: Hit, wanted: set[str]) -> bool:
    """Return whether ``newer`` is a newer edition of ``older``, and no ``wanted`` name is in the older one only.

    Dates tell it, or versions in the files' names. If the question names the year or the version of the older edition
    alone ("in 2023", "v1"), that edition counts as the newer one.
    """
    chunks = one, other = newer.chunk, older.chunk
    if one.doc_id == other.doc_id or _is_newer(one, other) == _is_newer(other, one):
        return False
    if not near_duplicates(newer, older):
        return False
    files = [PurePosixPath(chunk.path).stem if are_versions(one, other) else "" for chunk in chunks]
    marks = [content_stems(f"{chunk.dated // 10_000} {file}") for chunk, file in zip(chunks, files, strict=True)]
    names = [content_stems(f"{chunk.title} {chunk.section}") | own for chunk, own in zip(chunks, marks, strict=True)]
    if _is_newer(one, other):
        return not wanted & (names[1] - names[0])
    return bool(wanted & (marks[0] - names[1]))


TOP = 3
"""Number of best scores that must lie together for a doubtful order (GaCounts' seed)."""
MAX_HITS = 8
"""Number of best hits that the model orders."""
PASSAGE_CHARS = 800
"""Characters of each passage for the model: enough to judge it, few enough to be quick."""

# The seed's own words.
_TEMPORAL = re.compile(r"\b(?:latest|current)\b", re.IGNORECASE)
_COMPARISON = re.compile(r"\b(?:difference between|versus)\b", re.IGNORECASE)
_NUMBER = re.compile(rf"{OPEN}\s*(\d{{1,3}})\s*{CLOSE}")
_RANKING = re.compile(r"\[?\s*\d{1,3}(?:\s*,\s*\d{1,3})*\s*\]?", re.ASCII)


def needs_rerank(question: str, hits: tuple[Hit, ...], spread: float) -> str | None:
    """Return the reason to re-rank ``hits``, None if there is none.

    There are two hits and the question is temporal or a comparison, or the three best scores lie within ``spread``.
    """
    if len(hits) < 2:
        return None
    if match := _TEMPORAL.search(question):
        return f"temporal question ({match[0].lower()!r})"
    if match := _COMPARISON.search(question):
        return f"comparison ({match[0].lower()!r})"
    top = sorted(map(adjusted_score, hits), reverse=True)[:TOP]
    if len(top) == TOP and top[0] - top[-1] <= spread + 1e-9:  # for rounding
        return f"the top {TOP} scores are within {spread:g}"
    return None


def number_passages(hits: tuple[Hit, ...]) -> str:
    """Return ``hits`` as the model sees them: numbered from 1, each with its title and the beginning of its text.

    Numbers in square brackets within a hit get round ones.
    """
    blocks = []
    for number, hit in enumerate(hits, start=1):
        passage = f"{path_of(hit.chunk)}\n{hit.chunk.text[:PASSAGE_CHARS].strip()}"
        blocks.append(f"[{number}] {_NUMBER.sub(r'(\1)', passage)}")
    return "\n\n".join(blocks)


def parse_ranking(text: str, count: int) -> tuple[int, ...] | None:
    """Parse the ranking as positions from 0, best first; None unless each of 1..``count`` is there exactly once.

    ``text`` is a list of numbers, ``2, 1, 3`` or ``[2, 1, 3]``, and nothing else.
    """
    stripped = text.strip()
    if not _RANKING.fullmatch(stripped) or stripped.startswith("[") != stripped.endswith("]"):
        return None
    numbers = tuple(int(number) for number in re.findall(r"\d+", stripped, re.ASCII))
    return tuple(number - 1 for number in numbers) if sorted(numbers) == list(range(1, count + 1)) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmRerank(Decider):
    """Orders the first ``MAX_HITS`` hits by relevance; the others follow in their order.

    ``template`` has ``{question}`` and ``{passages}``. Scores do not change. Another reply keeps the order.
    """

    spread: float

    def __call__(self, hits: tuple[Hit, ...], question: Question, ledger: Ledger) -> RefinedHits:
        """Return the same hits, best first; ``ledger`` counts the call and notes "reranked".

        Raises:
            LlmError: the model cannot be reached in time or refused; the pipeline carries on without it.
        """
        if needs_rerank(question.understood, hits, self.spread) is None:
            return RefinedHits(hits)
        ranked, rest = hits[:MAX_HITS], hits[MAX_HITS:]
        asked, passages = question.understood, number_passages(ranked)
        fence = self.fence(asked, passages)
        completion = self.complete(ledger, fence, question=fence.around(asked), passages=fence.around(passages))
        ranking = parse_ranking(completion, len(ranked))
        if ranking is None:
            return RefinedHits(hits)
        ledger.events.append("reranked")
        best = tuple(ranked[place] for place in ranking)
        return RefinedHits((*best, *rest), (f"re-ranked by the model: {', '.join(hit.chunk.id for hit in best)}",))
