"""The layer of libraries: what a list takes out, what is left beside Lambda's limit, bytecode in place of sources."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from made_files import write_files

from layerbuilder import __main__ as program
from layerbuilder import chroma, sizes
from layerbuilder.chroma import LIST, PruneError, prune, tree_bytes

type Captured = pytest.CaptureFixture[str]

WHY = "Nothing imports it at run time."


def layer(root: Path, files: Mapping[str, int]) -> Path:
    """A layer with files of so many bytes, without writing them."""
    write_files(root, dict.fromkeys(files, ""))
    for name, size in files.items():
        os.truncate(root / name, size)
    return root


def rules(tmp_path: Path, *entries: str) -> Path:
    return write_files(tmp_path, {"rules.toml": "\n".join(entries)}) / "rules.toml"


def entry(kind: str, why: str | None, **fields: object) -> str:
    told = ([] if why is None else [f"why = {why!r}"]) + [f"{name} = {value!r}" for name, value in fields.items()]
    return "\n".join([f"[[{kind}]]", *told, ""])


def remove(*paths: str, why: str | None = WHY) -> str:
    return entry("remove", why, paths=[*paths])


def stub(path: str, text: str, why: str | None = WHY) -> str:
    return entry("stub", why, path=path) + f"text = '''\n{text}'''\n"


NO_STUB = stub("nothing/__init__.py", "")


def left(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_folders_files_and_patterns_go_and_the_rest_stays(tmp_path: Path) -> None:
    root = layer(tmp_path / "layer", {"grpc/a.py": 10, "grpc/b/c.so": 100, "keep/x.py": 7, "keep/x.pyi": 5})
    listed = rules(tmp_path, remove("grpc"), remove("**/*.pyi"), NO_STUB)
    assert prune(root, listed) == 115
    assert left(root) == {"keep/x.py", "nothing/__init__.py"}
    assert not (root / "grpc").exists()


@pytest.mark.parametrize("why", ["  ", None])
def test_an_entry_without_a_reason_fails_before_anything_is_removed(tmp_path: Path, why: str | None) -> None:
    root = layer(tmp_path / "layer", {"grpc/a.py": 1, "extra/b.py": 1})
    with pytest.raises(PruneError, match=r"No reason is given for \['extra'\]"):
        prune(root, rules(tmp_path, remove("grpc"), remove("extra", why=why), NO_STUB))
    with pytest.raises(PruneError, match=r"No reason is given for 'grpc/__init__\.py'"):
        prune(root, rules(tmp_path, remove("grpc"), stub("grpc/__init__.py", "", why=why)))
    assert left(root) == {"grpc/a.py", "extra/b.py"}


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ((remove("renamed_package"), NO_STUB), r"'renamed_package' in rules\.toml matches nothing"),
        ((remove("grpc", "gone"), NO_STUB), "'gone'"),  # every pattern of an entry must match
        ((remove("other.py"), stub("grpc/__init__.py", "")), r"'grpc/__init__\.py' stands in for is still there"),
    ],
)
def test_a_list_that_does_not_fit_the_layer_is_refused(tmp_path: Path, entries: tuple[str, ...], said: str) -> None:
    root = layer(tmp_path / "layer", {"grpc/a.py": 1, "other.py": 1})
    with pytest.raises(PruneError, match=said):
        prune(root, rules(tmp_path, *entries))


def test_a_stub_takes_the_place_of_what_was_removed(tmp_path: Path) -> None:
    root = layer(tmp_path / "layer", {"jsonschema/a.py": 50, "jsonschema/__init__.py": 50})
    text = '"""A stand-in."""\n\n\nclass ValidationError(Exception):\n    pass\n'
    listed = rules(tmp_path, remove("jsonschema"), stub("jsonschema/__init__.py", text))
    assert prune(root, listed) == 100 - len(text)
    assert left(root) == {"jsonschema/__init__.py"}
    assert (root / "jsonschema" / "__init__.py").read_text(encoding="utf-8") == text


def test_metadata_and_legal_texts_stay_and_the_installer_s_papers_go(tmp_path: Path) -> None:
    kept = {"METADATA", "entry_points.txt", "LICENSE", "licenses/COPYING", "licenses/LICENCE.md", "NOTICE"}
    gone = {"RECORD", "WHEEL", "INSTALLER", "REQUESTED", "sboms/thing.cdx.json"}
    root = layer(tmp_path / "layer", {f"thing-1.0.dist-info/{name}": 1 for name in kept | gone} | {"junk.py": 1})
    assert prune(root, rules(tmp_path, remove("junk.py"), NO_STUB)) == 1 + len(gone)
    assert left(root / "thing-1.0.dist-info") == kept


def test_a_link_is_unlinked_and_what_it_names_stays_and_weighs(tmp_path: Path) -> None:
    outside = layer(tmp_path / "outside", {"a.txt": 5})
    root = layer(tmp_path / "layer", {"keep.py": 1})
    (root / "linked").symlink_to(outside)
    (root / "again.py").symlink_to(root / "keep.py")
    assert tree_bytes(root) == 2, "links to files are followed"
    prune(root, rules(tmp_path, remove("linked"), NO_STUB))
    assert not (root / "linked").is_symlink()
    assert (outside / "a.txt").stat().st_size == 5


def test_the_real_list_fails_on_a_layer_that_it_was_not_written_for(tmp_path: Path) -> None:
    root = layer(tmp_path / "layer", {"only/this.py": 1})
    with pytest.raises(PruneError, match=r"in prune\.toml matches nothing"):
        prune(root, LIST)


# Sizes


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A build of 100 MB: 1 + 94 + 5."""
    libraries = {
        "numpy/core.so": 30_000_000,
        "numpy.libs/openblas.so": 20_000_000,
        "numpy-2.5.5.dist-info/METADATA": 1_000_000,
        "chromadb/a/b.pyc": 40_000_000,
        "six.pyc": 3_000_000,
    }
    layer(tmp_path / "QueryFunction", {"app.py": 400_000, "rag/pipeline.py": 600_000})
    layer(tmp_path / "ChromaLayer/python", libraries)
    layer(tmp_path / "IndexLayer/index", {"manifest.json": 1_000_000, "data-1/texts.zlib": 4_000_000})
    return tmp_path


