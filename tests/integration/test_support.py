"""Small indexes made with the real model: statements are held against one, and copies of a note take one place."""

import shutil
from collections.abc import Iterator
from contextlib import closing

import pytest
import real_model

from knowledge.build.ingest import ingest
from knowledge.model.values import Claim, ClaimSupport, Document
from knowledge.open.handle import IndexHandle
from knowledge.open.index import EmbeddedIndex, open_index
from knowledge.read.documents import read
from knowledge.search.support import PARTIAL, SUPPORTED
from rag.answer.check import MIN_SHARED
from rag.find.refine import Mmr
from rag.find.retrieve import HybridRetriever
from rag.profiles.clockify import ClockifySettings
from rag.values.question import Question, SearchQuery
from rag.wiring.live_index import LiveIndex

TEXTS = {
    "keeping": "Import papers must be kept for five years after the permit is approved. "
    "Tallow Brothers keeps the originals in Rotterdam, and Marlin Freight keeps copies in Singapore.",
    "fees": "The handling fee is 40 dollars for a shipment. Returned pallets are not charged.",
    "hours": "The desk opens at eight in the morning and closes at six in the evening.",
    "lifts": "Forklift drivers renew their licence every two years with a practical test.",
    "strikes": "During a strike the terminal accepts refrigerated boxes only.",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedIndex]:
    target = tmp_path_factory.mktemp("support") / "index"
    documents = [
        Document(doc_id=name, title=name.title(), text=text, digest=text, path=f"{name}.md")
        for name, text in TEXTS.items()
    ]
    ingest(documents, target=target, embedder=real_model.model())
    with closing(open_index(target, embedder=real_model.model())) as opened:
        yield opened


def number(index: EmbeddedIndex, name: str) -> int:
    return next(chunk.number for chunk in index.iter_chunks() if chunk.doc_id == name)


def support(index: EmbeddedIndex, text: str, name: str) -> ClaimSupport:
    (found,) = index.support([Claim(text, (number(index, name),))], [])
    return found


@pytest.mark.parametrize(
    ("text", "name", "is_verbatim"),
    [
        ("Import papers must be kept for five years after the permit is approved.", "keeping", True),
        ("Import papers must be kept for 5 years after approval.", "keeping", False),
        ("Returned pallets aren't charged.", "fees", True),
        ("The desk opens at 8 in the morning.", "hours", False),
    ],
)
def test_true_claims_are_supported(index: EmbeddedIndex, text: str, name: str, is_verbatim: bool) -> None:
    found = support(index, text, name)
    assert found.chance == found.cited
    assert found.chance >= SUPPORTED
    assert (found.missing, found.each[0].verbatim) == ((), is_verbatim)


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("Import papers must be kept for seven years after the permit is approved.", ("7",)),
        ("Tallow Brothers keeps the originals in Antwerp.", ("antwerp",)),
        ("Import papers must not be kept for five years after the permit is approved.", ()),
    ],
)
def test_a_number_or_a_name_that_is_nowhere_is_missing(
    index: EmbeddedIndex, text: str, missing: tuple[str, ...]
) -> None:
    found = support(index, text, "keeping")
    assert (found.missing, found.each[0].verbatim) == (missing, False)
    (asked,) = index.support([Claim(text)], [number(index, "keeping")], f"Is it so? {text}")
    assert asked.missing == ()


def test_each_chunk_is_told_apart_and_one_that_is_not_cited_may_support(index: EmbeddedIndex) -> None:
    claims = [
        Claim("The handling fee is 40 dollars for a shipment.", (number(index, "lifts"),)),
        Claim("Forklift drivers renew their licence every two years."),
    ]
    fees, lifts = (number(index, name) for name in ("fees", "lifts"))
    first, second = index.support(claims, [fees, lifts])

    assert first.cited is not None
    assert first.cited < PARTIAL
    chances = {one.number: one.chance for one in first.each}
    assert chances[fees] >= SUPPORTED > PARTIAL > chances[lifts]
    assert second.cited is None
    chances = {one.number: one.chance for one in second.each}
    assert chances[lifts] >= SUPPORTED > PARTIAL > chances[fees]
    other = support(index, "Import papers must be kept for five years after the permit is approved.", "hours")
    assert (other.chance < PARTIAL, other.shared < MIN_SHARED) == (True, True)


def test_the_words_that_support_a_claim_are_told(index: EmbeddedIndex) -> None:
    keeping, fees = (number(index, name) for name in ("keeping", "fees"))
    (found,) = index.support([Claim("Marlin Freight keeps the copies in Singapore.", (keeping,))], [keeping, fees])
    own = next(one for one in found.each if one.number == keeping)
    (chunk,) = index.fetch([keeping])
    assert "Marlin Freight keeps copies in Singapore" in chunk.text[own.start : own.end]


# Near-duplicates: MMR at Clockify's own numbers leaves room for the section that answers


COPIES = 8
NOTE = (
    "## Starting a timer\n\nOpen Tracker, type what you are working on, pick a project, and press the green Start "
    "button to start the timer. This is copy {} of the note."
)


@pytest.mark.slow
def test_copies_of_one_note_take_one_place(tmp_path_factory: pytest.TempPathFactory) -> None:
    copies = [
        Document(doc_id=f"note{n}", title=f"Release notes {n}", text=NOTE.format(n), digest=str(n), path=f"note{n}.md")
        for n in range(1, COPIES + 1)
    ]
    target = tmp_path_factory.mktemp("copies") / "index"
    shutil.copytree(real_model.sample_index("clockify", tmp_path_factory), target)
    documents = read([real_model.SAMPLES / "clockify"]).documents
    ingest([*documents, *copies], target=target, embedder=real_model.model())
    knobs, text = ClockifySettings(), "How do I start a timer?"

    with closing(IndexHandle(lambda: open_index(target, embedder=real_model.model()))) as handle:
        found = HybridRetriever(LiveIndex(handle))(SearchQuery(text=text, top_k=knobs.top_k)).hits
    assert sum(hit.chunk.doc_id.startswith("note") for hit in found) == COPIES

    kept = Mmr(knobs.mmr_lambda, knobs.pack_top)(found, Question(text=text)).hits

    assert len(kept) == knobs.pack_top
    assert sum(hit.chunk.doc_id.startswith("note") for hit in kept) == 1
    assert "Starting and stopping a timer" in {hit.chunk.section for hit in kept}
