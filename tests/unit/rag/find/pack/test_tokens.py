"""rag.find.pack.tokens: a budget in bytes holds at least as much as the tokens that it stands for."""

from __future__ import annotations

from rag.find.pack.tokens import budget_bytes, size


def test_clockifys_budget_is_what_its_seed_packs_at_two_and_a_half_bytes_a_token() -> None:
    assert budget_bytes(7200) == 18_000


def test_a_lone_surrogate_has_a_size() -> None:
    assert size("\ud800") == 1
