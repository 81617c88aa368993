"""Completions of strangers while they are written: what a chat program has shown at any time leads nowhere else.

What was told is the answer's own at the end.
"""

from collections.abc import Iterator

import pytest
from attacks.completions import CHOSEN, LISTS, around, forms, strings, ticks
from attacks.reading import leads
from attacks.stage import MARKS, Leads, foreign, pipeline, streamed
from attacks.test_completions import MARK, held_back
from fakes import FakeChat, deadline
from faults.drawing import by_night

from rag.http.chat_completions import WITH_SOURCES, ChatChunks, ParsedRequest
from rag.profiles import PROFILES
from rag.values.question import Question
from rag.values.request import Delta, Event

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

TOLD_TOO_SOON = (
    "- `<td>:`", "- *<tr>>*", "><!--<td>-->", ">_<li>._", ">[](><tr>/)", ">t```<td>```", "<li>``<td>``", "<li>[<td>/]",
    "*\\\nd*", "[id_1]*desk@permits.example\x0b[*", "_<td>\n]_",
)  # fmt: skip
"""Tags that part a paragraph, ends of lines and addresses: what comes pairs with a sign before them."""


def shown(profile: str, said: str) -> Iterator[str]:
    """What a client of chat completions has put together, after each delta of ``said``, a character at a time."""
    events: list[Event] = []
    asked = Question(text="How long do permits take?")
    answer = pipeline(profile, FakeChat(said, piece=".")).run(asked, deadline=deadline(), listen=events.append)
    heard = [event.text for event in events if isinstance(event, Delta)]
    chunks = ChatChunks(ParsedRequest(question=answer.question, model=f"x{WITH_SOURCES}"), "1", 0)
    end = chunks.last(answer, "".join(heard))
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
    read = lambda said: [one for profile in PROFILES for one in streamed(said, 0, profile)]  # noqa: E731
    held_back("streamed completions", TOLD_TOO_SOON, read)


@pytest.mark.parametrize("kind", LISTS)
def test_strings(kind: str) -> None:
    cases = (f"{text} takes five working days {MARK}. {text}" for text in strings(kind))
    held_back("streamed completions", cases, once)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_s_stream(profile: str) -> None:
    cases = (f"Five days {MARKS[profile]}.\n\n{one} {MARKS[profile]}" for one in by_night(CHOSEN[::3], CHOSEN))
    read = lambda said: [lead for so_far in shown(profile, said) for lead in foreign(leads(so_far))]  # noqa: E731
    held_back("streams of each profile", cases, read)
