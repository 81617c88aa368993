"""The contract with a model: citation marks, the decline sentence, and short calls that decide."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from unicodedata import normalize

from knowledge.model.values import Hit
from rag.errors import LlmFailed
from rag.ledger import Ledger
from rag.ports import ChatModel
from rag.text.template import Fence, NewMark, fence_for, fill, new_mark, replace_surrogates
from rag.values.chat import Deadline, Message

OPEN, CLOSE = r"[\[\u3010\uff3b]", r"[\]\u3011\uff3d]"
"""Square brackets and both kinds of full-width ones, which some models write."""
BRACKETS = "[\u3010\uff3b"


@dataclass(frozen=True, slots=True)
class NamedSource:
    """The passages of one name in a mark, any of ``hits``; ``raw`` is a mark of this name alone."""

    hits: tuple[Hit, ...]
    raw: str
    title: str
    section: str


@dataclass(frozen=True, slots=True)
class ResolvedMark:
    """The meaning of a mark; ``removed`` of its names name no passage. ``changed``: it must be written anew."""

    named: tuple[NamedSource, ...]
    removed: int = 0
    changed: bool = False


class Marks(Protocol):
    """A profile's form of marks; ``rag.answer.citation_forms`` has all of them."""

    def resolve_mark(self, mark: str, hits: Sequence[Hit]) -> ResolvedMark:
        """Return the meaning of ``mark`` among ``hits``, all that the writer saw."""

    def mark_for(self, hit: Hit, place: int) -> str:
        """Return the mark of ``hit`` at a place of the context, from 1 on."""


_DECORATION = re.compile(r"[\s*_>#\"\u201c\u201d]+")
_APOSTROPHE = re.compile("[\u2018\u2019\u02bc\u2032`]")


def first_sentence(decline: str) -> str:
    """Return the sentence of ``decline`` that the prompts ask for, with its full stop."""
    return decline.partition(". ")[0].rstrip(".") + "."


def begins_with_decline(text: str, decline: str) -> bool:
    """Return whether ``text`` begins with ``decline``'s first sentence, ignoring case, quotes, emphasis and blanks."""
    sentence = _normalise(first_sentence(decline)).rstrip(".")
    words = _normalise(text)
    return words.startswith(sentence) and not words[len(sentence) : len(sentence) + 1].isalnum()


def may_decline(text: str, decline: str) -> bool:
    """Return whether ``text``, an answer's beginning, is or may become ``decline``'s first sentence."""
    sentence = _normalise(first_sentence(decline)).rstrip(".")
    return sentence.startswith(_normalise(text)) or begins_with_decline(text, decline)


def is_empty(text: str) -> bool:
    """Return whether ``text``, an answer without its marks, holds only punctuation."""
    return not any(character.isalnum() for character in text)


def _normalise(text: str) -> str:
    plain = _APOSTROPHE.sub("'", normalize("NFKC", text)).casefold()
    return _DECORATION.sub(" ", plain).strip(" -")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    """Asks ``chat`` by ``template``, within ``budget_s`` seconds or the request's nearer deadline.

    Text from documents and users stands in the prompt between lines of a ``{fence}`` of ``new_mark``, which it cannot
    hold.
    """

    chat: ChatModel
    template: str
    budget_s: float
    new_mark: NewMark = new_mark

    def fence(self, *texts: str) -> Fence:
        """Return the fence for ``texts``."""
        return fence_for(self.new_mark, *texts, self.template)

    def complete(self, ledger: Ledger, fence: Fence, **values: str) -> str:
        """Return the model's completion of the template with ``values``; ``ledger`` counts the call.

        Raises:
            LlmError: the model cannot be reached in time, or its completion is unreadable or incomplete.
        """
        messages = (Message("user", replace_surrogates(fill(self.template, {**values, "fence": fence.mark}))),)
        limit = Deadline.after(min(self.budget_s, ledger.deadline.remaining()), ledger.deadline.clock)
        completion = ledger.complete(lambda: self.chat.complete(messages, deadline=limit))
        if completion.partial:
            raise LlmFailed("the completion is not whole")
        return fence.remove_from(completion.text)
