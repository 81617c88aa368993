"""Generations of an index, and children that write them: until a kill, or at once with others."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from multiprocessing.queues import SimpleQueue
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest
from fakes_embedding import HashingEmbedder

from knowledge.build import previous, write
from knowledge.build.ingest import ingest
from knowledge.engines.collection import Collection
from knowledge.model.values import Document
from knowledge.open.index import open_index

CANDIDATES: list[tuple[Any, str]] = [
    (os, "replace"), (os, "fsync"), (os, "open"), (sqlite3, "connect"),
    (write, "write_texts"), (write, "file_digest"), (write, "dumps"), (shutil, "rmtree"), (previous, "prepare"),
    (Collection, "add"), (Collection, "close"), (HashingEmbedder, "embed"),
]  # fmt: skip

CHILDREN = multiprocessing.get_context("forkserver")
"""A child is forked from a process that has everything imported, and no thread."""
CHILDREN.set_forkserver_preload(["chromadb", "index_writers"])


def text(n: int, generation: int) -> str:
    """What document ``n`` says in ``generation``."""
    return (
        f"{'And so on. ' * (n % 6)}{'Then more. ' * (n % 7)}Text {n} of generation {generation if n % 3 == 0 else 0}."
    )


def documents(generation: int) -> list[Document]:
    """60 documents, of which every third differs from one generation to the next; 5 come and go.

    Their texts differ in length, so that not all are equally far from each other: of such vectors HNSW's graph may fall
    into parts, and a search then misses what is there (8 of 25 graphs of 60 texts with one word of their own).
    """
    return [
        Document(
            doc_id=f"d{n}", title=f"Doc {n}", text=text(n, generation),
            digest=f"{n} {generation if n % 3 == 0 else 0}", path=f"d{n}.md",
        )
        for n in range(generation % 5, 60)
    ]  # fmt: skip


def write_generation(target: Path, generation: int) -> None:
    ingest(documents(generation), target=target, embedder=HashingEmbedder())


def ingest_and_die(target: Path, generation: int, kill_at: int, calls: Synchronized[int]) -> None:
    """Ingest, in a child, and count the candidate calls; end with a kill before the one numbered ``kill_at``."""

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            calls.value += 1
            if calls.value == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **options)

        return call

    for owner, name in CANDIDATES:
        setattr(owner, name, counted(getattr(owner, name)))
    write_generation(target, generation)


def ingest_in_child(target: Path, generation: int, *, kill_at: int = 0, kill_after_s: float = 0) -> int:
    """Let a child ingest, and return the number of candidate calls if it came to its end, else 0."""
    calls = CHILDREN.Value("i", 0)
    child = CHILDREN.Process(target=ingest_and_die, args=(target, generation, kill_at, calls))
    child.start()
    if kill_after_s:
        child.join(kill_after_s)
        child.kill()
    child.join()
    assert child.exitcode in (0, -signal.SIGKILL)
    return 0 if child.exitcode else calls.value


def read_generation(target: Path) -> int:
    """Open the index, check that it is whole, and return its generation."""
    embedder = HashingEmbedder()
    with closing(open_index(target, embedder=embedder)) as index:
        generations = {chunk.text.split()[-1] for chunk in index.iter_chunks() if int(chunk.doc_id[1:]) % 3 == 0}
        assert len(generations) == 1
        generation = int(generations.pop().rstrip("."))
        expected = {(document.doc_id, document.text) for document in documents(generation)}
        assert {(chunk.doc_id, chunk.text) for chunk in index.iter_chunks()} == expected
        question = embedder.embed([f"Doc 33\n{text(33, generation)}"])[0]
        assert index.nearest(question, k=1)[0].score == pytest.approx(1, abs=1e-5)
        return generation


def write_at_once(target: Path, generation: int, begin: Barrier, said: SimpleQueue[dict[str, Any]]) -> None:
    """Write a generation, in a child, and say how it ended."""
    begin.wait()
    code, message = "", ""
    try:
        write_generation(target, generation)
    except BaseException as exc:  # noqa: BLE001 - it is told with its case
        code, message = getattr(exc, "code", type(exc).__name__), str(exc)
    said.put({"generation": generation, "code": code, "message": message})


def write_together(target: Path, generations: list[int]) -> list[dict[str, Any]]:
    """Let writers of these generations write into ``target``, and return what they said."""
    begin, said = CHILDREN.Barrier(len(generations)), CHILDREN.SimpleQueue()
    writers = [
        CHILDREN.Process(target=write_at_once, args=(target, generation, begin, said)) for generation in generations
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    return [said.get() for _ in writers if not said.empty()]
