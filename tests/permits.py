"""One page about permits, as an index: enough to ask a server something that it holds."""

from __future__ import annotations

from pathlib import Path

import pytest
import real_model

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


def indexed(factory: pytest.TempPathFactory) -> Path:
    """The page as an index, made once for a whole run; copy it before changing it."""
    source = factory.mktemp("permits") / "permits.md"
    source.write_text(PAGE, encoding="utf-8")
    return real_model.made_once("permits", source, factory, every=12)
