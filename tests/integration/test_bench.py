"""The benchmark's handler row: a fresh process, whose memory is its own."""

from pathlib import Path

import pytest
import real_model
from bench.function import ROUNDS, measure_in_process

from emulator.rie import PROC
from knowledge.build.ingest import ingest
from knowledge.read.documents import read

pytestmark = pytest.mark.slow


@pytest.mark.skipif(not PROC.is_dir(), reason="only Linux has /proc")
def test_the_handler_is_measured_in_a_process_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "permits.md").write_text("# Import Permits\n\nImporting plants needs a permit.\n")
    ingest(read([tmp_path / "permits.md"]).documents, target=tmp_path / "index", embedder=real_model.model())
    ballast = b"x" * 400_000_000
    measured = measure_in_process(["Do plants need a permit?", "Who won?"], tmp_path / "index")
    assert len(measured.times_ms) == 2 * ROUNDS
    assert min(measured.times_ms) > 0
    assert measured.peak_bytes is not None
    assert 50_000_000 < measured.peak_bytes < len(ballast), "not what this process holds"
