"""A version of many chunks, written as an ingest writes it, but for cutting and reading: those are measured elsewhere.

Vectors and codes are random; what is kept of tokens is that of ``PATTERNS`` chunks which were cut and read, in turn.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from itertools import batched
from typing import TYPE_CHECKING

import numpy as np

from knowledge.build.embed import embed_chunks
from knowledge.build.plan import RECIPE, Previous
from knowledge.build.previous import settings_now
from knowledge.build.served.facts import FittedProjection, write_facts
from knowledge.build.served.ingest import switch_to
from knowledge.build.served.slabs import WRITERS, Cutting, write_chunks
from knowledge.build.served.totals import Totals
from knowledge.build.write import bare_manifest
from knowledge.cut.chunking import MAX_CHARS, OVERLAP_CHARS
from knowledge.engines.metadata import merge_types, to_metadata
from knowledge.engines.server.address import ServerAddress
from knowledge.engines.server.connection import WRITING, Connection
from knowledge.engines.server.database import RESULTS, Database
from knowledge.engines.server.records import StoredChunk
from knowledge.model.manifest import Source
from knowledge.open.index import DEFAULT_COLLECTION
from knowledge.open.scratch import Scratch
from scale.corpus import CHUNKS_A_DOCUMENT, PART, Corpus, RandomReader, part_of

if TYPE_CHECKING:
    from knowledge.build.embed import TokenReadings

PATTERNS = 500
VERSION = "5ca1e0000000"


def write_records(uri: str, chunks: int, corpus: Corpus, reader: RandomReader) -> dict[str, object]:
    """Write ``chunks`` chunks to the server ``uri`` and make the version current; seconds, by phase."""
    begin = time.perf_counter()
    with closing(Connection(ServerAddress.parse(uri))) as connection, closing(Scratch()) as scratch:
        database = Database(connection, DEFAULT_COLLECTION, WRITING)
        name = database.chunks(VERSION)
        database.make(name, {"version": VERSION})
        patterns, tokens = _patterns(corpus, reader)
        totals = Totals.none(reader.dimensions, reader.vocabulary)
        fields: dict[str, str] = {}
        with ThreadPoolExecutor(WRITERS) as writers:
            for some in batched(batched(_made(chunks, corpus, patterns), RESULTS), WRITERS):
                written = [writers.submit(write_chunks, database, name, batch) for batch in some]
                for batch in some:
                    totals.add(batch)
                    fields = merge_types(fields, to_metadata(batch[0].chunk))
                for one in written:
                    one.result()
        wrote = time.perf_counter() - begin
        documents = max(1, chunks // CHUNKS_A_DOCUMENT)
        settings = settings_now(
            reader, collection=DEFAULT_COLLECTION, max_chars=MAX_CHARS, overlap=OVERLAP_CHARS, recipe=RECIPE
        )
        sources = tuple(Source(path=f"d{n}.md", digest=f"0-{n}", doc_id=f"d{n}", chunks=5) for n in range(documents))
        bare = bare_manifest(VERSION, settings, sources=sources, chunks=chunks, next_number=chunks + 1, fields=fields)
        fitted = FittedProjection(tokens.projection, documents)
        write_facts(database, bare, totals, fitted, reader, scratch=scratch)
        switch_to(database, VERSION)
    seconds = time.perf_counter() - begin
    return {"seconds": seconds, "phases": {"embedding": wrote, "facts": seconds - wrote}, "chunks": chunks}


def _patterns(corpus: Corpus, reader: RandomReader) -> tuple[list[StoredChunk], TokenReadings]:
    cutting = Cutting(max_chars=MAX_CHARS, overlap=OVERLAP_CHARS, recipe=RECIPE, run=map)
    planned = cutting.plan(corpus.documents(PATTERNS), Previous())
    planned, embedded = embed_chunks(planned, Previous(), reader, None)
    assert embedded.tokens is not None  # noqa: S101 - the reader tells them
    rows = zip(planned.chunks, list(embedded.vectors), embedded.tokens.chunks, strict=True)
    return [StoredChunk(*row) for row in rows], embedded.tokens


def _made(chunks: int, corpus: Corpus, patterns: list[StoredChunk]) -> Iterator[StoredChunk]:
    draw = np.random.default_rng(3)
    documents = max(1, chunks // CHUNKS_A_DOCUMENT)
    for number in range(chunks):
        like = patterns[number % len(patterns)]
        assert like.tokens is not None  # noqa: S101 - of a chunk that was read
        document = number // CHUNKS_A_DOCUMENT
        vector = draw.normal(size=len(like.vector)).astype(np.float32)
        codes = draw.integers(0, 256, size=like.tokens.codes.shape, dtype=np.uint8)
        chunk = replace(
            like.chunk,
            number=number + 1,
            text=corpus.prose(number),
            title=f"Document {document}",
            doc_id=f"d{document}",
            path=f"d{document}.md",
            extra={PART: part_of(document, documents)},
        )
        yield StoredChunk(chunk, vector / np.linalg.norm(vector), replace(like.tokens, codes=codes))
