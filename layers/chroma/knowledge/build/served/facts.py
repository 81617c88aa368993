"""What is known of an index on a server as a whole, made once all its chunks are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from knowledge.build.calibrate import OWN, calibration_of, is_foreign
from knowledge.build.write import file_records
from knowledge.cut.embedding_text import embed_text
from knowledge.engines.metadata import to_metadata
from knowledge.engines.server.database import RESULTS, Database
from knowledge.engines.server.facts import save_facts
from knowledge.engines.server.words import TABLE_CHUNKS
from knowledge.model.manifest import MANIFEST_NAME, Manifest, dumps
from knowledge.model.values import TokenEmbedder, View
from knowledge.open.served import ServedIndex
from knowledge.search.arrays import save_array
from knowledge.search.codes import BITS
from knowledge.search.columns import COLUMNS_FOLDER, write_columns
from knowledge.search.late_interaction import TOKENS_FOLDER
from knowledge.search.lexical import LEXICAL_FOLDER, NUMBERS_NAME, write_lexical
from knowledge.search.term_counts import SAMPLE, write_term_counts

if TYPE_CHECKING:
    from knowledge.build.served.totals import Totals
    from knowledge.model.values import Chunk, Embedder, Scalar
    from knowledge.open.scratch import Scratch
    from knowledge.search.codes import Projection


@dataclass(frozen=True, slots=True, eq=False)
class FittedProjection:
    """The projection of an index's codes, and how many chunks it was fitted for."""

    projection: Projection
    fitted_on: int


def write_facts(
    database: Database,
    bare: Manifest,
    totals: Totals,
    fitted: FittedProjection | None,
    embedder: Embedder,
    *,
    scratch: Scratch,
    table_chunks: int = TABLE_CHUNKS,
) -> Manifest:
    """Make the facts of the chunks that are written, save them beside these, and give the manifest.

    ``bare`` is the manifest without what is made here; ``table_chunks`` is up to how many chunks BM25 is a table.
    """
    folder, name = scratch.path / "facts", database.chunks(bare.version)
    (folder / TOKENS_FOLDER).mkdir(parents=True)
    totals.save(folder)
    totals.write_facts(folder)
    numbers = totals.ascending
    if len(numbers) <= table_chunks:
        lexical = _table(database, name, folder, numbers.tolist())
    else:
        sample = [chunk.text for chunk in _sample(database, name, numbers, SAMPLE)]
        lexical = write_term_counts(folder / LEXICAL_FOLDER, sample, _texts(database, name))
        save_array(folder / LEXICAL_FOLDER / NUMBERS_NAME, numbers)
    tokens = None
    if fitted is not None:
        fitted.projection.save(folder / TOKENS_FOLDER)
        tokens = {"bits": BITS, "fitted_on": fitted.fitted_on}
    manifest = replace(bare, files=file_records(folder), lexical=lexical, tokens=tokens)
    if tokens is not None and isinstance(embedder, TokenEmbedder):
        index = ServedIndex(database, bare.version, manifest, folder, embedder, scratch)
        own = _sample(database, name, numbers, OWN) if is_foreign(lexical) else []
        look = calibration_of(lambda text, where: index.search([View(text)], k=1, where=where).evidence, own)
        manifest = replace(manifest, calibration=look)
    (folder / MANIFEST_NAME).write_text(dumps(manifest), encoding="utf-8")
    save_facts(database, bare.version, folder, model=bare.model, dimensions=bare.dimensions)
    return manifest


def _table(database: Database, name: str, folder: Path, numbers: list[int]) -> Mapping[str, object]:
    texts: list[str] = []

    def metadatas() -> Iterator[Mapping[str, Scalar]]:
        for some in batched(numbers, RESULTS):
            found = database.get(name, ids=[f"id_{number}" for number in some])
            for one in sorted(found, key=lambda one: one.chunk.number):
                texts.append(embed_text(one.chunk.title, one.chunk.text))
                yield to_metadata(one.chunk)

    write_columns(folder / COLUMNS_FOLDER, metadatas())
    return write_lexical(folder / LEXICAL_FOLDER, numbers, texts)


def _texts(database: Database, name: str) -> Iterator[str]:
    for some in database.scan(name):
        yield from (embed_text(one.chunk.title, one.chunk.text) for one in some)


def _sample(
    database: Database, name: str, numbers: np.ndarray[tuple[int], np.dtype[np.int64]], size: int
) -> list[Chunk]:
    chosen = np.random.default_rng(0).choice(numbers, min(size, len(numbers)), replace=False).tolist()
    found: list[Chunk] = []
    for start in range(0, len(chosen), RESULTS):
        some = database.get(name, ids=[f"id_{number}" for number in chosen[start : start + RESULTS]])
        found += [one.chunk for one in some]
    return found
