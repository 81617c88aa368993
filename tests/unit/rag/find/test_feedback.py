"""rag.find.feedback: what readers' votes do to the order, and what they cannot do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from fakes import make_hit
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.values import Hit
from rag.find.feedback import FeedbackRefine, adjusted_score, adjustments
from rag.values.answer import RefinedHits
from rag.values.question import Question
from rag.values.stored import DAY_S, Vote

NOW = 1_700_000_000.0
ASKED = np.zeros(8, np.float32)
ASKED[0] = 1.0


def cast(helpful: bool, voter: str, cosine: float = 1.0, age_days: float = 0.0) -> Vote:
    """A vote on a question at ``cosine`` to the one that is asked, ``age_days`` ago."""
    values = np.zeros(8)
    values[:2] = cosine, np.sqrt(1 - cosine**2)
    vector = np.rint(127 * values / abs(values).max()).astype(np.int8).tobytes()
    return Vote(helpful=helpful, question="q", voter=voter, at=NOW - age_days * DAY_S, vector=vector)


def crowd(helpful: bool, count: int, **fields: float) -> list[Vote]:
    return [cast(helpful, f"v{n}", **fields) for n in range(count)]


def delta(*votes: Vote) -> float:
    return adjustments({"id_1": votes}, ASKED, NOW).get("id_1", 0.0)


HITS = tuple(make_hit(number=number, cosine=score) for number, score in enumerate((0.84, 0.86, 0.82), start=1))


@dataclass
class Votes:
    by_chunk: Mapping[str, Sequence[Vote]]
    since: float = 0.0

    def votes_on(self, chunk_ids: Sequence[str], *, since: float) -> Mapping[str, Sequence[Vote]]:
        self.since = since
        return {chunk_id: self.by_chunk[chunk_id] for chunk_id in chunk_ids if chunk_id in self.by_chunk}


def refined(votes: Mapping[str, Sequence[Vote]], hits: tuple[Hit, ...] = HITS) -> RefinedHits:
    stage = FeedbackRefine(store=Votes(votes), embed=lambda text: ASKED, now=lambda: NOW)  # type: ignore[arg-type]
    return stage(hits, Question(text="q"))


def test_votes_order_hits_and_leave_their_scores() -> None:
    stage_result = refined({"id_1": crowd(True, 5), "id_2": crowd(False, 5)})
    found = stage_result.hits
    assert [(hit.chunk.number, hit.score, round(adjusted_score(hit), 6)) for hit in found] == [
        (1, 0.84, 0.94),
        (3, 0.82, 0.82),
        (2, 0.86, 0.71),
    ]
    assert found[0].parts == {"dense": 0.84, "feedback": pytest.approx(0.10)}
    assert found[1].parts == {"dense": 0.82}
    assert stage_result.trail == ("ordered by readers' votes: id_1 +0.10, id_2 -0.15",)


def test_one_angry_user_cannot_bury_a_document() -> None:
    angry = [cast(False, "one", age_days=n / 10) for n in range(100)]
    assert delta(*angry) == pytest.approx(-0.03)
    others = tuple(make_hit(number=n, cosine=0.82) for n in (5, 6))
    assert [hit.chunk.number for hit in refined({"id_2": angry}, (HITS[1], *others)).hits] == [2, 5, 6]


def test_evidence_grows_with_voices_up_to_limits_and_voices_cancel() -> None:
    ups = [delta(*crowd(True, count)) for count in (*range(6), 100)]
    downs = [delta(*crowd(False, count)) for count in (*range(6), 100)]
    assert (ups, downs) == (sorted(ups), sorted(downs, reverse=True))
    assert [ups[0], ups[-1], downs[-1]] == pytest.approx([0, 0.10, -0.15])
    assert 0 < ups[1] < 0.05  # one happy user
    assert delta(cast(True, "a"), cast(False, "b")) == 0


def test_votes_count_on_similar_questions_only_more_the_more_alike_and_fade() -> None:
    deltas = [delta(*crowd(True, 2, cosine=cosine)) for cosine in (0.6, 0.74, 0.8, 0.9, 0.99)]
    assert deltas[:2] == [0, 0]
    assert 0 < deltas[2] < deltas[3] < deltas[4]
    fresh, month = (delta(cast(False, "a", age_days=age)) for age in (0, 30))
    assert month == pytest.approx(fresh / 2)


def test_a_voters_latest_vote_on_such_a_question_counts() -> None:
    old, new = cast(False, "a", age_days=2), cast(True, "a", age_days=1)
    assert delta(old, new) == delta(new, old) == delta(new) > 0
    assert delta(new, cast(False, "a", cosine=0.2)) == delta(new)
    assert delta(cast(False, "a"), cast(True, "a")) == delta(cast(False, "a"))  # of one second the one against


def test_a_past_success_is_tried_first_unless_somebody_disagrees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag.find.feedback.FULL_VOICES", 1000.0)
    assert delta(cast(True, "a")) == pytest.approx(0.02, abs=0.001)
    assert delta(cast(True, "a", cosine=0.9)) == pytest.approx(0.0, abs=0.001)
    assert delta(cast(True, "a"), cast(False, "b")) == 0


def test_votes_of_another_embedding_model_or_without_a_vector_do_not_count() -> None:
    vote = cast(True, "a")
    assert delta(replace(vote, vector=b"\x7f\x00"), replace(vote, voter="b", vector=b"")) == 0


def test_without_votes_within_the_horizon_nothing_is_embedded_and_nothing_moves() -> None:
    def embed(text: str) -> np.ndarray:
        raise AssertionError("embedded for nothing")

    votes = Votes({})
    stage = FeedbackRefine(store=votes, embed=embed, now=lambda: NOW)  # type: ignore[arg-type]
    assert stage(HITS, Question(text="q")) == RefinedHits(HITS)
    assert stage((), Question(text="q")) == RefinedHits(())
    assert votes.since == NOW - 180 * DAY_S


@given(
    st.lists(
        st.builds(
            cast,
            helpful=st.booleans(),
            voter=st.sampled_from("abcdefghijkl"),
            cosine=st.floats(-1, 1),
            age_days=st.floats(-1, 400),
        ),
        max_size=30,
    )
)
def test_bounded_idempotent_the_same_in_any_order_and_moved_little_by_one_more_voice(votes: list[Vote]) -> None:
    value = delta(*votes)
    assert -0.15 <= value <= 0.10
    assert delta(*votes, *votes) == pytest.approx(value)
    assert delta(*reversed(votes)) == pytest.approx(value)
    assert value - 0.06 <= delta(*votes, cast(False, "somebody new")) <= value + 1e-9
