"""Near-match look-up: a question that asks for the same in nearly the same words may share an answer."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rag.stages.cache.same_question import may_share_answer

MAX_QUESTIONS = 512
"""Questions that one process compares with; older ones are still found by their exact key."""


@dataclass(frozen=True, slots=True)
class _Known:
    group: str
    text: str
    key: str
    vector: np.ndarray


class NearQuestions:
    """The questions that this process has seen answered. ``similarity`` (0..1) is the lowest cosine that may match.

    Nearness alone serves wrong answers ("with" lies beside "without", 2023 beside 2024): the guard of
    ``rag.stages.cache.same_question`` has the last word. Serves any number of threads.
    """

    def __init__(self, similarity: float, embed: Callable[[str], np.ndarray]) -> None:
        self._similarity = similarity
        self._embed = embed
        self._known: deque[_Known] = deque(maxlen=MAX_QUESTIONS)
        self._lock = threading.Lock()

    def find(self, text: str, group: str) -> str | None:
        """The key of the nearest question of ``group`` that ``text`` may share an answer with."""
        with self._lock:
            known = [question for question in self._known if question.group == group]
        if not known:
            return None
        cosines = np.stack([question.vector for question in known]) @ self._embed(text)
        for i in np.argsort(-cosines):
            if cosines[i] < self._similarity:
                return None
            if may_share_answer(text, known[int(i)].text):
                return known[int(i)].key
        return None

    def add(self, text: str, group: str, key: str) -> None:
        """Remember that the answer to ``text`` lies under ``key``; ``group`` is all else that it depends on."""
        known = _Known(group, text, key, np.asarray(self._embed(text)))
        with self._lock:
            if all(question.key != key for question in self._known):
                self._known.append(known)