def table(build: Path, *arguments: str) -> int:
    return program.main(["sizes", "--build", str(build), "--arch", "x86_64", *arguments])


def test_a_package_weighs_what_its_code_libraries_metadata_and_links_weigh(build: Path) -> None:
    assert sizes.weigh(build / "ChromaLayer") == {"numpy": 51_000_000, "chromadb": 40_000_000, "six.pyc": 3_000_000}
    assert sizes.weigh(build / "IndexLayer") == {"index": 5_000_000}
    (build / "QueryFunction" / "rag" / "again.py").symlink_to(build / "QueryFunction" / "app.py")
    assert sizes.weigh(build / "QueryFunction") == {"app.py": 400_000, "rag": 1_000_000}


def test_the_table_lists_the_heaviest_first_and_sums_up(build: Path, capsys: Captured) -> None:
    assert table(build) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["", "Room left: 162.1 MB, about 16,200 more chunks of 1,200 characters"]
    rows = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in lines[:-2]]
    assert rows[4:10] == [
        ["numpy", "ChromaLayer", "51.0"],
        ["chromadb", "ChromaLayer", "40.0"],
        ["index", "IndexLayer", "5.0"],
        ["six.pyc", "ChromaLayer", "3.0"],
        ["rag", "QueryFunction", "0.6"],
        ["app.py", "QueryFunction", "0.4"],
    ]
    assert rows[10:] == [
        ["0 more", "", "0.0"],
        ["QueryFunction", "", "1.0"],
        ["ChromaLayer", "", "94.0"],
        ["IndexLayer", "", "5.0"],
        ["total", "of 262.1", "100.0"],
    ]


def test_what_is_not_listed_is_counted(tmp_path: Path) -> None:
    layer(tmp_path, {f"python/package{number:02}/x.so": 1_000_000 for number in range(20)})
    text, fits = sizes.report("Size", {"ChromaLayer": tmp_path})
    assert fits
    assert "| 6 more | | 6.0 |" in text
    assert text.count("ChromaLayer |") == 14
    assert "| **total** | of 262.1 | **20.0** |" in text
    assert sizes.LIMIT_BYTES == 250 * 1024 * 1024, "Lambda's"


