"""The regression behind ``knowledge.search.support``: its weights, and how well it tells true statements from others.

``python -m research.support DATA [LABELLED.jsonl ...] [--cache FOLDER]``: ``DATA`` is the folder of ../shared/data. The
statements are those of ``research.statements``. ``FOLDER`` (default .index/support) keeps the indexes and the signals.

Fitted on half of the questions of clapnq_dev and on the labelled sets, none of which counts more than the others;
clapnq_dev's other half, and the other folders, are only judged. Each labelled set is judged by weights of the others;
the part of its name before the first ``_`` tells which belong together. One whose name ends with ``_test`` is never
fitted on.
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

from evaluate.intervals import above
from knowledge.embedding import MiniLM
from knowledge.model.claims import Fidelity
from knowledge.open.index import Index
from knowledge.search.support import INTERCEPT, PARTIAL, WEIGHTS
from research.logistic import Floats, logistic, probability
from research.statements import AS_IT_IS, REPLY, TAKEN, WRITTEN, Item, items, opened

FITTED, JUDGED = "clapnq_dev", ("squad_v11_dev", "docs_handbook", "covid_faq")
SIZE, ALTERED = 200, 0.35
"""The weight of a labelled set, and how much of that of its false statements altered ones have."""

SIGNALS = ("weakest", "names", "numbers", "together", "negated", "affirmed")
FORMULAS: Mapping[str, Sequence[str]] = {
    "all six": SIGNALS,
    **{f"without {left}": [name for name in SIGNALS if name != left] for left in SIGNALS},
    **{f"{name} alone": [name] for name in SIGNALS},
}
type Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """What the check sees of the statements of a set: ``rows`` has shape (statements, signals).

    ``copied`` says how each stands to the place that shares most of its words, as ``Fidelity`` numbers it.
    """

    name: str
    rows: Floats
    copied: Floats
    supported: Mask
    origin: NDArray[np.str_]
    kind: NDArray[np.str_]
    first_half: Mask
    group: NDArray[np.str_]

    @property
    def family(self) -> str:
        """Sets of one family are left out together."""
        return self.name.split("_")[0]

    def true(self, origin: str) -> Mask:
        """The true statements of that origin."""
        return np.asarray(self.supported & (self.origin == origin))

    def false(self, origin: str, kind: str | None = None) -> Mask:
        """The false ones, of all kinds or of one."""
        wrong = ~self.supported & (self.origin == origin)
        return np.asarray(wrong if kind is None else wrong & (self.kind == kind))


def observe(source: Path, cache: Path, model: MiniLM) -> Observed:
    """The signals of every statement of ``source``; worked out once, then the ``cache`` has them."""
    kept = cache / f"{source.stem}.signals.json"
    if not kept.exists():
        index = opened(source, cache, model)
        try:
            seen = [(item, _signals(index, item, model)) for item in items(source, index) if item.chunks]
        finally:
            index.close()
        kept.write_text(
            json.dumps([[one.origin, one.kind, one.supported, one.group, signals] for one, signals in seen]), "utf-8"
        )
    columns = list(zip(*json.loads(kept.read_text(encoding="utf-8")), strict=True))
    return Observed(
        name=source.stem,
        rows=np.array([[signals[name] for name in SIGNALS] for signals in columns[4]]),
        copied=np.array([signals["copied"] for signals in columns[4]]),
        supported=np.array(columns[2]),
        origin=np.array(columns[0]),
        kind=np.array(columns[1]),
        first_half=np.array([hashlib.sha256(group.encode()).digest()[0] % 2 == 0 for group in columns[3]]),
        group=np.array(columns[3]),
    )


def _signals(index: Index, item: Item, _: MiniLM) -> Mapping[str, float]:
    """The signals of the product itself; ``Index.support`` makes chances of them."""
    looker = index._late_search
    assert looker is not None  # noqa: S101 - a fresh index has it
    held, places = looker.held([item.text], index.fetch(item.chunks)), range(len(item.chunks))
    return {**held.signals(0, places), "copied": max(held.copied(0, place) for place in places)}


def parts(fitted: Observed, labelled: Iterable[Observed]) -> list[tuple[Observed, Floats]]:
    """Each set with the weight of each of its statements, 0 for those that are not fitted on."""
    result = []
    half = fitted.first_half
    weights = _spread([(half & fitted.supported, 500.0)])
    wrong = [half & fitted.false(origin, kind) for origin in (TAKEN, WRITTEN) for kind in set(fitted.kind)]
    wrong = [mask for mask in wrong if mask.any()]
    result.append((fitted, weights + _spread([(mask, 500 / len(wrong)) for mask in wrong])))
    for one in labelled:
        altered = one.false(REPLY) & (one.kind != AS_IT_IS)
        masks = [(one.supported, 1.0), (one.false(REPLY, AS_IT_IS), 1 - ALTERED), (altered, ALTERED)]
        result.append((one, _spread([(mask, SIZE * share) for mask, share in masks])))
    return result


def _spread(masks: Sequence[tuple[Mask, float]]) -> Floats:
    weights = np.zeros(len(masks[0][0]))
    for mask, weight in masks:
        weights[mask] = weight / max(1, int(mask.sum()))
    return weights


def fit(sets: Sequence[tuple[Observed, Floats]], names: Sequence[str] = SIGNALS) -> Floats:
    """The weights of ``names``, in their order, and the intercept."""
    columns = [SIGNALS.index(name) for name in names]
    rows = np.concatenate([one.rows[:, columns][weights > 0] for one, weights in sets])
    labels = np.concatenate([one.supported[weights > 0] for one, weights in sets]).astype(np.float64)
    spread = rows.std(axis=0)
    theta = logistic(rows / spread, labels, np.concatenate([weights[weights > 0] for _, weights in sets]))
    return np.asarray(np.append(theta[:-1] / spread, theta[-1]), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Judge:
    """Fits and judges with the signals ``names``."""

    fitted: Observed
    others: Sequence[Observed]
    labelled: Sequence[Observed]
    names: Sequence[str] = SIGNALS

    def weights(self, without: str = "") -> Floats:
        """Those fitted without the labelled sets of a family."""
        kept = [one for one in self.labelled if one.family != without and not one.name.endswith("_test")]
        return fit(parts(self.fitted, kept), self.names)

    def chances(self, one: Observed, theta: Floats) -> Floats:
        """The chance of each statement of a set."""
        columns = [SIGNALS.index(name) for name in self.names]
        return probability(one.rows[:, columns] @ theta[:-1] + theta[-1])

    def constructed(self, one: Observed, origin: str) -> dict[str, float]:
        """AUROC of the true statements against each kind of false ones and against all."""
        judged = ~one.first_half if one is self.fitted else np.full(len(one.kind), True)
        chances, true = self.chances(one, self.weights()), judged & one.true(origin)
        kinds = sorted(set(one.kind[judged & one.false(origin)]))
        found = {kind: above(chances[true], chances[judged & one.false(origin, kind)]) for kind in kinds}
        return {**found, "all": above(chances[true], chances[judged & one.false(origin)])}

    def replies(self, one: Observed) -> tuple[float, float]:
        """AUROC of a labelled set: what people said, and supported replies against their altered selves."""
        chances = self.chances(one, self.weights(without=one.family))
        altered = one.false(REPLY) & (one.kind != AS_IT_IS)
        true = chances[one.supported]
        return above(true, chances[one.false(REPLY, AS_IT_IS)]), above(true, chances[altered])


def kinds_table(judge: Judge) -> None:
    """Print the AUROC of each kind in each set, beside the best single signal's on the fitted set."""
    columns = {"clapnq, taken": judge.constructed(judge.fitted, TAKEN)}
    single = [Judge(judge.fitted, (), judge.labelled, [name]).constructed(judge.fitted, TAKEN) for name in SIGNALS]
    columns["best single signal"] = {kind: max(one[kind] for one in single) for kind in single[0]}
    columns["clapnq, written"] = judge.constructed(judge.fitted, WRITTEN)
    columns |= {one.name: judge.constructed(one, TAKEN) for one in judge.others}
    print(f"| statement | {' | '.join(columns)} |\n{'|---' * (len(columns) + 1)}|")
    for kind in columns["clapnq, taken"]:
        print(f"| {kind} | {' | '.join(f'{found.get(kind, np.nan):.3f}' for found in columns.values())} |")


