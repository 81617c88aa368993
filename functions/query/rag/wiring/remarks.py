"""The labelled utterances that tell a remark from a question, as they ship, and what can be asked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rag.ask.admit.remarks import NO_QUESTION, Utterances
from rag.values.answer import Decline
from rag.wiring.about import overview

if TYPE_CHECKING:
    from knowledge.open.anywhere import AnyIndex

SHOWN = 3
"""Headings that a guide names."""
PLACE = Path(__file__).resolve().parents[1] / "ask" / "admit" / "remarks.npy"


def utterances() -> Utterances:
    """Those of ``remarks.npy``, which ``tools/research/remarks.py`` makes."""
    return Utterances.of(np.load(PLACE))


def guide(index: AnyIndex, headings: Sequence[str]) -> Decline:
    """Return what can be asked of ``index``: some of the ``headings`` in it, else of its titles."""
    known = overview(index)
    reply = f"I answer from {known.documents} documents. Ask in your own words, for example about:"
    return Decline(NO_QUESTION, reply, items=tuple(headings or known.titles)[:SHOWN])
