"""The lines between which a prompt shows what others wrote; no document can hold them, as they are made per request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fence:
    """``mark`` is what its lines hold and nothing between them does: ``<<<mark`` begins, ``mark>>>`` ends."""

    mark: str

    def around(self, text: str) -> str:
        """``text`` between its lines; ``""`` where there is none."""
        return f"<<<{self.mark}\n{text}\n{self.mark}>>>" if text else ""


def fence_for(new_mark: Callable[[], str], *texts: str) -> Fence:
    """The first of what ``new_mark`` makes that stands in none of ``texts``, whatever its case."""
    held = "\0".join(texts).casefold()
    while (mark := new_mark()).casefold() in held:
        pass
    return Fence(mark)
