"""rag.ask.remarks: what is answered in kind, what is asked again, and what is a question."""

import numpy as np
import pytest

from rag.ask.remarks import KINDS, NEAR, NOT_ASKED, ONLY_QUOTES, REPLIES, SURE, VOTE, YOU_ASKED, Remarks, Utterances
from rag.values.answer import Decline, RepeatedQuestion
from rag.values.question import Question, SearchQuery, Turn

AXIS = {kind: np.eye(len(KINDS) + 1, dtype=np.float32)[number] for number, kind in enumerate(KINDS)}
ELSEWHERE = np.eye(len(KINDS) + 1, dtype=np.float32)[-1]
"""Where no utterance lies."""
SAID = {
    "Thanks!": "thanks", "No.": "dissent", "Hi,": "greeting", "Again?": "repeat", "Too hard.": "simpler",
    "Help": "help", "What did I ask?": "recall",
}  # fmt: skip
UNSURE = {"Cheers": "thanks", "Until when?": "goodbye", "Which later": "greeting", "Who pays?": "identity"}
GUIDE = Decline("nothing was asked", "I answer from 2 documents.", items=("Fees",))
TURN = Turn(question="What is a telex release?", answer="It replaces the paper.", at=0.0)


def embed(text: str) -> np.ndarray:
    if text in UNSURE:
        return between(UNSURE[text], SURE - 0.01)
    return AXIS[SAID[text]] if text in SAID else ELSEWHERE  # type: ignore[no-any-return]


def between(kind: str, share: float) -> np.ndarray:
    return share * AXIS[kind] + np.sqrt(1 - share**2) * ELSEWHERE  # type: ignore[no-any-return]


def known() -> Utterances:
    rows = [np.concatenate(([number], np.rint(127 * AXIS[kind]))) for number, kind in enumerate(KINDS)]
    return Utterances.from_rows(np.stack(rows).astype(np.int8))


def remarks(*, votes: bool = False, writes: bool = False) -> Remarks:
    return Remarks(utterances=known(), embed=embed, votes=votes, writes=writes, guide=lambda: GUIDE)


def said(
    text: str, *turns: Turn, alone: bool = False, answerable: bool = False, **about: bool
) -> str | RepeatedQuestion | None:
    remark = remarks(**about)(Question(text=text), lambda: turns, alone=alone, is_answerable=lambda: answerable)
    return remark.reply if isinstance(remark, Decline) else remark


def test_the_nearest_utterance_says_what_a_text_is_where_it_is_near_enough() -> None:
    assert [known().kind(between("thanks", share)) for share in (NEAR + 0.01, NEAR - 0.01)] == ["thanks", "question"]
    assert known().kind(0.8 * AXIS["question"] + 0.6 * AXIS["thanks"]) == "question"


def test_each_has_its_reply_and_dissent_points_to_the_vote_where_there_is_one() -> None:
    assert (said("Thanks!"), said("Hi,")) == (REPLIES["thanks"], REPLIES["greeting"])
    assert (said("No."), said("No.", votes=True)) == (REPLIES["dissent"], REPLIES["dissent"] + VOTE)
    assert said("Which permit?") is None


def test_what_is_less_near_to_a_remark_is_one_where_it_asks_nothing_and_the_documents_do_not_answer_it() -> None:
    assert said("Cheers") == said("Cheers", TURN) == REPLIES["thanks"]
    assert said("Cheers", answerable=True) is None
    assert [said(text, alone=alone) for text in ("Until when?", "Which later") for alone in (False, True)] == [None] * 4
    assert said("Thanks!", answerable=True) == REPLIES["thanks"]


def test_again_and_more_simply_answer_the_last_question_again() -> None:
    assert said("Again?", TURN) == said("Too hard.", TURN, writes=True) == RepeatedQuestion((TURN,))
    assert said("Too hard.", TURN) == RepeatedQuestion((TURN,), ONLY_QUOTES)
    assert said("Again?") == said("Too hard.", writes=True) == said("What did I ask?") == NOT_ASKED


def test_help_says_what_can_be_asked_and_the_questions_so_far_are_told() -> None:
    ask = remarks()
    assert ask(Question(text="Help"), tuple, alone=True, is_answerable=lambda: True) is GUIDE
    told = ask(Question(text="What did I ask?"), lambda: (TURN,), alone=False, is_answerable=lambda: True)
    assert told == Decline("nothing was asked", YOU_ASKED, items=(TURN.asked,))


def test_who_is_asked_and_a_question_without_a_word_of_content_may_lean_on_the_turns_before() -> None:
    assert (said("Who pays?", alone=True), said("Who pays?", TURN)) == (REPLIES["identity"], None)
    assert (said("And why?", alone=True), said("And why?")) == (NOT_ASKED, None)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Hi, which permit? Thanks!", "which permit?"),
        ("Thanks! No. Which  permit?", "Which  permit?"),
        ("In the US, who decides?", "In the US, who decides?"),
        ("Again? Which permit? Too hard.", "Again? Which permit? Too hard."),
        ("Hi, Thanks!", "Thanks!"),
    ],
)
def test_remarks_around_a_question_are_left_out_of_the_search(text: str, left: str) -> None:
    query = SearchQuery(text=text, top_k=1)
    assert remarks().drop_courtesies(query, Question(text=text)).text == left
