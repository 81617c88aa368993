"""Write ``remarks.npy``: vectors of labelled utterances, by which the service tells remarks from questions.

A remark is a greeting, thanks, "who are you?" and the like.

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
"""Intents of the two sets and their kind of remark; all other intents are questions."""
OWN_UTTERANCES = {
    "thanks": ("thx", "ty", "merci", "danke", "danke schön", "vielen dank"),
    "greeting": ("hallo", "guten tag", "guten morgen", "moin", "bonjour", "hola"),
    "goodbye": ("tschüss", "auf wiedersehen", "ciao", "au revoir"),
    "help": ("help", "help me"),
    "recall": ("what did i ask before", "what was my last question", "what have i asked so far"),
}
"""Our own utterances by kind of remark; the two sets lack them."""
_CHIT_CHAT = """
cancel change_ai_name change_user_name do_you_have_pets flip_coin fun_fact general_commandstop general_confirm
general_dontcare general_joke general_quirky how_old_are_you maybe meaning_of_life roll_dice tell_joke user_name
what_are_your_hobbies where_are_you_from who_do_you_work_for
"""
CHIT_CHAT = frozenset(_CHIT_CHAT.split())
"""Intents that are left out: neither remarks nor questions."""
SAME_REMARK, SAME_QUESTION = 0.9, 0.8
"""Cosine above which a second utterance of a kind adds nothing."""
NEAR_A_REMARK = 0.5
"""Least cosine of a question with a remark; other questions are never the nearest of a remark."""
TRAINING = 0.8
"""Share of HWU64's utterances behind the vectors; the others are for testing."""

type LabelledUtterances = list[tuple[str, str]]


def read_hwu(folder: Path) -> dict[str, list[str]]:
    """Return HWU64's utterances by intent."""
    found: dict[str, set[str]] = defaultdict(set)
    for place in folder.glob("**/testset/annotated/*/*.json"):
        rows = json.loads(place.read_text(encoding="utf-8"))["test_data_annotation"]
        found[place.parent.name].update(row["text"] for row in rows)
    return {intent: sorted(texts) for intent, texts in sorted(found.items())}


def read_training(clinc: Path, hwu: Path) -> LabelledUtterances:
    """Return the training utterances with their intents."""
    training = [(text, intent) for text, intent in json.loads(clinc.read_text(encoding="utf-8"))["train"]]
    for intent, texts in read_hwu(hwu).items():
        random.Random(intent).shuffle(texts)  # noqa: S311 - a seeded choice
        training += [(text, intent) for text in texts[: int(TRAINING * len(texts))]]
    return training


def drop_near_duplicates(vectors: NDArray[np.float32], max_cosine: float) -> list[int]:
    """Return the rows whose cosine with every returned row before is at most ``max_cosine``."""
    rows: list[int] = []
    for row, vector in enumerate(vectors):
        if not rows or float((vectors[rows] @ vector).max()) <= max_cosine:
            rows.append(row)
    return rows


def embed_utterances(model: MiniLM, training: LabelledUtterances) -> NDArray[np.int8]:
    """Return distinct remarks and the questions nearest to one; a row is the kind's number and a quantised vector."""
    rows: list[tuple[int, NDArray[np.float32]]] = []
    for number, kind in enumerate(KINDS[1:], start=1):
        texts = [text for text, intent in training if REMARKS.get(intent) == kind]
        vectors = model.embed([*texts, *OWN_UTTERANCES.get(kind, ())])
        rows += [(number, vectors[row]) for row in drop_near_duplicates(vectors, SAME_REMARK)]
    asked = model.embed([text for text, intent in training if intent not in REMARKS and intent not in CHIT_CHAT])
    nearest = (asked @ np.stack([vector for _, vector in rows]).T).max(axis=1)
    hardest = asked[np.argsort(-nearest)[: int((nearest > NEAR_A_REMARK).sum())]]
    rows += [(0, hardest[row]) for row in drop_near_duplicates(hardest, SAME_QUESTION)]
    return np.stack(
        [np.concatenate(([kind], np.frombuffer(quantise(vector), np.int8))) for kind, vector in rows]
    ).astype(np.int8)


if __name__ == "__main__":
    np.save(UTTERANCES_FILE, embed_utterances(MiniLM(threads=2), read_training(*map(Path, sys.argv[1:]))))
