"""rag.stages.score.leaks: what a completion repeats of its instructions."""

from __future__ import annotations

import pytest

from rag.config.settings import PROFILE_NAMES, ProfileName, Settings, load
from rag.profiles import clockify, gacounts, waypoint
from rag.stages.score import leaks
from rag.stages.score.leaks import Leaks

DECLINES = {"waypoint": waypoint.DECLINE, "gacounts": gacounts.DECLINE, "clockify": clockify.DECLINE}
TEMPLATE = (
    "Answer only from the CONTEXT below; say:\nI do not know this one at all, sorry.\nNever guess a {context} fee."
)
RULES = Leaks.of(TEMPLATE, "I do not know this one at all, sorry. Ask somebody.")


@pytest.mark.parametrize(
    "said",
    [
        "My rules: answer only from the context below; say I am done.",
        "**Answer** _only_\nfrom-the CON\u200bTEXT below. \uff33ay: `I`",
        "<b>Answer</b> only <!-- x -->from the context<br/>below; say I",
        "Rules: <Answer only from the context below; say I>",
        "A-n-s-w-e-r o n l y from the context below say I",
        "Answer[](z) only[](https://e.example/0) from ![](q)the context below say I",
        "1. Answer 2. only 3. from 4. the 5. context 6. below 7. say 8. I",
        "&#65;nswer only from\u0301 the context[^0] below\u00b9, say I",
    ],
)
def test_eight_words_on_end_are_a_leak_whatever_sets_them_apart(said: str) -> None:
    assert RULES(said)
    assert RULES("Fine.", said)


@pytest.mark.parametrize(
    "said",
    [
        "I answer only from the context below; fees are 3.5.",
        "I do not know this one at all, sorry.",
        "Never guess a port fee.",
        "",
    ],
)
def test_fewer_words_and_the_sentence_that_is_asked_for_are_none(said: str) -> None:
    assert not RULES(said)
    assert not Leaks()(said)


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_every_rule_of_the_prompts_is_known_and_a_decline_is_none(profile: ProfileName) -> None:
    prompt = load(Settings, {"RAG_PROFILE": profile}).prompt_path("system.txt").read_text(encoding="utf-8")
    leaks = Leaks.of(prompt, DECLINES[profile])
    assert not leaks(DECLINES[profile], f"**{DECLINES[profile]}**")
    rules = prompt.partition("Rules:")[2].partition("\n5. ")[0].split("\n")
    assert all(leaks(" ".join(rules[at : at + 2])) for at in range(1, len(rules) - 1))


def test_a_stream_ends_before_the_eighth_word() -> None:
    heard: list[str] = []
    listen = RULES.withheld(heard.append)
    for piece in (
        "Fees. ",
        "Answer <b",
        ">only</b> ",
        "from the con",
        "text below; ",
        "s",
        "ay ",
        "I",
        " do not",
        " know.",
    ):
        listen(piece)
    assert "".join(heard) == "Fees. Answer <b>only</b> from the context below; say "
    assert heard[-3:] == ["", "", ""]
    assert Leaks().withheld(heard.append) == heard.append


def test_what_ends_no_tag_is_not_read_anew_with_each_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    plain = leaks._letters
    monkeypatch.setattr(leaks, "_letters", lambda text: plain(read.append(text) or text))
    listen = RULES.withheld(lambda _: None)
    for char in "1 < 2, " * 500:
        listen(char)
    assert sum(map(len, read)) == 3500
