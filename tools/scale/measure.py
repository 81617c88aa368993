"""One size: ingest, questions, an update of one document in a hundred, and the questions again with counted words."""

from __future__ import annotations

import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.tables import percentile

from knowledge.build.served.ingest import ingest_served
from knowledge.engines.server.address import ServerAddress
from knowledge.engines.server.connection import Connection
from knowledge.engines.server.database import Database
from knowledge.engines.server.words import TABLE_CHUNKS
from knowledge.model.values import View
from knowledge.open.index import DEFAULT_COLLECTION
from knowledge.open.served import ServedIndex, open_served
from scale.corpus import CHUNKS_A_DOCUMENT, PART, PARTS, Corpus, RandomReader, part_of
from scale.records import write_records
from scale.server import Server
from scale.words import finding

if TYPE_CHECKING:
    from knowledge.model.values import Where

QUESTIONS = 200
UPDATED = 100
"""One document in so many is changed by the update."""
K = 8
SHARES = {"unfiltered": 0, "10 %": PARTS // 10, "0.1 %": 1}
"""So many of the parts a filter admits."""

type Figures = dict[str, Any]


WHOLE_CHUNKS = 10_000
"""Above so many chunks they are written without being cut and read, and there is no update: that would take hours."""


def measure(chunks: int, count: int = QUESTIONS, keep: Callable[[Figures], None] = lambda _: None) -> Figures:
    """All figures at ``chunks`` chunks, with ``count`` questions; ``keep`` is told of them as they come.

    Times are seconds, but of questions milliseconds; memory is MB.
    """
    import chromadb.api.fastapi  # noqa: F401 - seconds, which would else count as the first call's

    corpus, reader = Corpus(), RandomReader()
    whole = chunks <= WHOLE_CHUNKS
    documents = corpus.documents(chunks) if whole else []
    held = _peak_mb()
    place = Path(tempfile.mkdtemp(prefix="scale-"))
    try:
        with Server(place / "data") as server:

            def ingest(given: Sequence[Any], table_chunks: int) -> Figures:
                made = ingest_served(
                    given, uri=server.uri, work=place / "work", embedder=reader, table_chunks=table_chunks
                )
                return {"seconds": made.seconds, "phases": dict(made.phases), "chunks": made.chunks}

            made = ingest(documents, TABLE_CHUNKS) if whole else write_records(server.uri, chunks, corpus, reader)
            figures: Figures = {"ingest": dict(made), "documents_mb": held}
            figures["ingest"]["peak_mb"] = _peak_mb()
            figures["ingest"]["server_mb"] = server.memory_mb("VmHWM")
            figures["ingest"]["disk"] = server.disk_bytes()
            keep(figures)
            asked = corpus.questions(count + 1)
            sides = "table" if chunks <= TABLE_CHUNKS else "counted"
            figures[sides] = _answering(server, reader, asked)
            keep(figures)
            if not whole:
                figures[sides]["words"] = _finding(server, asked)
                return figures
            changed = corpus.documents(chunks, edition=1, every=UPDATED)
            figures["update"] = ingest(changed, 0) | {"disk": server.disk_bytes()}
            keep(figures)
            figures["beside"] = _answering(server, reader, asked) | {"words": _finding(server, asked)}
            keep(figures)
            figures["drop_s"] = _timed(lambda: _drop_before(server))
            figures["counted"] = _answering(server, reader, asked) | {"words": _finding(server, asked)}
            keep(figures)
            server.restart()
            figures["restarted"] = _answering(server, reader, asked[:20])
            figures["restarted"]["server_mb"] = server.memory_mb("VmRSS")
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return figures


def _answering(server: Server, reader: RandomReader, asked: Sequence[str]) -> Figures:
    start = time.perf_counter()
    with closing(open_served(server.uri, embedder=reader, collection=DEFAULT_COLLECTION)) as index:
        figures: Figures = {"open_s": time.perf_counter() - start}
        figures["first_ms"] = 1000 * _timed(lambda: index.search([View(asked[0])], k=K))
        for name, parts in SHARES.items():
            times = _times(index, asked[1:], parts)
            figures[name] = {"p50": percentile(times, 0.5), "p99": percentile(times, 0.99)}
        return figures


def _times(index: ServedIndex, asked: Sequence[str], parts: int) -> list[float]:
    times, count = [], max(1, index.chunks // CHUNKS_A_DOCUMENT)
    for number, question in enumerate(asked):
        first = min(part_of(37 * number % count, count), PARTS - parts)
        where: Where | None = {"$and": [{PART: {"$gte": first}}, {PART: {"$lt": first + parts}}]} if parts else None
        search = _search(index, question, where)
        times.append(1000 * _timed(search))
    return times


def _search(index: ServedIndex, question: str, where: Where | None) -> Callable[[], object]:
    return lambda: index.search([View(question)], k=K, where=where)


def _finding(server: Server, asked: Sequence[str]) -> Figures:
    with closing(Connection(ServerAddress.parse(server.uri))) as connection:
        database = Database(connection, DEFAULT_COLLECTION)
        return finding(database, database.chunks(database.current()[0]), asked)


def _drop_before(server: Server) -> None:
    with closing(Connection(ServerAddress.parse(server.uri))) as connection:
        database = Database(connection, DEFAULT_COLLECTION)
        database.drop(database.current()[1])


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
