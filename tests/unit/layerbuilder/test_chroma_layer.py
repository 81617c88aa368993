"""The Chroma layer is compiled by the Python that Lambda runs, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from layerbuilder import __main__ as program
from layerbuilder import chroma


def test_bytecode_of_another_python_is_never_put_in_place_of_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chroma, "PYTHON_VERSION", "3.9")
    (tmp_path / "python").mkdir()
    (tmp_path / "python" / "built_before.pyc").touch()
    assert program.main(["chroma", "--arch", "arm64", "--out", str(tmp_path)]) == 1
    assert "compiled by Python 3.9" in capsys.readouterr().err
    assert (tmp_path / "python" / "built_before.pyc").exists()
