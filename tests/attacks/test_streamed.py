"""Completions of strangers while they are written: what a chat program has shown at any time leads nowhere else.

What was told is the answer's own at the end.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from attacks.completions import CHOSEN, LISTS, around, forms, strings, ticks
from attacks.reading import leads
from attacks.stage import MARKS, PERMITS, Leads, foreign, streamed
from attacks.test_completions import MARK, held_back, knobs
from fakes import FakeIndex, Unconnected, deadline, make_evidence, make_inputs

from rag.http.chat_completions import WITH_SOURCES, ChatChunks, ParsedRequest
from rag.profiles import PROFILES, load_profile
from rag.values.chat import Completion, Deadline, Message, OnText
from rag.values.question import Question
from rag.values.request import Delta, Event
from rag.write.chat_writer import ChatWriter

pytestmark = pytest.mark.slow

TOLD_TOO_SOON = (
    "- `<td>:`", "- *<tr>>*", "><!--<td>-->", ">_<li>._", ">[](><tr>/)", ">t```<td>```", "<li>``<td>``", "<li>[<td>/]",
    "*\\\nd*", "[id_1]*desk@permits.example\x0b[*", "_<td>\n]_",
)  # fmt: skip
"""Tags that part a paragraph, ends of lines and addresses: what comes pairs with a sign before them."""


@dataclass
class Dripping(Unconnected):
    """A model that writes ``pieces``."""

    pieces: Sequence[str]
    model: str = "x"
    last_error: str | None = None

    def complete(self, messages: Sequence[Message], *, deadline: Deadline, on_text: OnText | None = None) -> Completion:
        for piece in self.pieces if on_text else ():
            assert on_text is not None
            on_text(piece)
        return Completion(text="".join(self.pieces), model=self.model, finish_reason="stop")


def shown(profile: str, said: str) -> Iterator[str]:
    """What a client of chat completions has put together, after each delta of ``said``, a character at a time."""
    events: list[Event] = []
    inputs = make_inputs(
        FakeIndex((PERMITS,), evidence=make_evidence(1.0)),
        ChatWriter(Dripping(said), "{context}", new_mark=lambda *_: "0123456789abcdef"),
    )
    pipeline = load_profile(profile).build(knobs(profile), inputs)
    answer = pipeline.run(Question(text="How long do permits take?"), deadline=deadline(), listen=events.append)
    heard = [event.text for event in events if isinstance(event, Delta)]
    end = ChatChunks(ParsedRequest(question=answer.question, model=f"x{WITH_SOURCES}"), "1", 0).last(
        answer, "".join(heard)
    )
    heard += [choice["delta"].get("content", "") for chunk in end for choice in chunk["choices"]]
    text = ""
    for delta in filter(None, heard):
        text += delta
        yield text


def once(said: str) -> Leads:
    """``said`` in pieces of many lengths."""
    return streamed(said, seed=len(said))


def test_forms() -> None:
    """In single characters too."""
    cases = (said for one in forms() for said in around(one, MARK))
    held_back("streamed completions", cases, lambda said: streamed(said, 0) + once(said))


def test_ticks_that_renderers_pair_differently() -> None:
    held_back("streamed completions", (f"Five days {MARK}. {said}" for said in ticks()), once)


def test_what_was_told_stays() -> None:
    held_back(
        "streamed completions", TOLD_TOO_SOON, lambda said: [one for p in PROFILES for one in streamed(said, 0, p)]
    )


@pytest.mark.parametrize("kind", LISTS)
def test_strings(kind: str) -> None:
    cases = (f"{text} takes five working days {MARK}. {text}" for text in strings(kind))
    held_back("streamed completions", cases, once)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_s_stream(profile: str) -> None:
    cases = (f"Five days {MARKS[profile]}.\n\n{one} {MARKS[profile]}" for one in CHOSEN)
    read = lambda said: [lead for so_far in shown(profile, said) for lead in foreign(leads(so_far))]  # noqa: E731
    held_back("streams of each profile", cases, read)
