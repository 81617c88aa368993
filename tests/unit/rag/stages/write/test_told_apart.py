"""Text is held back until it is known not to be a refusal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.stages.score.contract import may_decline
from rag.stages.write.told_apart import told_apart

DECLINE = "I don't have specific information about that in the knowledge base. Please rephrase your question."


def heard(*pieces: str) -> list[str]:
    found: list[str] = []
    listen = told_apart(found.append, DECLINE)
    for piece in pieces:
        listen(piece)
    return [text for text in found if text]


def test_an_answer_is_let_through_at_the_first_sign_that_it_is_one() -> None:
    assert heard("I", " don", "'t", " know", " the", " fee.") == ["I don't know", " the", " fee."]
    assert heard("SGD", " 50.") == ["SGD", " 50."]


@pytest.mark.parametrize("said", [DECLINE, f"**{DECLINE}** [Import permits]", "\u201cI don\u2019t have specific"])
def test_a_refusal_and_what_may_become_one_is_held_back(said: str) -> None:
    assert heard(*said) == []


@given(st.lists(st.text(max_size=8), max_size=20))
def test_what_was_let_through_is_what_was_written(pieces: list[str]) -> None:
    let_through = "".join(heard(*pieces, " and more of it."))
    assert let_through in {"", "".join(pieces) + " and more of it."}


def test_a_long_refusal_is_not_read_anew_with_each_word(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(text: str, decline: str) -> bool:
        read.append(text)
        return may_decline(text, decline)

    monkeypatch.setattr("rag.stages.write.told_apart.may_decline", counted)
    assert heard(*f"{' ' * 5000}{DECLINE} {'And more. ' * 500}") == []
    assert len(read) <= len(DECLINE)