def formulas_table(judge: Judge) -> None:
    """Print, a row a formula, the AUROC of all constructed statements, of the worst kind, and of the labelled sets."""
    print(
        "\n| signals | taken | worst kind | written | other sets | " + " | ".join(s.name for s in judge.labelled) + " |"
    )
    print("|---" * (5 + len(judge.labelled)) + "|")
    for name, names in FORMULAS.items():
        one = Judge(judge.fitted, judge.others, judge.labelled, names)
        taken, written = (one.constructed(judge.fitted, origin) for origin in (TAKEN, WRITTEN))
        others = np.mean([one.constructed(other, TAKEN)["all"] for other in judge.others])
        cells = [
            taken["all"],
            min(taken.values()),
            written["all"],
            others,
            *(one.replies(s)[0] for s in judge.labelled),
        ]
        print(f"| {name} | {' | '.join(f'{cell:.3f}' for cell in cells)} |", flush=True)


def verdicts_table(judge: Judge) -> None:
    """Print, for each set, what share (per cent) of its statements gets each verdict by the weights that ship."""
    shipped = np.array([*(WEIGHTS[name] for name in SIGNALS), INTERCEPT])
    print("\n| statements | how many | supported | in other words | unsupported |\n|---|---|---|---|---|")
    for one in (judge.fitted, *judge.others, *judge.labelled):
        likely = (judge.chances(one, shipped) >= PARTIAL) & (one.copied > Fidelity.CHANGED)
        judged = ~one.first_half if one is judge.fitted else np.full(len(one.kind), True)
        for origin in sorted(set(one.origin)):
            masks = {"true": one.true(origin), **{kind: one.false(origin, kind) for kind in sorted(set(one.kind))}}
            for kind, mask in masks.items():
                some = mask & judged
                taken = likely & (one.copied == Fidelity.SAME)
                shares = [100 * np.mean(verdict[some]) for verdict in (taken, likely & ~taken, ~likely)]
                if some.any():
                    cells = " | ".join(f"{share:.0f}" for share in shares)
                    print(f"| {one.name}, {origin}: {kind} | {int(some.sum())} | {cells} |")


def main() -> int:
    """Print the tables, and the weights fitted on everything that may be fitted on."""
    parser = argparse.ArgumentParser(prog="python -m research.support", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("labelled", type=Path, nargs="*")
    parser.add_argument("--cache", type=Path, default=Path(".index/support"))
    asked = parser.parse_args()
    asked.cache.mkdir(parents=True, exist_ok=True)
    model = MiniLM(threads=2)
    sets = [observe(asked.data / name, asked.cache, model) for name in (FITTED, *JUDGED)]
    judge = Judge(sets[0], sets[1:], [observe(source, asked.cache, model) for source in asked.labelled])
    kinds_table(judge)
    formulas_table(judge)
    print("\n| labelled set | labels | against altered |\n|---|---|---|")
    for one in judge.labelled:
        print("| " + " | ".join((one.name, *(f"{value:.3f}" for value in judge.replies(one)))) + " |")
    verdicts_table(judge)
    fitted = judge.weights().round(2).tolist()
    print("\nweights", dict(zip([*SIGNALS, "intercept"], fitted, strict=True)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
