"""rag.wiring.seed_notes: what SEED_RULES=on is not."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from knowledge.model.manifest import SEED_RECIPE
from rag.profiles import PROFILES
from rag.wiring.seed_notes import seed_note

SEEDS = {name: profile.seed for name, profile in PROFILES.items() if profile.seed}


@pytest.mark.parametrize("profile", SEEDS)
def test_only_clockifys_seed_says_how_documents_are_cut(profile: str) -> None:
    assert ("--cut seed" in seed_note(profile, SEEDS[profile], None)) is (profile == "clockify")
    cut = SimpleNamespace(recipe=SEED_RECIPE)
    assert "--cut seed" not in seed_note(profile, SEEDS[profile], cut)  # type: ignore[arg-type]


def test_what_the_seed_names_and_does_not_explain_is_said_to_be_left_out() -> None:
    assert "intent-aware weight" in seed_note("clockify", SEEDS["clockify"], None)
    assert "but for this" not in seed_note("waypoint", SEEDS["waypoint"], None)
