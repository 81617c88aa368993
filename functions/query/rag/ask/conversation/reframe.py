"""A language model rewrites a question so that it stands alone and is in the language of the documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from knowledge.model.values import View
from rag.ask.conversation.history import format_history
from rag.contract.decider import Decider
from rag.contract.decline import begins_with_decline
from rag.ledger import Ledger
from rag.text.stems import content_stems
from rag.text.surrogates import replace_surrogates
from rag.values.question import SearchQuery, Turn

AS_IT_IS = "SAME"
"""What the prompt tells the model to write when nothing needs rewriting."""
ASKED_WEIGHT = 2 / 3
"""Of the question as it was asked, beside its rewriting's 1."""
OWN = "its own language"
MAX_CHARS = 400
"""A rewriting that is longer than this has answered the question instead."""
_QUOTES = "\"'`\u2018\u2019\u201c\u201d"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reframe(Decider):
    """``template`` holds ``{history}``, ``{question}`` and ``{language}``, which it is to be written in.

    ``language_unlike`` gives the name of the documents' language where a text is in another, else ``""``.
    ``decline`` is the profile's decline text: a completion that begins with its first sentence rewrites nothing.
    """

    decline: str
    history_chars: int
    language_unlike: Callable[[str], str]

    def __call__(self, query: SearchQuery, history: Sequence[Turn], ledger: Ledger) -> SearchQuery:
        """``query`` rewritten in the light of ``history``, its own text a view beside that; ``ledger`` counts the call.

        One in another language than the documents is translated, and its own text is no view. ``query`` itself where
        there is nothing to do (no call is made then), where the model says that it can stay as it is, and where the
        rewriting is none: more than one line or too long, a decline, still in another language, or without any word of
        content from the conversation.

        Raises:
            LlmError: the model cannot be reached in time, or its completion cannot be read.
        """
        language = self.language_unlike(query.text)
        if not (history or language):
            return query
        turns = [(_as_said(turn), turn.answer) for turn in history]
        shown = format_history(turns, max_chars=self.history_chars).strip()
        fence = self.fence(shown, query.text)
        values = {"history": fence.around(shown), "question": fence.around(query.text)}
        said = self.said(ledger, fence, **values, language=language or OWN)
        text = _line(replace_surrogates(said))
        if text == query.text or not self._rewrites(text, query, history, language):
            return query
        views = query.views if language else (*query.views, View(query.text, ASKED_WEIGHT))
        return replace(query, text=text, views=views, trail=(*query.trail, f"understood as: {text}"))

    def _rewrites(self, text: str, query: SearchQuery, history: Sequence[Turn], language: str) -> bool:
        if not 0 < len(text) <= MAX_CHARS or text.rstrip(".").upper() == AS_IT_IS:
            return False
        if language:  # a translation has other words
            return not begins_with_decline(text, self.decline) and not self.language_unlike(text)
        said = " ".join((query.text, *(f"{turn.asked} {turn.question} {turn.answer}" for turn in history)))
        return not begins_with_decline(text, self.decline) and bool(content_stems(text) & content_stems(said))


def _as_said(turn: Turn) -> str:
    """What the user said, with what it was taken to mean, which the next question may lean on."""
    return f"{turn.asked} (understood as: {turn.question})" if turn.asked != turn.question else turn.question


def _line(text: str) -> str:
    """The one line that the prompt asks for, without quotes around it; ``""`` where there are more lines or none."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[0].strip().strip(_QUOTES).strip() if len(lines) == 1 else ""
