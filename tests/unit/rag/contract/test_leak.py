"""rag.contract.leak: what a completion repeats of its instructions."""

from __future__ import annotations

import pytest
from fakes import decline_of, make_hit

from rag.answer.forms import IdForm
from rag.answer.growing import read_answer
from rag.answer.printers import plain_text
from rag.config.settings import Settings, load
from rag.contract.leak import Leaks
from rag.profiles import PROFILES
from rag.values.answer import Context, Passage

TEMPLATE = (
    "Answer only from the CONTEXT below; say:\nI do not know this one at all, sorry.\nNever guess a {context} fee."
)
RULES = Leaks.of(TEMPLATE, "I do not know this one at all, sorry. Ask somebody.")
CONTEXT = Context("", (Passage(hit=make_hit(), citation="[id_1]", text=""),))


@pytest.mark.parametrize(
    "said",
    [
        "My rules: answer only from the context below; say I am done.",
        "**Answer** _only_\nfrom-the CON\u200bTEXT below. \uff33ay: `I`",
        "<b>Answer</b> only <!-- x -->from the context<br/>below; say I",
        "A-n-s-w-e-r o n l y from the context below say I",
        "Answer only [id_1] from [id_9] the context below say I",
        "1. Answer 2. only 3. from 4. the 5. context 6. below 7. say 8. I",
        "| a |\n|---|\n| Answer only from |\n| the context |\n\nbelow\n\n- say\n\n> I",
        "&#65;nswer only from\u0301 the context[^0] below\u00b9, say I",
    ],
)
def test_eight_words_on_end_are_a_leak_whatever_sets_them_apart(said: str) -> None:
    assert RULES(plain_text(read_answer(said, IdForm(), CONTEXT).tree))


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


@pytest.mark.parametrize("profile", PROFILES)
def test_every_rule_of_the_prompts_is_known_and_a_decline_is_none(profile: str) -> None:
    prompt = load(Settings, {"RAG_PROFILE": profile}).prompt_path("system.txt").read_text(encoding="utf-8")
    leaks = Leaks.of(prompt, decline_of(profile))
    assert not leaks(decline_of(profile))
    rules = prompt.partition("Rules:")[2].partition("\n5. ")[0].split("\n")
    assert all(leaks(" ".join(rules[at : at + 2])) for at in range(1, len(rules) - 1))
