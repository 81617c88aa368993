"""What is known of an index as a whole, as an archive in a collection of its own: the folder of its facts.

Records of up to ``PIECES`` values each hold the archive in base64. The collection's metadata name its sha256 and how
many records there are, and are written last: a version whose facts are not whole is never opened.
"""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING

from knowledge.engines.server.records import VALUE_CHARS
from knowledge.model.errors import IndexDamaged, IndexMismatch, IndexMissing, IndexUnavailable

if TYPE_CHECKING:
    from knowledge.engines.server.database import Database

PIECES = 24
"""Values a record; Chroma Cloud takes 32."""
AT_A_TIME = 20
"""Records a call: 2 MB."""
SHA256, RECORDS, MODEL, DIMENSIONS = "sha256", "records", "model", "dimensions"


def save_facts(database: Database, version: str, folder: Path, *, model: str, dimensions: int) -> None:
    """Write the files of ``folder`` as the facts of ``version``, whose embedding model is named beside them.

    From then on it can be opened.
    """
    name = database.facts(version)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz", compresslevel=6) as files:
        files.add(folder, arcname=".")
    packed = base64.b64encode(archive.getvalue()).decode()
    values = [packed[start : start + VALUE_CHARS] for start in range(0, len(packed), VALUE_CHARS)]
    records = [{f"p{place:02}": value for place, value in enumerate(some)} for some in batched(values, PIECES)]
    database.remove(name)  # what a killed run left of it
    database.make(name, {RECORDS: "0"})
    for some in batched(enumerate(records), AT_A_TIME):
        database.put(name, [f"f{i}" for i, _ in some], [[1.0, 0.0]] * len(some), [record for _, record in some], None)
    digest = hashlib.sha256(packed.encode()).hexdigest()
    database.describe(name, {SHA256: digest, RECORDS: str(len(records)), MODEL: model, DIMENSIONS: str(dimensions)})


def load_facts(database: Database, version: str, folder: Path) -> None:
    """Unpack the facts of ``version`` to the new ``folder``.

    Raises:
        IndexMissing: there is no such version, or it is half-written.
        IndexDamaged: it is not what was written.
        IndexMismatch: another program wrote it.
        IndexUnavailable: the disk has no room for it.
    """
    name = database.facts(version)
    said = database.described(name)
    if SHA256 not in said or not str(said.get(RECORDS)).isdecimal():
        raise IndexMissing(f"The index's version {version} on Chroma's server is not whole. Run: ragctl ingest PATH")
    pieces: list[str] = []
    for some in batched(range(int(said[RECORDS])), AT_A_TIME):
        found = database.raw(name, ids=[f"f{i}" for i in some])
        held = dict(zip(found["ids"], found["metadatas"], strict=True))
        for i in some:
            record = held.get(f"f{i}") or {}
            pieces += [str(record[key]) for key in sorted(record) if key.startswith("p")]
    packed = "".join(pieces)
    if hashlib.sha256(packed.encode()).hexdigest() != said[SHA256]:
        raise IndexDamaged(f"The facts of the index's version {version} are damaged. Run: ragctl ingest PATH")
    try:
        folder.mkdir(parents=True)
        with tarfile.open(fileobj=io.BytesIO(base64.b64decode(packed)), mode="r:gz") as files:
            files.extractall(folder, filter="data")
    except (tarfile.TarError, ValueError) as exc:
        raise IndexMismatch(
            f"The facts of the index's version {version} are of another kind than this program's. "
            "Run: ragctl ingest PATH"
        ) from exc
    except OSError as exc:
        raise IndexUnavailable(f"No place to open the index in: {exc.strerror}") from exc
