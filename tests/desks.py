"""Documents of one chunk each, alike but for two words and a number, for indexes that are made in a test."""

from contextlib import closing
from pathlib import Path
from typing import Any

import chromadb
from fakes_embedding import HashingEmbedder

from knowledge.embedding import embed_text
from knowledge.model.values import Document

WORDS = ["harbour", "customs", "permit", "tariff", "vessel", "invoice", "cargo", "broker"]
BYTE_A_NUMBER = 5e-3
"""What rounding to 127 steps costs these vectors of a few large numbers; among 384 like ones it evens out."""


def desk(number: int, text: str = "") -> Document:
    """Document ``number``, which becomes the chunk ``number + 1`` of an index of the first ones."""
    text = text or f"The {WORDS[number % 8]} desk opens. Its fee for {WORDS[number % 3]} papers is fee{number}."
    return Document(
        doc_id=f"d{number}", title=f"Desk {number}", text=text, digest=text, path=f"desks/d{number}.md",
        category=f"0{number % 4}", source_urls=(f"https://example.com/{number}",),
        extra={"year": 2000 + number, "late_fee": number % 5, "rate": number / 2, "internal": number % 2 == 0},
    )  # fmt: skip


def desks(count: int) -> list[Document]:
    """The first ``count`` documents."""
    return [desk(number) for number in range(count)]


def make_foreign_folder(
    place: Path, ours: list[Document], ids: list[str] | None = None, *, name: str = "waypoint_kb", scale: float = 1,
    dimensions: int = 384, **options: Any,
) -> Path:  # fmt: skip
    """Make a folder without a manifest that holds ``ours``, with what an index of ours keeps of them."""
    with closing(chromadb.PersistentClient(str(place))) as client:  # type: ignore[type-var]
        client.create_collection(name, **{"embedding_function": None, **options}).add(
            ids=ids or [f"id_{n}" for n in range(3, 3 + len(ours))],
            embeddings=HashingEmbedder(dimensions=dimensions).embed([embed_text(d.title, d.text) for d in ours])
            * scale,
            documents=[document.text for document in ours],
            metadatas=[
                {**({"title": document.title} if document.title else {}), "doc_id": document.doc_id,
                 "category": document.category, **document.extra}
                for document in ours
            ],
        )  # fmt: skip
    return place


def read_files(folder: Path) -> dict[Path, bytes]:
    """All files below ``folder``, to see that none changes."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
