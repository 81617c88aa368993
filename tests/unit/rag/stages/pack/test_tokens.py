"""rag.stages.pack.tokens: a budget in bytes holds at least as much as the tokens that it stands for."""

from __future__ import annotations

import pytest

from rag.stages.pack.tokens import budget_bytes, size


def test_clockifys_budget_is_what_its_seed_packs_at_two_and_a_half_bytes_a_token() -> None:
    assert budget_bytes(7200) == 18_000


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The timer keeps running while your laptop sleeps. When you open it again, Tally asks.", 19),
        ("getUserTimeEntriesByWorkspaceId HTTPSConnectionPoolError kebab-case-name id_42", 18),
        ("\u8ba1\u65f6\u5668\u5728\u7535\u8111\u4f11\u7720\u65f6\u7ee7\u7eed\u8fd0\u884c\u3002", 11),
        ("\u0422\u0430\u0439\u043c\u0435\u0440 \u0438\u0434\u0451\u0442", 6),
    ],
    ids=["English", "identifiers", "Chinese", "Russian"],
)
def test_a_text_of_so_many_tokens_of_qwen_takes_more_bytes_than_their_budget(text: str, tokens: int) -> None:
    assert size(text) >= budget_bytes(tokens)


def test_a_lone_surrogate_has_a_size() -> None:
    assert size("\ud800") == 1
