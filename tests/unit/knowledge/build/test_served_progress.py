"""What an ingest to a server keeps of an earlier try."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from fakes_embedding import ReadingEmbedder

from knowledge.build.served.progress import Progress
from knowledge.build.served.slabs import Cutting, SlabWriter
from knowledge.build.served.totals import Totals
from knowledge.model.manifest import Source

WRITTEN = Source(path="a.md", digest="1", doc_id="a", chunks=2)


def test_reading_documents_again_keeps_what_is_written_of_others(tmp_path: Path) -> None:
    progress = Progress(Totals.none(4, 8), next_number=3, sources=[WRITTEN])
    cutting = Cutting(max_chars=100, overlap=10, recipe=1, run=map)
    nobody = cast(Any, None)
    SlabWriter(nobody, "x", None, False, ReadingEmbedder(), None, cutting, tmp_path, frozenset()).read_again(
        [], progress
    )
    assert progress.sources == [WRITTEN]


def test_progress_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    progress = Progress(Totals.none(4, 8), next_number=3, copied=300, slabs=2, sources=[WRITTEN], kept=["b"])
    progress.totals.numbers.update({1, 2})
    progress.save(tmp_path / "work")
    again = Progress.load(tmp_path / "work")
    assert again is not None
    assert (again.next_number, again.copied, again.slabs) == (3, 300, 2)
    assert (again.sources, again.kept, again.totals.numbers) == ([WRITTEN], ["b"], {1, 2})
    assert Progress.load(tmp_path / "none") is None
