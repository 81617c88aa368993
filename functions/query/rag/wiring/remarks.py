"""The labelled utterances that tell a remark from a question, as they ship."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rag.ask.admit.remarks import Utterances

PLACE = Path(__file__).resolve().parents[1] / "ask" / "admit" / "remarks.npy"


def utterances() -> Utterances:
    """Those of ``remarks.npy``, which ``tools/research/remarks.py`` makes."""
    return Utterances.of(np.load(PLACE))
