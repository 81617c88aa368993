"""The mutation tool on a small project: it names what lives, and the test that kills nothing alone."""

import subprocess
import sys
from pathlib import Path

import pytest

MODULE = (
    "def is_grown(age):\n    return age >= 18\n\n\ndef greet(name):\n    return {'text': name, 'kind': 'greeting'}\n"
)
TESTS = """from m import greet, is_grown

def test_bound():
    assert is_grown(18)

def test_below():
    assert not is_grown(17)

def test_text():
    assert greet("Ada")["text"] == "Ada"
"""


@pytest.mark.slow
def test_a_module_s_matrix_and_a_sample(tmp_path: Path) -> None:
    for folder in ("product", "tests"):
        (tmp_path / folder).mkdir()
    (tmp_path / "product" / "m.py").write_text(MODULE)
    (tmp_path / "tests" / "test_m.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text("import sys\nsys.path.insert(0, 'product')\n")

    def run(*command: str) -> str:
        return subprocess.run(
            [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout

    run("-m", "pytest", "-q", "-pno:xdist", "--cov=.", "--cov-context=test", "--cov-report=")
    matrix = run("-m", "mutants", "matrix", "product/m.py")
    assert "lives: product/m.py:6 Dict -> ({'text': name})" in matrix
    assert "5 of 6 mutants killed by 3 tests" in matrix
    assert matrix.rpartition("kill nothing more:")[2].split() == ["tests/test_m.py::test_below"]
    assert "5 of 6 mutants killed, drawn from 6 by seed 7" in run("-m", "mutants", "sample", "product", "--number", "6")
