"""What is taken for a remark: of people's questions nearly none, of remarks that the vectors were not made of most."""

import random

import pytest
from evaluation.rates import json_lines, questions, report
from faults.drawing import by_night
from real_model import SAMPLES, model

from rag.ask.remarks import KINDS
from rag.wiring.application import load_utterances

QUESTIONS = by_night(130, 400)
FILES = ("asked.jsonl", "questions.jsonl")
OURS = {
    "thanks": "thanks, that helps / ok thx a lot / Perfect, thank you! / cheers mate / that was really useful"
    " / great answer",
    "assent": "yes / yep that's it / ok got it / sounds good / exactly what I wanted to know / all clear now",
    "dissent": "that is wrong / no, that's not what I asked / this answer makes no sense / you are mistaken / nope"
    " / that didn't help at all / I don't think that's correct / not what i was looking for",
    "identity": "who are you? / are you a real person or a computer / what's your name? / Is this a chatbot?"
    " / who built you",
    "help": "what can I ask you? / what do you know about? / what are you able to do for me",
    "repeat": "say that again please / could you repeat that? / come again? / what did you just say",
    "simpler": "can you explain that more simply? / I don't understand / explain it like I'm five"
    " / that's too complicated, put it in plain words / what do you mean by that?",
    "greeting": "hi there / good morning!",
    "goodbye": "ok bye",
}
"""Forty remarks that were written before anything was measured, and that nothing is fitted on."""


def kinds(texts: list[str]) -> list[str]:
    known = load_utterances()
    return [known.kind(vector) for vector in model().embed(texts)]


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["squad_v11_dev", "clapnq_dev", "covid_faq"])
def test_public_questions_are_questions(name: str) -> None:
    texts = questions(name)
    _stay_questions(name, random.Random(0).sample(texts, min(QUESTIONS, len(texts))))


def test_questions_of_the_samples_are_questions() -> None:
    places = [SAMPLES / name / file for name in ("waypoint", "gacounts", "clockify") for file in FILES]
    _stay_questions("samples", [row["question"] for place in places for row in json_lines(place)])


def test_remarks_are_told() -> None:
    pairs = [(text, kind) for kind, texts in OURS.items() for text in texts.split(" / ")]
    told = [found == kind for found, (_, kind) in zip(kinds([text for text, _ in pairs]), pairs, strict=True)]
    report("remarks told, with their kind", sum(told), len(pairs), 0.75)


def _stay_questions(name: str, texts: list[str]) -> None:
    found = kinds(texts)
    report(f"{name}: questions that stay questions", found.count(KINDS[0]), len(texts), 0.99)
