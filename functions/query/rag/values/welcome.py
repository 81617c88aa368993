"""What somebody meets who opens the page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """Questions that the index answers, and the words of whoever runs the service, each ``""`` where there is none.

    ``name`` is who answers.
    """

    questions: tuple[str, ...]
    name: str
    greeting: str
    disclaimer: str
