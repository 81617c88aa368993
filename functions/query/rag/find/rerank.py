"""Re-ranking by a language model, when the order of the best hits is in doubt."""

from __future__ import annotations

import re
from dataclasses import dataclass

from knowledge.model.values import Hit
from rag.contract import CLOSE, OPEN, Decider
from rag.find.feedback import adjusted_score
from rag.ledger import Ledger
from rag.text.sources import path_of
from rag.values.answer import RefinedHits
from rag.values.question import Question

TOP = 3
"""Number of best scores that must lie together for a doubtful order (GaCounts' seed)."""
MAX_HITS = 8
"""Number of best hits that the model orders."""
PASSAGE_CHARS = 800
"""Characters of each passage for the model: enough to judge it, few enough to be quick."""

_ROUNDING = 1e-9
# The seed's own words.
_TEMPORAL = re.compile(r"\b(?:latest|current)\b", re.IGNORECASE)
_COMPARISON = re.compile(r"\b(?:difference between|versus)\b", re.IGNORECASE)
_NUMBER = re.compile(rf"{OPEN}\s*(\d{{1,3}})\s*{CLOSE}")
_RANKING = re.compile(r"\[?\s*\d{1,3}(?:\s*,\s*\d{1,3})*\s*\]?", re.ASCII)


def needs_rerank(question: str, hits: tuple[Hit, ...], spread: float) -> str | None:
    """Return the reason to re-rank ``hits``, None if there is none.

    There are two hits and the question is temporal or a comparison, or the three best scores lie within ``spread``.
    """
    if len(hits) < 2:
        return None
    if match := _TEMPORAL.search(question):
        return f"temporal question ({match[0].lower()!r})"
    if match := _COMPARISON.search(question):
        return f"comparison ({match[0].lower()!r})"
    top = sorted(map(adjusted_score, hits), reverse=True)[:TOP]
    if len(top) == TOP and top[0] - top[-1] <= spread + _ROUNDING:
        return f"the top {TOP} scores are within {spread:g}"
    return None


def number_passages(hits: tuple[Hit, ...]) -> str:
    """Return ``hits`` as the model sees them: numbered from 1, each with its title and the beginning of its text.

    Numbers in square brackets within a hit get round ones.
    """
    blocks = []
    for number, hit in enumerate(hits, start=1):
        passage = f"{path_of(hit.chunk)}\n{hit.chunk.text[:PASSAGE_CHARS].strip()}"
        blocks.append(f"[{number}] {_NUMBER.sub(r'(\1)', passage)}")
    return "\n\n".join(blocks)


def parse_ranking(text: str, count: int) -> tuple[int, ...] | None:
    """Parse the ranking as positions from 0, best first; None unless each of 1..``count`` is there exactly once.

    ``text`` is a list of numbers, ``2, 1, 3`` or ``[2, 1, 3]``, and nothing else.
    """
    stripped = text.strip()
    if not _RANKING.fullmatch(stripped) or stripped.startswith("[") != stripped.endswith("]"):
        return None
    numbers = tuple(int(number) for number in re.findall(r"\d+", stripped, re.ASCII))
    return tuple(number - 1 for number in numbers) if sorted(numbers) == list(range(1, count + 1)) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmRerank(Decider):
    """Orders the first ``MAX_HITS`` hits by relevance; the others follow in their order.

    ``template`` has ``{question}`` and ``{passages}``. Scores do not change. Another reply keeps the order.
    """

    spread: float

    def __call__(self, hits: tuple[Hit, ...], question: Question, ledger: Ledger) -> RefinedHits:
        """Return the same hits, best first; ``ledger`` counts the call and notes "reranked".

        Raises:
            LlmError: the model cannot be reached in time or refused; the pipeline carries on without it.
        """
        if needs_rerank(question.understood, hits, self.spread) is None:
            return RefinedHits(hits)
        ranked, rest = hits[:MAX_HITS], hits[MAX_HITS:]
        asked, passages = question.understood, number_passages(ranked)
        fence = self.fence(asked, passages)
        completion = self.complete(ledger, fence, question=fence.around(asked), passages=fence.around(passages))
        ranking = parse_ranking(completion, len(ranked))
        if ranking is None:
            return RefinedHits(hits)
        ledger.events.append("reranked")
        best = tuple(ranked[place] for place in ranking)
        return RefinedHits((*best, *rest), (f"re-ranked by the model: {', '.join(hit.chunk.id for hit in best)}",))
