"""Admission: is this a question that the pipeline should see?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rag.errors import EmptyQuery, QueryTooLong, UnsafeQuery
from rag.stages.admit.safety import collapse, holds_controls, holds_script, is_blank
from rag.values.answer import Question


@dataclass(frozen=True, slots=True)
class PlainAdmission:
    """Non-empty text of at most ``max_chars`` characters, white space around it removed."""

    max_chars: int

    def __call__(self, question: Question) -> Question:
        """The admitted question.

        Raises:
            EmptyQuery: nothing in it shows.
            QueryTooLong: more than ``max_chars`` characters.
        """
        text = question.text.strip()
        if is_blank(text):
            raise EmptyQuery
        if len(text) > self.max_chars:
            raise QueryTooLong(self.max_chars)
        return replace(question, text=text, understood="")


@dataclass(frozen=True, slots=True)
class StrictAdmission:
    """Collapses white space and refuses script patterns and control characters; at most ``max_chars``."""

    max_chars: int

    def __call__(self, question: Question) -> Question:
        """The admitted question, on one line.

        Raises:
            EmptyQuery: nothing in it shows.
            QueryTooLong: more than ``max_chars`` characters are left.
            UnsafeQuery: a script pattern, or a control character.
        """
        text = collapse(question.text)
        if is_blank(text):
            raise EmptyQuery
        if len(text) > self.max_chars:
            raise QueryTooLong(self.max_chars)
        if holds_controls(text):
            raise UnsafeQuery("{noun} holds control characters; plain text of any script is accepted")
        if holds_script(text):
            raise UnsafeQuery("{noun} holds a script pattern; plain text is accepted")
        return replace(question, text=text, understood="")
