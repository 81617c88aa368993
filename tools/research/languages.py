"""What is found, answered and declined in other languages: ``python -m research.languages xquad.de.json ...``.

Each file has SQuAD's form, as those of XQuAD (github.com/google-deepmind/xquad) do: one paragraph is one document. Of
its articles the last ones are left out of the index: their questions have no answer there.
"""

from __future__ import annotations

import json
import math
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge.build.ingest import ingest
from knowledge.embedding import MiniLM
from knowledge.model.values import Document, View
from knowledge.open.index import Index, open_index
from rag.answer.title_form import TitleForm
from rag.find.gate.evidence import EvidenceGate
from rag.find.pack.by_title import TitledPacker
from rag.values.answer import Proceed
from rag.values.chat import Deadline
from rag.values.question import Question
from rag.write.extractive import ExtractiveWriter
from ragctl.modes import Mode, best_documents, searcher

if TYPE_CHECKING:
    from knowledge.model.values import SearchResult

LEFT_OUT = 8
"""Articles of XQuAD's 48."""
ASKED = 400
"""So many questions are asked of what takes the model."""
CUTOFF = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the ``doc_id`` of the paragraph that answers it, and the words that do."""

    text: str
    doc_id: str
    answers: tuple[str, ...]


def measure(path: Path) -> dict[str, object]:
    """The figures of one file, shares (0..1)."""
    articles = json.loads(path.read_text(encoding="utf-8"))["data"]
    held, left = articles[:-LEFT_OUT], articles[-LEFT_OUT:]
    paragraphs = {f"{n}-{m}": each for n, one in enumerate(held) for m, each in enumerate(one["paragraphs"])}
    documents = [
        Document(doc_id=key, title="", text=each["context"], path=f"{key}.txt", digest=key)
        for key, each in paragraphs.items()
    ]
    asked = list(_asked(paragraphs))
    some = random.Random(1).sample(asked, min(ASKED, len(asked)))  # noqa: S311 - a sample
    absent = [qa["question"] for one in left for paragraph in one["paragraphs"] for qa in paragraph["qas"]][:ASKED]
    model = MiniLM(threads=2)
    figures: dict[str, object] = {"file": path.name, "documents": len(documents), "questions": len(asked)}
    with tempfile.TemporaryDirectory() as place:
        figures["chunks"] = ingest(documents, target=Path(place), embedder=model).chunks
        with closing(open_index(Path(place), embedder=model)) as index:
            figures["language"] = index.lexical.language if index.lexical else ""
            for mode in (Mode.bm25, Mode.hybrid, Mode.late):
                figures[mode] = _found(index, mode, asked if mode is Mode.bm25 else some)
            figures |= _answered(index, some, absent)
    return figures


def _asked(paragraphs: dict[str, dict[str, list[dict[str, object]]]]) -> Iterator[Asked]:
    for key, paragraph in paragraphs.items():
        for qa in paragraph["qas"]:
            answers = qa["answers"] if isinstance(qa["answers"], list) else []
            yield Asked(str(qa["question"]), key, tuple(answer["text"] for answer in answers))


def _found(index: Index, mode: Mode, asked: Sequence[Asked]) -> str:
    search = searcher(mode, index, profile="clockify")
    ranks = [_rank(best_documents(search, one.text, k=CUTOFF), one) for one in asked]
    first, ten = (sum(rank <= k for rank in ranks) / len(ranks) for k in (1, CUTOFF))
    ndcg = sum(1 / math.log2(1 + rank) for rank in ranks if rank <= CUTOFF) / len(ranks)
    return f"recall@1 {first:.3f}, recall@10 {ten:.3f}, nDCG@10 {ndcg:.3f}"


def _rank(hits: Sequence[object], one: Asked) -> float:
    found = [hit.chunk.doc_id for hit in hits]  # type: ignore[attr-defined]
    return found.index(one.doc_id) + 1 if one.doc_id in found else math.inf


def _answered(index: Index, some: Sequence[Asked], absent: Sequence[str]) -> dict[str, object]:
    def passes(text: str, doubts: Callable[[str], SearchResult]) -> bool:
        return isinstance(EvidenceGate(doubts=False)(doubts(text), Question(text=text)), Proceed)

    def search(text: str) -> SearchResult:
        return index.search([View(text)], k=CUTOFF)

    quotes = [_quoted(search(one.text), one.text) for one in some]
    through = [passes(one.text, search) for one in some]
    right = [any(answer in quote for answer in one.answers) for one, quote in zip(some, quotes, strict=True)]
    return {
        "answered": round(sum(through) / len(some), 3),
        "answer in the quote": round(sum(right) / len(some), 3),
        "characters quoted": sorted(map(len, quotes))[len(quotes) // 2],
        "left-out articles declined": round(1 - sum(passes(text, search) for text in absent) / len(absent), 3),
    }


def _quoted(found: SearchResult, text: str) -> str:
    context = replace(TitledPacker(8000, TitleForm(0.5, 3))(found.hits), evidence=found.evidence)
    made = ExtractiveWriter()(Question(text=text), context, deadline=Deadline.after(60, time.monotonic))
    return " ".join(quote.text for quote in made.quotes)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(json.dumps(measure(Path(name)), ensure_ascii=False, indent=1), flush=True)
