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
class StrictAdmission(PlainAdmission):
    """On one line, without script patterns and control characters too."""

    def __call__(self, question: Question) -> Question:
        """The admitted question.

        Raises:
            EmptyQuery, QueryTooLong: as ``PlainAdmission``, of what is left.
            UnsafeQuery: a script pattern, or a control character.
        """
        admitted = PlainAdmission(self.max_chars)(replace(question, text=collapse(question.text)))
        if holds_controls(admitted.text):
            raise UnsafeQuery("{noun} holds control characters; plain text of any script is accepted")
        if holds_script(admitted.text):
            raise UnsafeQuery("{noun} holds a script pattern; plain text is accepted")
        return admitted
