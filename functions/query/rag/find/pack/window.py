"""The model's context window: how many tokens of passages it takes, as set and as its server says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from knowledge.model.values import Hit
from rag.find.pack.tokens import BYTES_PER_TOKEN, size
from rag.values.answer import Context

LEAST_TOKENS = 100
"""With fewer tokens of passages there is no use in asking a model."""


class ContextWindow:
    """How many tokens of passages fit; fewer after a refusal, for the rest of the process. Any thread may use it.

    ``tokens`` is the whole window, 0 where it is not known; ``reserved`` of them are the answer's and the prompt's own.
    """

    def __init__(self, tokens: int = 0, reserved: int = 0) -> None:
        self._most = max(LEAST_TOKENS, tokens - reserved) if tokens else None

    def room(self, budget: int) -> int:
        """Return the tokens that may be packed, ``budget`` at most."""
        return budget if self._most is None else min(budget, self._most)

    def halve(self, passages: str) -> bool:
        """Allow half of ``passages``, which were too long; return False where that would be too few."""
        half = int(size(passages) / BYTES_PER_TOKEN) // 2
        if half < LEAST_TOKENS:
            return False
        self._most = half if self._most is None else min(half, self._most)
        return True


@dataclass(frozen=True, slots=True)
class WindowPacker:
    """Packs as ``pack`` does, a packer with a budget of ``max_tokens``, within what the model's ``window`` leaves."""

    pack: Any
    window: ContextWindow

    def __call__(self, hits: tuple[Hit, ...]) -> Context:
        """Return the context and the passages that it is made of; ``hits`` is not empty."""
        context: Context = replace(self.pack, max_tokens=self.window.room(self.pack.max_tokens))(hits)
        return context
