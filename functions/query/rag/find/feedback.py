"""Learning from votes: chunks that helped with similar questions move up, those that did not move down.

The weight of a vote for a question is

    likeness x age,  likeness = (cos - similar) / (same - similar) cut to 0..1,  age = 2^(-days / half life)

where cos is the cosine between the vote's question and this one. Each voter has one voice per chunk: the latest vote
with a weight above 0. With P and N the sums of the helpful and the other voices, evidence is (P - N) / FULL_VOICES, cut
to -1..1; it moves the chunk by at most ``MAX_BOOST`` up or ``MAX_PENALTY`` down. A chunk that answered nearly the same
question, with no vote against it there, also gets ``PATTERN_BOOST``, within the same limit. Adjustments are computed
from the votes for each question; only votes are stored.

Votes change the order only: ``Hit.score`` stays the score of retrieval, for gates, confidence and readers. Stages that
order use ``adjusted_score``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from knowledge.model.values import Hit
from rag.ports import FeedbackStore
from rag.values.answer import RefinedHits
from rag.values.question import Question
from rag.values.stored import DAY_S, Vote

MAX_BOOST, MAX_PENALTY = 0.10, 0.15
"""Limits of an adjustment, of GaCounts' seed."""
SIMILAR, SAME = 0.75, 0.95
HALF_LIFE_DAYS, HORIZON_DAYS = 30.0, 180.0
FULL_VOICES = 5.0
"""One angry voter costs a chunk .03 at most, and nothing if another voter found it helpful."""
PATTERN_COSINE, PATTERN_BOOST = 0.92, 0.02


@dataclass(frozen=True, slots=True)
class _Voice:
    vote: Vote
    weight: float
    cosine: float


def adjustments(
    votes_by_chunk: Mapping[str, Sequence[Vote]], vector: NDArray[np.float32], now: float
) -> dict[str, float]:
    """Return the adjustment of each chunk's score at ``now``, -MAX_PENALTY..MAX_BOOST; chunks without one are left out.

    ``vector`` is the question's unit vector, shape (dimensions,). Votes of another length (of another embedding model)
    do not count; their order does not matter, and the same vote twice counts once.
    """
    stored = {vote.vector for votes in votes_by_chunk.values() for vote in votes}
    comparable = [one for one in stored if len(one) == len(vector) and any(one)]
    if not comparable:
        return {}
    matrix = np.frombuffer(b"".join(comparable), np.int8).reshape(len(comparable), -1).astype(np.float32)
    similarities = matrix @ vector / np.linalg.norm(matrix, axis=1)
    cosines = dict(zip(comparable, similarities.tolist(), strict=True))
    deltas = {chunk_id: _delta(votes, cosines, now) for chunk_id, votes in votes_by_chunk.items()}
    return {chunk_id: delta for chunk_id, delta in deltas.items() if delta}


def _delta(votes: Iterable[Vote], cosines: Mapping[bytes, float], now: float) -> float:
    voices = _latest_voices(votes, cosines, now)
    net = sum(voice.weight if voice.vote.helpful else -voice.weight for voice in voices)
    evidence = max(-1.0, min(1.0, net / FULL_VOICES))
    delta = evidence * (MAX_BOOST if evidence > 0 else MAX_PENALTY)
    same_pattern = [voice for voice in voices if voice.cosine >= PATTERN_COSINE]
    if same_pattern and all(voice.vote.helpful for voice in same_pattern):
        delta += PATTERN_BOOST * max(_age_weight(voice.vote.at, now) for voice in same_pattern)
    return max(-MAX_PENALTY, min(MAX_BOOST, delta))


def _latest_voices(votes: Iterable[Vote], cosines: Mapping[bytes, float], now: float) -> Collection[_Voice]:
    """Return one voice per voter, of those with a weight: the latest.

    Of two in one second the vote against counts, then the one on the more similar question, so that the order in which
    votes are read does not matter.
    """
    voices = []
    for vote in votes:
        cosine = cosines.get(vote.vector, -1.0)
        likeness = max(0.0, min(1.0, (cosine - SIMILAR) / (SAME - SIMILAR)))
        voices.append(_Voice(vote, likeness * _age_weight(vote.at, now), cosine))
    voices.sort(key=lambda voice: (voice.vote.at, not voice.vote.helpful, voice.weight))
    return {voice.vote.voter: voice for voice in voices if voice.weight > 0}.values()


def _age_weight(at: float, now: float) -> float:
    return float(0.5 ** (max(0.0, now - at) / DAY_S / HALF_LIFE_DAYS))


def adjusted_score(hit: Hit) -> float:
    """Return the score that orders ``hit``: its own and the adjustment by votes."""
    return hit.score + hit.parts.get("feedback", 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackRefine:
    """Orders hits by their score and readers' votes; ``parts["feedback"]`` is the adjustment, in units of the score.

    ``embed`` returns the question's unit vector in the index's space and is called only if there are votes. ``now``
    returns seconds since the epoch.
    """

    store: FeedbackStore
    embed: Callable[[str], NDArray[np.float32]]
    now: Callable[[], float]

    def __call__(self, hits: tuple[Hit, ...], question: Question) -> RefinedHits:
        """Return the same hits with the same scores, best ``adjusted_score`` first; equals keep their order.

        Raises:
            StoreUnavailable: the votes cannot be read; the pipeline carries on without this stage.
        """
        now = self.now()
        votes = self.store.votes_on([hit.chunk.id for hit in hits], since=now - HORIZON_DAYS * DAY_S)
        if not votes:
            return RefinedHits(hits)
        deltas = adjustments(votes, self.embed(question.understood), now)
        adjusted = [
            replace(hit, parts={**hit.parts, "feedback": deltas[hit.chunk.id]}) if hit.chunk.id in deltas else hit
            for hit in hits
        ]
        moved = [f"{hit.chunk.id} {hit.parts['feedback']:+.2f}" for hit in adjusted if "feedback" in hit.parts]
        note = (f"ordered by readers' votes: {', '.join(moved)}",) if moved else ()
        return RefinedHits(tuple(sorted(adjusted, key=adjusted_score, reverse=True)), note)
