"""One page about permits, as an index: enough to ask a server something that it holds."""

from __future__ import annotations

from pathlib import Path

import real_model

from knowledge.build.ingest import ingest
from knowledge.read.documents import read

PAGE = """# Trade permits

## Chewing gum

Importing chewing gum into Singapore needs a licence of the Health Sciences Authority, which costs 25 dollars a year.
Nobody may sell it without a pharmacist.

## Bringing plants into the country

A phytosanitary certificate of the country of origin must come with every plant. It is checked at the border.

## Opening hours of the permit office

The permit office opens at nine in the morning from Monday to Friday and stays closed on public holidays.
"""
QUESTION = "What does the licence for chewing gum cost?"


def indexed(root: Path) -> Path:
    """The folder of the page's index, below ``root``."""
    (root / "permits.md").write_text(PAGE, encoding="utf-8")
    with real_model.few_background_questions():
        ingest(read([root / "permits.md"]).documents, target=root / "index", embedder=real_model.model())
    return root / "index"
