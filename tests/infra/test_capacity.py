"""The default deployment holds at least 5,000 chunks of 1,200 characters beside the libraries."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from artefacts import BUILD, require_build
from fakes_embedding import HashingEmbedder

from knowledge.ingest import ingest
from knowledge.types import Document
from layerbuilder import index as index_layer
from layerbuilder.sizes import LIMIT_BYTES, weigh

CHUNKS = 5_000
CHARACTERS = 1_200


def page(number: int, words: list[str], random_: random.Random) -> Document:
    """A document that is one chunk of about CHARACTERS characters, with all thirteen fields and two more."""
    text = " ".join(random_.choice(words) for _ in range(400))[:CHARACTERS].rsplit(" ", 1)[0] + "."
    return Document(
        doc_id=f"DOC-{number:05}",
        title=f"Guide number {number} to {random_.choice(words)} and {random_.choice(words)}",
        text=text,
        digest=f"{number:064x}",
        path=f"01_regulatory/guide_{number}.md",
        category="01_regulatory",
        source_org="Singapore Customs (sample summary)",
        source_urls=(f"https://www.example.org/regulations/guide-{number}",),
        source_type="public_regulatory",
        jurisdiction="SG",
        last_updated="2026-03-17",
        url=f"https://www.example.org/regulations/guide-{number}",
        extra={"priority": number % 10, "sample": True},
    )


def test_five_thousand_chunks_fit(tmp_path: Path) -> None:
    # Given an index of 5,000 chunks whose words are as many as a real text's
    require_build()
    random_ = random.Random(7)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = ["".join(random_.choices(letters, range(26, 0, -1), k=random_.randint(2, 10))) for _ in range(20_000)]
    documents = [page(number, words, random_) for number in range(CHUNKS)]

    # When it is packed into the index layer
    summary = ingest(documents, target=tmp_path / "index", embedder=HashingEmbedder())
    index_layer.build(tmp_path / "layer", index=tmp_path / "index")

    # Then it fits beside the function and the libraries
    assert summary.chunks == CHUNKS
    sizes = [weigh(folder).total() for folder in (tmp_path / "layer", BUILD / "ChromaLayer", BUILD / "QueryFunction")]
    assert sum(sizes) <= LIMIT_BYTES, f"{sum(sizes)} bytes"


@pytest.mark.parametrize("part", ["ChromaLayer", "QueryFunction", "IndexLayer"])
def test_what_was_built_is_there(part: str) -> None:
    require_build()
    assert weigh(BUILD / part).total() > 100_000
