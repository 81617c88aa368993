"""Write ``remarks.npy``, the vectors of labelled utterances.

``python -m research.remarks CLINC.json HWU``. CLINC.json is ``data/data_full.json`` of github.com/clinc/oos-eval
(Larson et al., 2019, CC BY 3.0). HWU is a checkout of github.com/xliuhw/NLU-Evaluation-Data (Liu et al., 2019, CC BY
4.0), of which the annotated test sets are read. No utterance is part of this repository.
"""

from __future__ import annotations

import json
import random
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from knowledge.embedding import MiniLM
from rag.ask.remarks import KINDS
from rag.values.stored import quantise
from rag.wiring.application import UTTERANCES_FILE

REMARKS = {
    "thank_you": "thanks", "general_praise": "thanks", "yes": "assent", "general_affirm": "assent", "no": "dissent",
    "general_negate": "dissent", "are_you_a_bot": "identity", "what_is_your_name": "identity",
    "who_made_you": "identity", "what_can_i_ask_you": "help", "greeting": "greeting", "goodbye": "goodbye",
    "repeat": "repeat", "general_repeat": "repeat", "general_explain": "simpler",
}  # fmt: skip
"""What an intent is here; every other one is a question."""
OURS = {
    "thanks": ("thx", "ty", "merci", "danke", "danke schön", "vielen dank"),
    "greeting": ("hallo", "guten tag", "guten morgen", "moin", "bonjour", "hola"),
    "goodbye": ("tschüss", "auf wiedersehen", "ciao", "au revoir"),
    "help": ("help", "help me"),
    "recall": ("what did i ask before", "what was my last question", "what have i asked so far"),
}
"""Utterances of ours, by what they are: no intent of the two sets has them."""
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
"""Share of HWU64's utterances that the vectors are made of; the others are left for judging them."""

type Labelled = list[tuple[str, str]]


def read_hwu(folder: Path) -> dict[str, list[str]]:
    """Return HWU64's utterances by intent."""
    found: dict[str, set[str]] = defaultdict(set)
    for place in folder.glob("**/testset/annotated/*/*.json"):
        rows = json.loads(place.read_text(encoding="utf-8"))["test_data_annotation"]
        found[place.parent.name].update(row["text"] for row in rows)
    return {intent: sorted(texts) for intent, texts in sorted(found.items())}


def read_training(clinc: Path, hwu: Path) -> Labelled:
    """Return the utterances that the vectors are made of, with their intents."""
    training = [(text, intent) for text, intent in json.loads(clinc.read_text(encoding="utf-8"))["train"]]
    for intent, texts in read_hwu(hwu).items():
        random.Random(intent).shuffle(texts)  # noqa: S311 - a seeded choice
        training += [(text, intent) for text in texts[: int(TRAINING * len(texts))]]
    return training


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
        texts = [text for text, intent in training if REMARKS.get(intent) == kind]
        vectors = model.embed([*texts, *OURS.get(kind, ())])
        rows += [(number, vectors[row]) for row in different(vectors, SAME_REMARK)]
    asked = model.embed([text for text, intent in training if intent not in REMARKS and intent not in NEITHER])
    nearest = (asked @ np.stack([vector for _, vector in rows]).T).max(axis=1)
    hardest = asked[np.argsort(-nearest)[: int((nearest > NEAR_A_REMARK).sum())]]
    rows += [(0, hardest[row]) for row in different(hardest, SAME_QUESTION)]
    return np.stack(
        [np.concatenate(([kind], np.frombuffer(quantise(vector), np.int8))) for kind, vector in rows]
    ).astype(np.int8)


if __name__ == "__main__":
    np.save(UTTERANCES_FILE, vectors_of(MiniLM(threads=2), read_training(*map(Path, sys.argv[1:]))))
