"""Near-duplicates in a real index: MMR at Clockify's own numbers leaves room for the section that answers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
import real_model

from knowledge.build.ingest import ingest
from knowledge.model.values import Document
from knowledge.open.handle import IndexHandle
from knowledge.open.index import open_index
from knowledge.read.documents import read
from rag.find.refine.mmr import Mmr
from rag.find.retrieve.hybrid import HybridRetriever
from rag.profiles.clockify import Knobs
from rag.values.question import Question, SearchQuery
from rag.wiring.live_index import LiveIndex

pytestmark = pytest.mark.slow

COPIES = 8
NOTE = (
    "## Starting a timer\n\nOpen Tracker, type what you are working on, pick a project, and press the green Start "
    "button to start the timer. This is copy {} of the note."
)


@pytest.fixture(scope="module")
def retrieve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HybridRetriever]:
    copies = [
        Document(doc_id=f"note{n}", title=f"Release notes {n}", text=NOTE.format(n), digest=str(n), path=f"note{n}.md")
        for n in range(1, COPIES + 1)
    ]
    target = shutil.copytree(
        real_model.sample_index("clockify", tmp_path_factory), tmp_path_factory.mktemp("copies") / "index"
    )
    documents = read([real_model.SAMPLES / "clockify"]).documents
    ingest([*documents, *copies], target=target, embedder=real_model.model())
    handle = IndexHandle(lambda: open_index(target, embedder=real_model.model()))
    yield HybridRetriever(LiveIndex(handle))
    handle.close()


@pytest.mark.parametrize(
    "text",
    ["How do I start a timer?", "start timer", "Which button starts the timer and how do I stop it?"],
)
def test_copies_of_one_note_take_one_place(retrieve: HybridRetriever, text: str) -> None:
    knobs = Knobs()
    found = retrieve(SearchQuery(text=text, top_k=knobs.top_k)).hits
    assert sum(hit.chunk.doc_id.startswith("note") for hit in found) == COPIES

    kept = Mmr(knobs.mmr_lambda, knobs.pack_top)(found, Question(text=text)).hits

    assert len(kept) == knobs.pack_top
    assert sum(hit.chunk.doc_id.startswith("note") for hit in kept) == 1
    assert "Starting and stopping a timer" in {hit.chunk.section for hit in kept}
