"""Statements of a public set, true and altered: what the check calls supported of each kind."""

from collections import defaultdict

import pytest
import real_model
from evaluation.rates import public_data, report
from faults.drawing import by_night
from research.support import AS_IT_IS, TAKEN, read_statements

from knowledge.embedding import MiniLM
from knowledge.model.values import Claim, ClaimSupport
from knowledge.open.index import open_index
from rag.answer.check import MIN_SHARED

pytestmark = [pytest.mark.slow, pytest.mark.sampled]

KEPT, SEEN = 0.95, 0.85
"""Of true statements so many are supported, of each kind of altered ones so many are not."""
WORST = {"a condition left out": 0.6}
UNSUPPORTED = {"a number changed": 0.85, "another, similar passage": 0.4}
"""Of these so many are called unsupported, and not only in other words."""
EVERY = by_night(30, 1)
"""One in so many questions is judged: enough to see a fault."""


def test_true_statements_are_told_from_altered_ones(tmp_path_factory: pytest.TempPathFactory, embedder: MiniLM) -> None:
    source = public_data("clapnq_dev")
    index = open_index(real_model.public_index(source, tmp_path_factory), embedder=embedder)
    verdicts: dict[str, list[str]] = defaultdict(list)
    for item in (item for item in read_statements(source, index, every=EVERY) if item.origin == TAKEN):
        [support] = index.support([Claim(item.text, tuple(chunk.number for chunk in item.chunks))], ())
        verdicts["true" if item.supported else item.kind].append(_verdict(support))
    index.close()
    true = verdicts.pop("true")
    assert AS_IT_IS not in verdicts
    report("true statements that are supported", true.count("supported"), len(true), KEPT)
    for kind, words in verdicts.items():
        wrong = len(words) - words.count("supported")
        report(f"not supported: {kind}", wrong, len(words), WORST.get(kind, SEEN))
        if kind in UNSUPPORTED:
            report(f"unsupported: {kind}", words.count("unsupported"), len(words), UNSUPPORTED[kind])


def _verdict(support: ClaimSupport) -> str:
    if any(one.verbatim for one in support.each):
        return "supported"
    return "unsupported" if support.missing or support.shared < MIN_SHARED else "partial"
