"""rag.contract: what an answer's form says of it."""

import pytest

from rag.contract import begins_with_decline, is_empty, may_decline
from rag.profiles import load_profile
from rag.profiles.clockify import DECLINE


@pytest.mark.parametrize("profile", ["waypoint", "gacounts", "clockify"])
def test_every_profiles_own_sentence_is_a_refusal_from_its_first_letter_on(profile: str) -> None:
    decline = load_profile(profile).settings.decline
    sentence = decline.split(". ", maxsplit=1)[0].rstrip(".")
    for said in (decline, sentence, f"**{sentence}.** It only covers timers.", f'"{sentence.upper()}"'):
        assert begins_with_decline(said, decline)
    typographic = sentence.replace("'", "\u2019")
    assert begins_with_decline(typographic, decline)
    assert all(may_decline(typographic[:end], decline) for end in range(len(typographic)))
    assert not begins_with_decline(f"Press Start. {sentence}.", decline)
    assert not may_decline(f"Press Start. {sentence}.", decline)


def test_other_english_is_not_read() -> None:
    for said in ("No, the documentation does not have to be in English.", "I don't know based on the MDX guide."):
        assert not begins_with_decline(said, DECLINE)


@pytest.mark.parametrize(("text", "nothing"), [("- , **.**", True), ("5", False)])
def test_nothing_is_left(text: str, nothing: bool) -> None:
    assert is_empty(text) is nothing
