"""Pruning by a list: what goes, what stays, and the lists that are refused."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from layerbuilder.prune import LIST, PruneError, prune, tree_bytes

WHY = "Nothing imports it at run time."


def layer(root: Path, files: Mapping[str, int]) -> Path:
    """A layer with files of so many bytes."""
    for name, size in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    return root


def rules(tmp_path: Path, *entries: str) -> Path:
    path = tmp_path / "rules.toml"
    path.write_text("remove = []\nstub = []\n" if not entries else "\n".join(entries), encoding="utf-8")
    return path


def remove(*paths: str, why: str | None = WHY) -> str:
    reason = "" if why is None else f"why = {why!r}\n"
    return f"[[remove]]\n{reason}paths = {list(paths)!r}\n"


def stub(path: str, text: str, why: str | None = WHY) -> str:
    reason = "" if why is None else f"why = {why!r}\n"
    return f"[[stub]]\n{reason}path = {path!r}\ntext = '''\n{text}'''\n"


NO_STUB = "[[stub]]\nwhy = 'A stand-in for nothing at all.'\npath = 'nothing/__init__.py'\ntext = ''\n"


def left(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_folders_files_and_patterns_go_and_the_rest_stays(tmp_path: Path) -> None:
    root = layer(tmp_path / "layer", {"grpc/a.py": 10, "grpc/b/c.so": 100, "keep/x.py": 7, "keep/x.pyi": 5})
    listed = rules(tmp_path, remove("grpc"), remove("**/*.pyi"), NO_STUB)
    assert prune(root, listed) == 115
    assert left(root) == {"keep/x.py", "nothing/__init__.py"}
    assert not (root / "grpc").exists()


@pytest.mark.parametrize("why", ["", "  ", None])
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
    root = tmp_path / "layer"
    info = root / "thing-1.0.dist-info"
    kept = {"METADATA", "entry_points.txt", "LICENSE", "licenses/COPYING", "licenses/LICENCE.md", "NOTICE"}
    gone = {"RECORD", "WHEEL", "INSTALLER", "REQUESTED", "sboms/thing.cdx.json"}
    for name in kept | gone:
        (info / name).parent.mkdir(parents=True, exist_ok=True)
        (info / name).write_text("x", encoding="utf-8")
    layer(root, {"junk.py": 1})
    assert prune(root, rules(tmp_path, remove("junk.py"), NO_STUB)) == 1 + len(gone)
    assert left(info) == kept


def test_a_link_is_unlinked_and_what_it_names_stays(tmp_path: Path) -> None:
    outside = layer(tmp_path / "outside", {"a.txt": 5})
    root = layer(tmp_path / "layer", {"keep.py": 1})
    (root / "linked").symlink_to(outside)
    prune(root, rules(tmp_path, remove("linked"), NO_STUB))
    assert not (root / "linked").is_symlink()
    assert (outside / "a.txt").read_bytes() == b"xxxxx"


def test_tree_bytes_counts_what_a_link_names(tmp_path: Path) -> None:
    root = layer(tmp_path / "layer", {"a.so": 30, "b/c.so": 12})
    (root / "again.so").symlink_to(root / "a.so")
    assert tree_bytes(root) == 72


def test_the_real_list_fails_on_a_layer_that_it_was_not_written_for(tmp_path: Path) -> None:
    root = layer(tmp_path / "layer", {"only/this.py": 1})
    with pytest.raises(PruneError, match=r"in prune\.toml matches nothing"):
        prune(root, LIST)
