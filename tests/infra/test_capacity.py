"""The default deployment holds at least 5,000 chunks of 1,200 characters beside the libraries."""

import random

import pytest
from artefacts import BUILD, require_build
from fakes_embedding import ReadingEmbedder

from knowledge.build.ingest import ingest
from knowledge.model.values import Document
from layerbuilder import index as index_layer
from layerbuilder.sizes import CHUNK_BYTES, LIMIT_BYTES, weigh

pytestmark = pytest.mark.build

CHUNKS, MEASURED = 5_000, 2_000
"""What is to fit, and what is measured of it: the size grows a little less than the number."""
CHARACTERS = 1_200


def page(number: int, words: list[str], random_: random.Random) -> Document:
    """A document that is one chunk of about CHARACTERS characters, with all fourteen fields and two more.

    Its words are as often the same ones as in prose (Zipf): 120 different ones of 200.
    """
    drawn = random_.choices(words, [1 / (rank + 3) for rank in range(len(words))], k=400)
    text = " ".join(drawn)[:CHARACTERS].rsplit(" ", 1)[0] + "."
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
        dated=20260317,
        url=f"https://www.example.org/regulations/guide-{number}",
        extra={"priority": number % 10, "sample": True},
    )


@pytest.fixture(scope="module")
def chunk_bytes(tmp_path_factory: pytest.TempPathFactory) -> float:
    """The index layer of MEASURED chunks whose words are as many as a real text's, in bytes."""
    place = tmp_path_factory.mktemp("capacity")
    random_ = random.Random(7)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = ["".join(random_.choices(letters, range(26, 0, -1), k=random_.randint(2, 10))) for _ in range(20_000)]
    documents = [page(number, words, random_) for number in range(MEASURED)]
    summary = ingest(documents, target=place / "index", embedder=ReadingEmbedder())
    assert summary.chunks == MEASURED
    index_layer.build(place / "layer", index=place / "index")
    return weigh(place / "layer").total() / MEASURED


def test_five_thousand_chunks_fit(chunk_bytes: float) -> None:
    # Given the function and the libraries as they are built
    require_build()
    built = {part: weigh(BUILD / part).total() for part in ("ChromaLayer", "QueryFunction", "IndexLayer")}
    assert min(built.values()) > 100_000, "what was built is there"

    # Then the index fits beside them
    size = CHUNKS * chunk_bytes + built["ChromaLayer"] + built["QueryFunction"]
    assert size <= LIMIT_BYTES, f"{size} bytes"


def test_a_chunk_takes_what_the_size_gate_reckons_with(chunk_bytes: float) -> None:
    assert chunk_bytes == pytest.approx(CHUNK_BYTES, rel=0.05)
