"""Statements of a public set, true and altered, by the weights that ship: AUROC of each alteration."""

from __future__ import annotations

import numpy as np
import pytest
import real_model
from evaluation.rates import public_data, report, report_score
from research.statements import AS_IT_IS, TAKEN, items

from knowledge.claims import Claim
from knowledge.embedding import MiniLM
from knowledge.open.index import open_index
from knowledge.search.support import PARTIAL
from ragctl.measure.intervals import above

pytestmark = pytest.mark.slow

EACH, ALL = 0.95, 0.98
EVERY = 4
"""One in so many questions is judged: enough to see a fault."""


def test_true_statements_are_told_from_altered_ones(tmp_path_factory: pytest.TempPathFactory, embedder: MiniLM) -> None:
    source = public_data("clapnq_dev")
    index = open_index(real_model.public_index(source, tmp_path_factory), embedder=embedder)
    made = [item for item in items(source, index) if item.origin == TAKEN]
    kept = set(sorted({item.group for item in made})[::EVERY])
    chances: dict[str, list[float]] = {}
    for item in made:
        if item.group in kept:
            [borne] = index.support([Claim(item.text, item.chunks)], ())
            kind = item.kind if not item.supported else "true"
            chances.setdefault(kind, []).append(borne.own or 0.0)
    index.close()
    true = chances.pop("true")
    assert AS_IT_IS not in chances
    for kind, wrong in chances.items():
        report_score(
            f"AUROC of true statements, {kind}",
            above(np.array(true), np.array(wrong)),
            EACH,
            f"{len(true)} and {len(wrong)}",
        )
    every = [chance for wrong in chances.values() for chance in wrong]
    report_score(
        "AUROC of true statements, all", above(np.array(true), np.array(every)), ALL, f"{len(true)} and {len(every)}"
    )
    report("true statements that are not called unsupported", sum(one >= PARTIAL for one in true), len(true), 0.98)
