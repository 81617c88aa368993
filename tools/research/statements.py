"""Statements with the chunks that they are held against, and whether these bear them out.

Out of a folder in BEIR's layout, or of Markdown pages, come statements that are true to their passage, the same against
a similar passage, and altered ones (``research.alterations``). A labelled set is a file of JSON lines: {statement,
passages, supported, reply?}, with what people said of replies of language models; ``reply`` names the reply that a
statement is of.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from evaluate.question_files import read_qrels, read_queries
from knowledge.build.ingest import ingest
from knowledge.cut.quotable import quotable_units
from knowledge.cut.units import UnitKind
from knowledge.embedding import MiniLM
from knowledge.model.values import Chunk, View
from knowledge.open.index import EmbeddedIndex, open_index
from knowledge.read.documents import read
from research.alterations import ALTERATIONS, Source, counted, names

TAKEN, WRITTEN, REPLY = "taken from the passage", "written by people", "reply of a language model"
AS_IT_IS, ELSEWHERE = "as it is", "another, similar passage"
LEAST, MOST, SAMPLE = 40, 300, 300
FOREIGN = 20
"""One in so many chunks gives sentences that are put behind statements about something else."""
"""Characters of a sentence that is taken from a passage, and how many are, where nobody chose any."""


@dataclass(frozen=True, slots=True)
class Item:
    """A statement held against the chunks of these numbers; ``group`` is its question or reply.

    ``origin`` says where the statement comes from, ``kind`` what was done to it.
    """

    text: str
    chunks: tuple[int, ...]
    origin: str
    kind: str
    supported: bool
    group: str


def opened(source: Path, cache: Path, model: MiniLM) -> EmbeddedIndex:
    """The index of ``source``, made on the first run and kept in ``cache``."""
    target = cache / source.stem
    if not target.exists():
        corpus = _passages(source, cache) if source.is_file() else source / "corpus.jsonl"
        ingest(read([corpus if corpus.exists() else source / "pages"]).documents, target=target, embedder=model)
    return open_index(target, embedder=model)


def items(source: Path, index: EmbeddedIndex, *, every: int = 1) -> list[Item]:
    """Return the statements of ``source``; of a folder those of one in ``every`` question."""
    return list(_labelled(source, index) if source.is_file() else _constructed(source, index, every))


def _passages(source: Path, cache: Path) -> Path:
    corpus = cache / f"{source.stem}.jsonl"
    cache.mkdir(parents=True, exist_ok=True)
    texts = dict.fromkeys(text for line in source.open(encoding="utf-8") for text in json.loads(line)["passages"])
    rows = (json.dumps({"_id": _identity(text), "title": "", "text": text}) + "\n" for text in texts)
    corpus.write_text("".join(rows), encoding="utf-8")
    return corpus


def _identity(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _chunks(index: EmbeddedIndex) -> dict[str, list[Chunk]]:
    found: dict[str, list[Chunk]] = {}
    for chunk in index.iter_chunks():
        found.setdefault(chunk.doc_id, []).append(chunk)
    return found


def _labelled(source: Path, index: EmbeddedIndex) -> Iterator[Item]:
    chunks, corpus = _chunks(index), Corpus.of(index)
    for place, line in enumerate(source.open(encoding="utf-8")):
        row = json.loads(line)
        held = [chunk for text in row["passages"] for chunk in chunks[_identity(text)]]
        one = _Statement(row["statement"], REPLY, held, "", str(row.get("reply", place)))
        yield one.item(AS_IT_IS, supported=bool(row["supported"]))
        if row["supported"]:
            yield from one.altered(corpus)


@dataclass(frozen=True, slots=True)
class _Statement:
    text: str
    origin: str
    held: Sequence[Chunk]
    question: str
    group: str

    def item(self, kind: str, *, supported: bool = False, text: str = "") -> Item:
        return Item(text or self.text, _numbers(self.held), self.origin, kind, supported, self.group)

    def altered(self, corpus: Corpus) -> Iterator[Item]:
        return (self.item(kind, text=text) for kind, text in corpus.altered(self.text, self.held))


@dataclass(frozen=True, slots=True)
class Corpus:
    """What alterations put in."""

    names: Sequence[str]
    counted: Sequence[str]
    sentences: Sequence[str]
    generator: random.Random

    @classmethod
    def of(cls, index: EmbeddedIndex) -> Self:
        """That of the chunks of ``index``."""
        texts = [chunk.text for chunk in index.iter_chunks()]
        return cls(
            sorted({name for text in texts for name in names(text)}),
            sorted({word for text in texts for word in counted(text)}),
            [found for text in texts[::FOREIGN] for found in _sentences(text) if LEAST <= len(found) <= MOST],
            random.Random(0),  # noqa: S311 - no secret
        )

    def altered(self, statement: str, held: Sequence[Chunk]) -> Iterator[tuple[str, str]]:
        """Kinds, and the ``statement`` altered so, which ``held`` bear out as it is."""
        passage = " ".join(chunk.text for chunk in held)
        others = [found for chunk in held for found in _sentences(chunk.text)]
        source = Source(passage, self.names, self.counted, others, self._foreign(passage))
        for kind, alter in ALTERATIONS.items():
            if (text := alter(statement, source, self.generator)) is not None:
                yield kind, text

    def _foreign(self, passage: str) -> list[str]:
        drawn = self.generator.sample(self.sentences, min(3, len(self.sentences)))
        return [text for text in drawn if text not in passage]


def _numbers(chunks: Sequence[Chunk]) -> tuple[int, ...]:
    return tuple(chunk.number for chunk in chunks)


def _constructed(source: Path, index: EmbeddedIndex, every: int) -> Iterator[Item]:
    chunks, corpus = _chunks(index), Corpus.of(index)
    given = (source / "answers.jsonl").exists()
    true = list(_given(source, chunks) if given else _taken(chunks, corpus.generator))
    if len(true) > 10 * SAMPLE:
        true = corpus.generator.sample(true, SAMPLE)
    groups = set(sorted({one.group for one in true})[::every])
    for one in (one for one in true if one.group in groups):
        yield one.item(AS_IT_IS, supported=True)
        if (other := _similar(one, index, chunks)) is not None:
            yield replace(one, held=chunks[other]).item(ELSEWHERE)
        yield from one.altered(corpus)


def _similar(one: _Statement, index: EmbeddedIndex, chunks: Mapping[str, Sequence[Chunk]]) -> str | None:
    """The best document that the index finds for the question of a statement, but its own and those that quote it."""
    own = {chunk.doc_id for chunk in one.held}
    said = " ".join(one.text.split())
    for hit in index.search([View(one.question)], k=20).hits:
        document = hit.chunk.doc_id
        if document not in own and not any(said in " ".join(chunk.text.split()) for chunk in chunks[document]):
            return document
    return None


def _given(source: Path, chunks: Mapping[str, Sequence[Chunk]]) -> Iterator[_Statement]:
    """The supporting sentences that people chose, and those of the answers they wrote, or those with an answer."""
    questions = dict(read_queries(source / "queries.jsonl"))
    qrels = read_qrels(source / "qrels.tsv")
    for line in (source / "answers.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        document = next(iter(qrels[row["_id"]]))
        about = (chunks[document], questions[row["_id"]], row["_id"])
        for sentence in dict.fromkeys(text for texts in row.get("selected_sentences", ()) for text in texts):
            yield _Statement(sentence, TAKEN, *about)
        if "answer_starts" in row:
            text = chunks[document][0].text
            starts = row["answer_starts"]
            yield from (
                _Statement(found, TAKEN, *about)
                for found in _sentences(text)
                if text.find(found) <= starts[0] < text.find(found) + len(found)
            )
        else:
            found = dict.fromkeys(sentence for answer in row["answers"] for sentence in _sentences(answer))
            yield from (_Statement(sentence, WRITTEN, *about) for sentence in found)


def _taken(chunks: Mapping[str, Sequence[Chunk]], generator: random.Random) -> Iterator[_Statement]:
    """Sentences of chunks at random, one a document."""
    for document in generator.sample(sorted(chunks), min(SAMPLE, len(chunks))):
        chunk = generator.choice(chunks[document])
        if found := [text for text in _sentences(chunk.text) if LEAST <= len(text) <= MOST]:
            text = generator.choice(found)
            yield _Statement(text, TAKEN, [chunk], f"{chunk.title} {text}", document)


def _sentences(text: str) -> list[str]:
    return [text[unit.start : unit.end] for unit in quotable_units(text) if unit.kind == UnitKind.SENTENCE]
