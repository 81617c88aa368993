"""Fit the weights of ``knowledge.search.support``, which tell true statements from others.

``python -m research.support DATA [LABELLED.jsonl ...] [--cache FOLDER]``: ``DATA`` is the folder of ../shared/data. The
statements are those of ``research.statements``. ``FOLDER`` (default .index/support) keeps the indexes and the signals.

Fitted on half of the questions of clapnq_dev and on the labelled sets, none of which counts more than the others.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from knowledge.embedding import MiniLM
from knowledge.model.values import Claim
from knowledge.open.index import EmbeddedIndex
from research.logistic import Floats, logistic
from research.statements import AS_IT_IS, REPLY, TAKEN, WRITTEN, Item, items, opened

FITTED = "clapnq_dev"
SIZE, ALTERED = 200, 0.35
"""The weight of a labelled set, and how much of that of its false statements altered ones have."""

SIGNALS = ("together", "weakest", "names", "differences")
type Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """The signals of the statements of a set: ``rows`` has shape (statements, signals)."""

    rows: Floats
    supported: Mask
    origin: NDArray[np.str_]
    kind: NDArray[np.str_]
    first_half: Mask

    def false(self, origin: str, kind: str) -> Mask:
        """Select the false statements of that origin and kind."""
        return np.asarray(~self.supported & (self.origin == origin) & (self.kind == kind))


def observe(source: Path, cache: Path, model: MiniLM) -> Observed:
    """Return the signals of every statement of ``source``; worked out once, then the ``cache`` has them."""
    kept = cache / f"{source.stem}.signals.json"
    if not kept.exists():
        index = opened(source, cache, model)
        try:
            seen = [(item, _signals(index, item)) for item in items(source, index) if item.chunks]
        finally:
            index.close()
        kept.write_text(
            json.dumps([[one.origin, one.kind, one.supported, one.group, signals] for one, signals in seen]), "utf-8"
        )
    columns = list(zip(*json.loads(kept.read_text(encoding="utf-8")), strict=True))
    return Observed(
        rows=np.array([[signals[name] for name in SIGNALS] for signals in columns[4]]),
        supported=np.array(columns[2]),
        origin=np.array(columns[0]),
        kind=np.array(columns[1]),
        first_half=np.array([hashlib.sha256(group.encode()).digest()[0] % 2 == 0 for group in columns[3]]),
    )


def _signals(index: EmbeddedIndex, item: Item) -> Mapping[str, float]:
    """Return the signals of the product itself; ``Index.support`` makes chances of them."""
    search = index._late_search
    assert search is not None  # noqa: S101 - a fresh index has it
    return search.comparison([Claim(item.text)], index.fetch(item.chunks)).signals(0, range(len(item.chunks)))


def parts(fitted: Observed, labelled: Iterable[Observed]) -> list[tuple[Observed, Floats]]:
    """Return each set with the weight of each of its statements, 0 for those that are not fitted on."""
    half = fitted.first_half
    weights = _spread([(half & fitted.supported, 500.0)])
    wrong = [half & fitted.false(origin, kind) for origin in (TAKEN, WRITTEN) for kind in set(fitted.kind)]
    wrong = [mask for mask in wrong if mask.any()]
    result = [(fitted, weights + _spread([(mask, 500 / len(wrong)) for mask in wrong]))]
    for one in labelled:
        as_they_are = one.false(REPLY, AS_IT_IS)
        altered = ~one.supported & ~as_they_are
        masks = [(one.supported, 1.0), (as_they_are, 1 - ALTERED), (altered, ALTERED)]
        result.append((one, _spread([(mask, SIZE * share) for mask, share in masks])))
    return result


def _spread(masks: Sequence[tuple[Mask, float]]) -> Floats:
    weights = np.zeros(len(masks[0][0]))
    for mask, weight in masks:
        weights[mask] = weight / max(1, int(mask.sum()))
    return weights


def fit(sets: Sequence[tuple[Observed, Floats]]) -> Floats:
    """Return the weights of ``SIGNALS`` and the intercept."""
    rows = np.concatenate([one.rows[weights > 0] for one, weights in sets])
    labels = np.concatenate([one.supported[weights > 0] for one, weights in sets]).astype(np.float64)
    spread = rows.std(axis=0)
    theta = logistic(rows / spread, labels, np.concatenate([weights[weights > 0] for _, weights in sets]))
    return np.asarray(np.append(theta[:-1] / spread, theta[-1]), dtype=np.float64)


def main() -> int:
    """Print the weights fitted on everything that may be fitted on."""
    parser = argparse.ArgumentParser(prog="python -m research.support", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("labelled", type=Path, nargs="*")
    parser.add_argument("--cache", type=Path, default=Path(".index/support"))
    asked = parser.parse_args()
    asked.cache.mkdir(parents=True, exist_ok=True)
    model = MiniLM(threads=2)
    labelled = [observe(source, asked.cache, model) for source in asked.labelled]
    fitted = fit(parts(observe(asked.data / FITTED, asked.cache, model), labelled))
    print("weights", dict(zip([*SIGNALS, "intercept"], fitted.round(2).tolist(), strict=True)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