def test_room_is_told_in_chunks_rounded_down() -> None:
    told = [sizes.room(free) for free in (999_999, 1_000_000, 50_400_000)]
    said = ("1.0 MB, about 0", "1.0 MB, about 100", "50.4 MB, about 5,000")
    assert told == [f"Room left: {each} more chunks of 1,200 characters" for each in said]


@pytest.mark.parametrize(("spare", "code"), [(0, 0), (-1, 1)])
def test_the_gate_closes_one_byte_above_the_limit(
    build: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured, spare: int, code: int
) -> None:
    monkeypatch.setattr(sizes, "LIMIT_BYTES", 100_000_000 + spare)
    assert table(build) == code
    told = capsys.readouterr()
    assert "**100.0**" in told.out, "the table is there either way: it says what is too big"
    assert ("Room" in told.out) is (code == 0), "over the limit there is no room to tell of"
    assert told.err == ("Over Lambda's limit of 99999999 bytes\n" if code else "")


def test_another_architecture_s_layer_is_weighed_in_place_of_the_built_one_if_lambda_has_it(
    build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    other = layer(tmp_path / "arm64", {"python/numpy/core.so": 200_000_000})
    monkeypatch.setattr(sizes, "LIMIT_BYTES", 205_000_000)
    assert table(build) == 0
    assert table(build, "--chroma-layer", str(other)) == 1
    assert "| **total** | of 205.0 | **206.0** |" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        program.main(["sizes", "--build", str(build), "--arch", "riscv64"])


# Bytecode of the Python that Lambda runs, in place of sources or beside them


UNCHECKED_HASH = 1
BROKEN = "def f(:\n"


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
    root = write_files(tmp_path, {"pkg/__init__.py": "", "pkg/answer.py": answer, "single.py": "import pkg.answer\n"})
    assert chroma.compile_in_place_of_sources(root) == 3
    assert left(root) == {"pkg/__init__.pyc", "pkg/answer.pyc", "single.pyc"}
    code = "import json, single, pkg.answer as m; print(json.dumps([m.VALUE, m.__file__, m.fail.__code__.co_filename]))"
    assert run(root, code) == [42, str(root / "pkg" / "answer.pyc"), "pkg/answer.py"]
    assert {flags(path) for path in root.rglob("*.pyc")} == {UNCHECKED_HASH}


def test_what_does_not_compile_keeps_its_source(tmp_path: Path) -> None:
    latin = "# coding: utf-8\nx = 'é'\n".encode("latin-1")
    root = write_files(tmp_path, {"good.py": "x = 1\n", "template.py": BROKEN, "latin.py": latin})
    assert chroma.compile_in_place_of_sources(root) == 1
    assert left(root) == {"good.pyc", "template.py", "latin.py"}


def test_our_own_sources_stay_and_their_bytecode_is_used_unchecked(tmp_path: Path) -> None:
    root = write_files(tmp_path, {"ours.py": "VALUE = 1\n"})
    assert chroma.compile_beside_sources(root) == 1
    cached = Path(importlib.util.cache_from_source(str(root / "ours.py")))
    assert cached.is_file()
    assert flags(cached) == UNCHECKED_HASH
    # A zip gives the source another time stamp; Lambda must not compile it again for that.
    os.utime(root / "ours.py", (0, 0))
    (root / "ours.py").write_text("VALUE = 2\n", encoding="utf-8")
    assert run(root, "import json, ours; print(json.dumps(ours.VALUE))") == 1


def test_a_module_of_ours_that_does_not_compile_fails_and_is_named(tmp_path: Path) -> None:
    write_files(tmp_path, {"rooms/good.py": "x = 1\n", "rooms/wrong.py": BROKEN})
    with pytest.raises(chroma.CompileError, match=r"^rooms/wrong\.py does not compile$"):
        chroma.compile_beside_sources(tmp_path)


def test_bytecode_of_another_python_is_never_put_in_place_of_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(chroma, "PYTHON_VERSION", "3.9")
    write_files(tmp_path, {"python/built_before.pyc": ""})
    assert program.main(["chroma", "--arch", "arm64", "--out", str(tmp_path)]) == 1
    assert "compiled by Python 3.9" in capsys.readouterr().err
    assert (tmp_path / "python" / "built_before.pyc").exists()
