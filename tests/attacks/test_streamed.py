"""Completions of strangers while they are written: what a chat program has shown at any time leads nowhere else."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import pytest
from attacks.reading import leads
from attacks.tally import tally
from attacks.test_completions import (
    CODES,
    EVIL,
    FORMS,
    HELD,
    LEADING,
    LISTS,
    MARKS,
    PERMITS,
    SPREAD,
    TAKERS,
    knobs,
    strings,
)
from fakes import FakeIndex, deadline, make_evidence, make_inputs

from rag.config.settings import PROFILE_NAMES, ProfileName
from rag.http.chat_completions import WITH_SOURCES, Chat, Chunks
from rag.profiles import PROFILES
from rag.stages.write.chat_writer import ChatWriter
from rag.values.answer import Completion, Deadline, Message, Question
from rag.values.chat import OnText

pytestmark = pytest.mark.slow
OWN = {*HELD, *(f"mailto:{one}" for one in HELD)}


@dataclass
class Dripping:
    """A model that writes ``pieces``."""

    pieces: Sequence[str]
    model: str = "x"
    last_error: str | None = None

    def complete(self, messages: Sequence[Message], *, deadline: Deadline, on_text: OnText | None = None) -> Completion:
        for piece in self.pieces if on_text else ():
            assert on_text is not None
            on_text(piece)
        return Completion(text="".join(self.pieces), model=self.model, finish_reason="stop")


def cut(text: str, seed: int) -> list[str]:
    """``text`` in single characters, or (``seed`` above 0) in pieces of up to 40."""
    sizes, pieces, at = random.Random(seed), [], 0
    while at < len(text):
        size = sizes.choice((1, 3, 8, 40)) if seed else 1
        pieces.append(text[at : at + size])
        at += size
    return pieces


def shown(profile: ProfileName, pieces: Sequence[str]) -> Iterator[str]:
    """What a client of chat completions has put together, after each delta."""
    heard: list[str] = []
    inputs = make_inputs(
        FakeIndex((PERMITS,), evidence=make_evidence(1.0)),
        ChatWriter(Dripping(pieces), "{context}", lambda: "0123456789abcdef"),
    )
    pipeline = PROFILES[profile].build(knobs(profile), inputs)
    answer = pipeline.run(Question(text="How long do permits take?"), deadline=deadline(), on_text=heard.append)
    said = "".join(heard)
    if answer.text.startswith(said):
        heard.append(answer.text[len(said) :])
    end = Chunks(Chat(question=answer.question, model=f"x{WITH_SOURCES}"), "1", 0).end(answer, said)
    heard += [choice["delta"].get("content", "") for chunk in end for choice in chunk["choices"]]
    text = ""
    for delta in filter(None, heard):
        text += delta
        yield text


def through(profile: ProfileName, text: str, *seeds: int) -> list[tuple[str, str]]:
    """What leads somewhere that is not held, at some time."""
    return [
        (kind, to)
        for seed in seeds
        for so_far in shown(profile, cut(text, seed))
        for kind, to in leads(so_far)
        if kind.startswith("html") or not OWN & {to, to.rstrip(".,"), to.rstrip(".,)")}
    ]


@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_forms(profile: ProfileName) -> None:
    said = [form.format(evil=EVIL) if "{evil}" in form else form for form in FORMS]
    mark = MARKS[profile]
    cases = [text for one in said for text in (one, f"5 days.\n\n{one} {mark}", f"{mark} {one}\n\n- {one}\n  {one}")]
    got = {text: found for text in cases if (found := through(profile, text, 0, 1))}
    tally("streamed completions", cases=len(cases), failures=len(got))
    assert got == {}


def test_ticks_that_renderers_pair_differently() -> None:
    cases = ["".join(parts) for parts in product(TAKERS, CODES)]
    cases += [form.format(one.format(evil=EVIL)) for form, one in product(SPREAD, LEADING)]
    some = [f"Five days {MARKS['waypoint']}. {said}" for said in cases[::4]]
    got = {text: found for at, text in enumerate(some) if (found := through("waypoint", text, at))}
    tally("streamed completions", cases=len(some), failures=len(got))
    assert got == {}


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("profile", PROFILE_NAMES)
def test_strings(profile: ProfileName, kind: str) -> None:
    cases = [f"{text} takes five working days {MARKS[profile]}. {text}" for text in strings(kind)]
    got = {text: found for at, text in enumerate(cases) if (found := through(profile, text, at + 1))}
    tally("streamed completions", cases=len(cases), failures=len(got))
    assert got == {}
