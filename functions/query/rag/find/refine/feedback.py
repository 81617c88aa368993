"""Learning from votes: chunks that helped with similar questions move up, those that did not move down.

A vote counts for a question as much as

    likeness x age,  likeness = (cos - similar) / (same - similar) cut to 0..1,  age = 2^(-days / half life)

with cos the cosine between the vote's question and this one. Per chunk each voter has one voice, the latest of those
that count at all. With P and N the sums of the helpful and the other voices, evidence is (P - N) / full voices, cut to
-1..1, and moves the chunk by at most ``max_boost`` up or ``max_penalty`` down. A chunk that answered nearly the same
question and has no vote against it there gets ``pattern_boost`` beside that, within the same limit: what worked once is
tried first. Take the votes away and the adjustment is gone.

It orders and does no more: ``Hit.score`` stays what retrieval found, for gates, confidence and readers. Stages that
order go by ``adjusted_score``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from knowledge.model.values import Hit
from rag.ports.stores import FeedbackStore
from rag.values.answer import RefinedHits
from rag.values.question import Question
from rag.values.stored import DAY_S, Vote


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackKnobs:
    """The numbers of the module's formula; ``max_boost`` and ``max_penalty`` are those of GaCounts' seed.

    With five full voices a single angry voter costs a chunk .03 at most, and with one voice for it nothing.
    """

    max_boost: float = 0.10
    max_penalty: float = 0.15
    similar: float = 0.75
    same: float = 0.95
    half_life_days: float = 30.0
    horizon_days: float = 180.0
    full_voices: float = 5.0
    pattern_cosine: float = 0.92
    pattern_boost: float = 0.02


def adjustments(
    votes_by_chunk: Mapping[str, Sequence[Vote]], vector: NDArray[np.float32], now: float, knobs: FeedbackKnobs
) -> dict[str, float]:
    """By how much to move each chunk's score, -max_penalty..max_boost; chunks that stay are left out.

    Args:
        votes_by_chunk: by chunk id, in any order; the same vote twice counts once.
        vector: the question's unit vector, shape (dimensions,). Votes of another length (of another embedding
            model) do not count.
        now: seconds since the epoch.
        knobs: the formula's numbers.
    """
    cosines = _cosines({vote.vector for votes in votes_by_chunk.values() for vote in votes}, vector)
    deltas = {chunk_id: _delta(votes, cosines, now, knobs) for chunk_id, votes in votes_by_chunk.items()}
    return {chunk_id: delta for chunk_id, delta in deltas.items() if delta}


@dataclass(frozen=True, slots=True)
class _Voice:
    helpful: bool
    weight: float
    cosine: float
    at: float


def _cosines(stored: Iterable[bytes], vector: NDArray[np.float32]) -> Mapping[bytes, float]:
    """The cosine of ``vector`` with each vector as it is ``stored``; those of no or another length are left out."""
    fitting = [one for one in stored if len(one) == len(vector) and any(one)]
    if not fitting:
        return {}
    matrix = np.frombuffer(b"".join(fitting), np.int8).reshape(len(fitting), -1).astype(np.float32)
    cosines = matrix @ vector / np.linalg.norm(matrix, axis=1)
    return dict(zip(fitting, cosines.tolist(), strict=True))


def _delta(votes: Iterable[Vote], cosines: Mapping[bytes, float], now: float, knobs: FeedbackKnobs) -> float:
    voices = _standing(votes, cosines, now, knobs)
    good = [voice for voice in voices if voice.helpful]
    bad = [voice for voice in voices if not voice.helpful]
    net = sum(voice.weight for voice in good) - sum(voice.weight for voice in bad)
    evidence = max(-1.0, min(1.0, net / knobs.full_voices))
    delta = evidence * (knobs.max_boost if evidence > 0 else knobs.max_penalty)
    successes = [voice for voice in good if voice.cosine >= knobs.pattern_cosine]
    if successes and not any(voice.cosine >= knobs.pattern_cosine for voice in bad):
        delta += knobs.pattern_boost * max(_age_weight(voice.at, now, knobs) for voice in successes)
    return max(-knobs.max_penalty, min(knobs.max_boost, delta))


def _standing(
    votes: Iterable[Vote], cosines: Mapping[bytes, float], now: float, knobs: FeedbackKnobs
) -> Collection[_Voice]:
    """One of each voter, of those with a weight."""
    voices: dict[str, _Voice] = {}
    for vote in votes:
        voice = _voice(vote, cosines.get(vote.vector, -1.0), now, knobs)
        known = voices.get(vote.voter)
        if voice.weight > 0 and (known is None or _precedence(voice) > _precedence(known)):
            voices[vote.voter] = voice
    return voices.values()


def _precedence(voice: _Voice) -> tuple[float, bool, float]:
    """Of one voter's votes the latest counts.

    Of two in one second it is the one against (doubt lowers, it never raises), then the one on the more similar
    question, so that the order in which they are read does not matter.
    """
    return voice.at, not voice.helpful, voice.weight


def _voice(vote: Vote, cosine: float, now: float, knobs: FeedbackKnobs) -> _Voice:
    likeness = max(0.0, min(1.0, (cosine - knobs.similar) / (knobs.same - knobs.similar)))
    return _Voice(vote.helpful, likeness * _age_weight(vote.at, now, knobs), cosine, vote.at)


def _age_weight(at: float, now: float, knobs: FeedbackKnobs) -> float:
    return float(0.5 ** (max(0.0, now - at) / DAY_S / knobs.half_life_days))


def adjusted_score(hit: Hit) -> float:
    """What ``hit`` is ordered by: its score and what readers said of it."""
    return hit.score + hit.parts.get("feedback", 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackRefine:
    """Orders hits by their score and what readers said; ``parts["feedback"]`` is the adjustment, in the score's units.

    ``embed`` gives the question's unit vector in the index's own space; it is called only when there are votes.
    ``now`` gives seconds since the epoch.
    """

    store: FeedbackStore
    embed: Callable[[str], NDArray[np.float32]]
    now: Callable[[], float]
    knobs: FeedbackKnobs

    def __call__(self, hits: tuple[Hit, ...], question: Question) -> RefinedHits:
        """The same hits with the same scores, best ``adjusted_score`` first, equals in the order that they had.

        Raises:
            StoreUnavailable: the votes cannot be read; the pipeline carries on without this stage.
        """
        if not hits:
            return RefinedHits(hits)
        now = self.now()
        since = now - self.knobs.horizon_days * DAY_S
        votes = self.store.votes_on([hit.chunk.id for hit in hits], since=since)
        if not any(votes.values()):
            return RefinedHits(hits)
        deltas = adjustments(votes, self.embed(question.understood), now, self.knobs)
        adjusted = [_adjusted(hit, deltas[hit.chunk.id]) if hit.chunk.id in deltas else hit for hit in hits]
        moved = [f"{hit.chunk.id} {hit.parts['feedback']:+.2f}" for hit in adjusted if "feedback" in hit.parts]
        note = (f"ordered by readers' votes: {', '.join(moved)}",) if moved else ()
        return RefinedHits(tuple(sorted(adjusted, key=adjusted_score, reverse=True)), note)


def _adjusted(hit: Hit, delta: float) -> Hit:
    return replace(hit, parts={**hit.parts, "feedback": delta})
