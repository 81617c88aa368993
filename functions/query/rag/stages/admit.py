"""Admission: is this a question that the pipeline should see?"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rag.errors import EmptyQuery, QueryTooLong
from rag.types import Question


@dataclass(frozen=True, slots=True)
class PlainAdmission:
    """Non-empty text of at most ``max_chars`` characters, white space around it removed."""

    max_chars: int

    def __call__(self, question: Question) -> Question:
        """The admitted question.

        Raises:
            EmptyQuery: nothing but white space.
            QueryTooLong: more than ``max_chars`` characters.
        """
        text = question.text.strip()
        if not text:
            raise EmptyQuery
        if len(text) > self.max_chars:
            raise QueryTooLong(self.max_chars)
        return replace(question, text=text)
