"""Every retriever in every profile, with the seed's rules and without: each answers from a real index."""

from __future__ import annotations

import pytest
from functional.harness import Start

from rag.profiles import PROFILES

QUESTION = "do i need a permit to bring machine parts into Singapore?"
RETRIEVERS = ("", "late", "dense", "hybrid")


@pytest.mark.parametrize(
    ("profile", "seed_rules"),
    [(name, rules) for name, made in PROFILES.items() for rules in ("on", "off") if made.seed or rules == "off"],
)
def test_it_answers(start: Start, profile: str, seed_rules: str) -> None:
    threshold = {"gacounts": "0.3"}.get(profile, "auto")  # the seed's .75 is that of another model
    found = {}
    for retriever in RETRIEVERS:
        api = start(RAG_PROFILE=profile, SEED_RULES=seed_rules, RETRIEVER=retriever, RELEVANCE_THRESHOLD=threshold)
        reply = api.ask(QUESTION)
        found[retriever] = (reply.status, reply.json["refused"], bool(reply.json["citations"]))
    assert found == dict.fromkeys(RETRIEVERS, (200, False, True))
