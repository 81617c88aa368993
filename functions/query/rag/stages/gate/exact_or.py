"""The gate for questions of exact words, where a cosine says little."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rag.stages.gate.exact_words import exact_words
from rag.values.answer import Chunk, Decline, Hit, Proceed, Question


@dataclass(frozen=True, slots=True)
class ExactOr:
    """Decides by their words for questions of exact words (``text.exact_words``), else and in doubt by ``otherwise``.

    One hit that holds all of them is enough. Plain keywords must be rare, which is that the hit's ``parts["fused"]`` is
    at least ``rare`` (deviations above the collection's mean); and as several words may stand together by chance, the
    hit must then have a cosine of ``cosine`` as well. A code that no hit holds is a decline, however near the others
    are, unless something else is asked about ("weekly report W45"): then the others decide, as plain keywords do. The
    request's own threshold asks for cosines, and so for ``otherwise``.
    """

    otherwise: Callable[[tuple[Hit, ...], Question], Proceed | Decline]
    rare: float
    cosine: float

    def __call__(self, hits: tuple[Hit, ...], question: Question) -> Proceed | Decline:
        """Proceed with all hits, or Decline with the reason."""
        decision = self.otherwise(hits, question)
        wanted = exact_words(question.understood) if question.threshold is None else None
        if wanted is None:
            return decision
        texts = [_words(hit.chunk) for hit in hits]
        unknown = wanted.codes.intersection(wanted.missing_from(texts))
        if unknown and wanted.codes_alone:
            return Decline(f"no chunk holds {', '.join(sorted(unknown))}")
        if isinstance(decision, Proceed):
            return decision
        left = wanted.without(unknown) if unknown else wanted
        holding = sum(
            self._tells(hit, plain=left.plain, single=wanted.single) and left.held_by(text)
            for hit, text in zip(hits, texts, strict=True)
        )
        return Proceed(hits, holding) if holding else decision

    def _tells(self, hit: Hit, *, plain: bool, single: bool) -> bool:
        """Whether it means something that this hit holds the words."""
        if not plain:
            return True
        return hit.parts.get("fused", 0.0) >= self.rare and (single or hit.parts["dense"] >= self.cosine)


def _words(chunk: Chunk) -> str:
    return f"{chunk.title}\n{chunk.section}\n{chunk.text}"
