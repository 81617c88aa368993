"""Fit the confidence in what a model wrote (``rag.answer.confidence``) on answers that people rated.

``python -m research.faithfulness FOLDER`` reads ``FOLDER/{corpus.jsonl,rated.jsonl}``: a line has the ``turns`` of a
conversation, a model's ``answer`` to the last one and its ``faithfulness`` by several people, 1 to 4. Each sentence
is cited to the packed passage that shares most of its words. Printed are the weights fitted on all answers, and what
they do to answers of conversations that were left out. Half a minute.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from evaluate.intervals import auroc
from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.read.documents import read
from rag.answer.confidence import FAITHFUL_HIGH, FAITHFUL_MEDIUM, mean_support
from rag.ledger import Ledger
from rag.pipeline import Pipeline
from rag.text.stems import content_stems
from rag.values.answer import Answer, Passage
from rag.values.chat import Completion, Deadline
from rag.values.question import Question, Turn
from rag.wiring import build_application
from ragctl.options import read_settings
from research.logistic import Floats, logistic

SHARED = 0.25
"""Share of a sentence's words that a passage has, so that it is cited."""
FOLDS = 10
FAITHFUL, PARTLY = 4, 3
"""Ratings from which an answer is faithful, or partly; partly faithful ones count half."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"(])")


@dataclass(frozen=True, slots=True)
class RatedAnswer:
    """An answer through the whole service, its median ``rating`` by people, and the ``conversation`` it is of."""

    conversation: str
    rating: float
    answer: Answer

    @property
    def label(self) -> float:
        """1 for a faithful answer, 0 for an unfaithful one."""
        return min(1.0, max(0.0, (self.rating - PARTLY + 1) / 2)) if self.rating >= PARTLY else 0.0


def rated_answers(
    folder: Path, pipeline: Pipeline, announce: Callable[[float], None] = lambda _: None
) -> Iterator[RatedAnswer]:
    """Put each answer through ``pipeline``, which has the folder's corpus; refusals are left out.

    No answer is replaced by quotes: it is the rated answer's own support that is measured. ``announce`` is told the
    rating of each answer before.
    """
    pipeline = replace(pipeline, quote=None)
    for line in (folder / "rated.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        rating = median(row["faithfulness"])
        announce(rating)
        ledger = Ledger(time.perf_counter, Deadline.after(600.0, time.perf_counter))
        draft = pipeline.prepare(_question(row["turns"]), ledger)
        if draft.context is not None:
            text = _cited(row["answer"], draft.context.passages)
            answer = pipeline.finish(draft, Completion(text=text, model="recorded", finish_reason="stop"), ledger)
            if not answer.refused:
                yield RatedAnswer(row["task"].partition("<")[0], rating, answer)


def _question(turns: Sequence[Mapping[str, Any]]) -> Question:
    texts = [turn["content"] for turn in turns]
    before = zip(texts[:-1:2], texts[1:-1:2], strict=True)
    return Question(text=texts[-1], turns=tuple(Turn(question=one, answer=other, at=0.0) for one, other in before))


def _cited(text: str, passages: Sequence[Passage]) -> str:
    stems = [(passage.citation, content_stems(passage.text)) for passage in passages]

    def mark(sentence: str) -> str:
        words = content_stems(sentence)
        citation, own = max(stems, key=lambda one: len(words & one[1]))
        return f"{sentence} {citation}" if len(words) > 1 and len(words & own) >= SHARED * len(words) else sentence

    return "\n".join(" ".join(map(mark, _SENTENCE_END.split(line))) for line in text.split("\n"))


def fit(support: Floats, labels: Floats) -> tuple[float, float]:
    """Return weight and intercept of a regression over the mean support."""
    scale = support.std()
    theta = logistic(support[:, np.newaxis] / scale, labels, np.ones(len(labels)))
    return float(theta[0] / scale), float(theta[1])


def held_out(rated: Sequence[RatedAnswer]) -> Floats:
    """Return the chance of each answer by a fit to the other conversations, in ten folds."""
    support, labels = _columns(rated)
    names = sorted({one.conversation for one in rated})
    order = np.random.default_rng(0).permutation(len(names)) % FOLDS
    folds = np.array([order[names.index(one.conversation)] for one in rated])
    chances = np.zeros(len(rated))
    for fold in range(FOLDS):
        there = folds == fold
        weight, intercept = fit(support[~there], labels[~there])
        chances[there] = 1 / (1 + np.exp(-weight * support[there] - intercept))
    return chances


def figures(rated: Sequence[RatedAnswer], chances: Floats) -> dict[str, float]:
    """Return shares of the levels and of marked answers among faithful and unfaithful ones, and their AUROC."""
    found: dict[str, float] = {}
    ratings = np.array([one.rating for one in rated])
    groups = {"faithful": ratings >= FAITHFUL, "unfaithful": ratings < PARTLY}
    for name, group in groups.items():
        marked = [any(claim.support == "unsupported" for claim in one.answer.statements) for one in rated]
        found |= {
            f"{name} High": float(np.mean(chances[group] >= FAITHFUL_HIGH)),
            f"{name} Low": float(np.mean(chances[group] < FAITHFUL_MEDIUM)),
            f"{name} marked": float(np.mean(np.array(marked)[group])),
        }
    told = groups["faithful"] | groups["unfaithful"]
    found["AUROC"] = auroc(np.column_stack([chances[told], groups["faithful"][told]]))
    labels = _columns(rated)[1]
    found["faithful of High"] = float(labels[chances >= FAITHFUL_HIGH].mean())
    found["faithful of Low"] = float(labels[chances < FAITHFUL_MEDIUM].mean())
    return found


def _columns(rated: Sequence[RatedAnswer]) -> tuple[Floats, Floats]:
    support = np.array([mean_support(one.answer.statements) for one in rated])
    return support, np.array([one.label for one in rated])


def main(folder: Path) -> None:
    """Print the weights, and the figures held out."""
    with tempfile.TemporaryDirectory() as place:
        index = Path(place) / "index"
        ingest(read([folder / "corpus.jsonl"]).documents, target=index, embedder=MiniLM())
        service = build_application(read_settings(index=str(index), profile="house"))
        rated = list(rated_answers(folder, service.pipeline))
        service.index.handle.close()
    weight, intercept = fit(*_columns(rated))
    print(f"{len(rated)} answers: weight {weight:.2f}, intercept {intercept:.2f}")
    for name, value in figures(rated, held_out(rated)).items():
        print(f"{name:20} {value:.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
