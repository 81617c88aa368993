"""Makes ``remarks.npy``, the vectors of labelled utterances, and counts what is taken for a remark.

``python -m research.remarks CLINC.json HWU DATA [MORE.jsonl ...] [--write]``. CLINC.json is ``data/data_full.json`` of
github.com/clinc/oos-eval (Larson et al., 2019, CC BY 3.0). HWU is a checkout of github.com/xliuhw/NLU-Evaluation-Data
(Liu et al., 2019, CC BY 4.0), of which the annotated test sets are read. DATA holds ``<set>/queries.jsonl``; a line of
MORE.jsonl is a question (``text``). No utterance is part of this repository.
"""

from __future__ import annotations

import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from knowledge.embedding import MiniLM
from rag.ask.admit.remarks import KINDS, Utterances
from rag.values.stored import quantise
from rag.wiring.remarks import PLACE

REMARKS = {
    "thank_you": "thanks", "general_praise": "thanks", "yes": "assent", "general_affirm": "assent", "no": "dissent",
    "general_negate": "dissent", "are_you_a_bot": "identity", "what_is_your_name": "identity",
    "who_made_you": "identity", "what_can_i_ask_you": "identity", "greeting": "greeting", "goodbye": "goodbye",
    "repeat": "repeat", "general_repeat": "repeat", "general_explain": "simpler",
}  # fmt: skip
"""What an intent is here; every other one is a question."""
_NEITHER = """
cancel change_ai_name change_user_name do_you_have_pets flip_coin fun_fact general_commandstop general_confirm
general_dontcare general_joke general_quirky how_old_are_you maybe meaning_of_life roll_dice tell_joke user_name
what_are_your_hobbies where_are_you_from who_do_you_work_for
"""
NEITHER = frozenset(_NEITHER.split())
"""Chit-chat that is left out."""
SAME_REMARK, SAME_QUESTION = 0.9, 0.8
"""Cosine above which a second utterance of a kind says nothing new."""
NEAR_A_REMARK = 0.5
"""Questions that are nearer to no remark are never the nearest of one."""
TRAINING = 0.8
"""Share of HWU64's utterances that the vectors are made of; CLINC-150 says it itself."""

type Labelled = list[tuple[str, str]]


def read_hwu(folder: Path) -> dict[str, list[str]]:
    """HWU64's utterances by intent."""
    found: dict[str, set[str]] = defaultdict(set)
    for place in folder.glob("**/testset/annotated/*/*.json"):
        rows = json.loads(place.read_text(encoding="utf-8"))["test_data_annotation"]
        found[place.parent.name].update(row["text"] for row in rows)
    return {intent: sorted(texts) for intent, texts in sorted(found.items())}


def read_sets(clinc: Path, hwu: Path) -> tuple[Labelled, Labelled]:
    """Utterances with their intents: what the vectors are made of, and what they are judged by."""
    splits = json.loads(clinc.read_text(encoding="utf-8"))
    training = [(text, intent) for text, intent in splits["train"]]
    judged = [(text, intent) for text, intent in (*splits["val"], *splits["test"])]
    for intent, texts in read_hwu(hwu).items():
        random.Random(intent).shuffle(texts)  # noqa: S311 - a seeded choice
        cut = int(TRAINING * len(texts))
        training += [(text, intent) for text in texts[:cut]]
        judged += [(text, intent) for text in texts[cut:]]
    return training, judged


def different(vectors: NDArray[np.float32], most: float) -> list[int]:
    """The rows of which none is nearer than ``most`` to one before it."""
    kept: list[int] = []
    for row, vector in enumerate(vectors):
        if not kept or float((vectors[kept] @ vector).max()) <= most:
            kept.append(row)
    return kept


def vectors_of(model: MiniLM, training: Labelled) -> NDArray[np.int8]:
    """The remarks that differ, and the questions that are near to one: a row is a kind's number and a direction."""
    rows: list[tuple[int, NDArray[np.float32]]] = []
    for number, kind in enumerate(KINDS[1:], start=1):
        vectors = model.embed([text for text, intent in training if REMARKS.get(intent) == kind])
        rows += [(number, vectors[row]) for row in different(vectors, SAME_REMARK)]
    asked = model.embed([text for text, intent in training if intent not in REMARKS and intent not in NEITHER])
    nearest = (asked @ np.stack([vector for _, vector in rows]).T).max(axis=1)
    hardest = asked[np.argsort(-nearest)[: int((nearest > NEAR_A_REMARK).sum())]]
    rows += [(0, hardest[row]) for row in different(hardest, SAME_QUESTION)]
    return np.stack(
        [np.concatenate(([kind], np.frombuffer(quantise(vector), np.int8))) for kind, vector in rows]
    ).astype(np.int8)


def count(model: MiniLM, known: Utterances, judged: Labelled, sets: Mapping[str, Sequence[str]]) -> Iterable[str]:
    """Lines: how many of each kind are told, and how many questions are taken for remarks."""
    for kind in KINDS[1:]:
        texts = [text for text, intent in judged if REMARKS.get(intent) == kind]
        told = [known.kind(vector) for vector in model.embed(texts)]
        yield f"{kind}: {told.count(kind)} of {len(texts)} told, {told.count(KINDS[0])} taken for a question"
    others = [text for text, intent in judged if intent not in REMARKS and intent not in NEITHER]
    for name, asked in {"other intents": others, **sets}.items():
        taken = [text for text in asked if known.kind(model.embed([text])[0]) != KINDS[0]]
        yield f"{name}: {len(taken)} of {len(asked)} questions taken for a remark"


def main(clinc: Path, hwu: Path, data: Path, *more: Path, write: bool) -> None:
    """Print the counts, after making the vectors anew where they are to be written."""
    model = MiniLM(threads=2)
    training, judged = read_sets(clinc, hwu)
    if write:
        np.save(PLACE, vectors_of(model, training))
    stored = np.load(PLACE)
    print(f"{len(stored)} vectors, {stored.nbytes} bytes")
    places = (*sorted(data.glob("*/queries.jsonl")), *more)
    sets = {
        place.parent.name if place.stem == "queries" else place.stem: [
            str(row.get("text") or row["question"])
            for row in map(json.loads, place.read_text(encoding="utf-8").splitlines())
        ]
        for place in places
    }
    print(*count(model, Utterances.of(stored), judged, sets), sep="\n")


if __name__ == "__main__":
    paths = [Path(argument) for argument in sys.argv[1:] if argument != "--write"]
    main(*paths, write="--write" in sys.argv)
