"""Bytecode in place of sources, or beside them, of the Python that Lambda runs, and never checked against a source."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from made_files import write_files as tree

from layerbuilder import __main__ as program
from layerbuilder import chroma
from layerbuilder.chroma import CompileError, compile_beside_sources, compile_in_place_of_sources

UNCHECKED_HASH = 1
BROKEN = "def f(:\n"


def files(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def run(root: Path, code: str) -> object:
    """The value that ``code`` prints, in a fresh interpreter with ``root`` on its path."""
    command = [sys.executable, "-I", "-S", "-B", "-c", f"import sys; sys.path.append({str(root)!r})\n{code}"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def flags(path: Path) -> int:
    head = path.read_bytes()[:8]
    assert head[:4] == importlib.util.MAGIC_NUMBER
    return int.from_bytes(head[4:], "little")


def test_bytecode_takes_the_place_of_sources_and_its_traces_show_the_place_in_the_layer(tmp_path: Path) -> None:
    answer = "VALUE = 42\ndef fail():\n    raise ValueError('x')\n"
    root = tree(tmp_path, {"pkg/__init__.py": "", "pkg/answer.py": answer, "single.py": "import pkg.answer\n"})
    assert compile_in_place_of_sources(root) == 3
    assert files(root) == {"pkg/__init__.pyc", "pkg/answer.pyc", "single.pyc"}
    code = "import json, single, pkg.answer as m; print(json.dumps([m.VALUE, m.__file__, m.fail.__code__.co_filename]))"
    assert run(root, code) == [42, str(root / "pkg" / "answer.pyc"), "pkg/answer.py"]
    assert {flags(path) for path in root.rglob("*.pyc")} == {UNCHECKED_HASH}


def test_what_does_not_compile_keeps_its_source(tmp_path: Path) -> None:
    latin = "# coding: utf-8\nx = 'é'\n".encode("latin-1")
    root = tree(tmp_path, {"good.py": "x = 1\n", "template.py": BROKEN, "latin.py": latin})
    assert compile_in_place_of_sources(root) == 1
    assert files(root) == {"good.pyc", "template.py", "latin.py"}


def test_our_own_sources_stay_and_their_bytecode_is_used_unchecked(tmp_path: Path) -> None:
    root = tree(tmp_path, {"ours.py": "VALUE = 1\n"})
    assert compile_beside_sources(root) == 1
    cached = Path(importlib.util.cache_from_source(str(root / "ours.py")))
    assert cached.is_file()
    assert flags(cached) == UNCHECKED_HASH
    # A zip gives the source another time stamp; Lambda must not compile it again for that.
    os.utime(root / "ours.py", (0, 0))
    (root / "ours.py").write_text("VALUE = 2\n", encoding="utf-8")
    assert run(root, "import json, ours; print(json.dumps(ours.VALUE))") == 1


def test_a_module_of_ours_that_does_not_compile_fails_and_is_named(tmp_path: Path) -> None:
    tree(tmp_path, {"rooms/good.py": "x = 1\n", "rooms/wrong.py": BROKEN})
    with pytest.raises(CompileError, match=r"^rooms/wrong\.py does not compile$"):
        compile_beside_sources(tmp_path)


def test_bytecode_of_another_python_is_never_put_in_place_of_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chroma, "PYTHON_VERSION", "3.9")
    tree(tmp_path, {"python/built_before.pyc": ""})
    assert program.main(["chroma", "--arch", "arm64", "--out", str(tmp_path)]) == 1
    assert "compiled by Python 3.9" in capsys.readouterr().err
    assert (tmp_path / "python" / "built_before.pyc").exists()
