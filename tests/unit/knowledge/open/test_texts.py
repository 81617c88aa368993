"""The text store: every text comes back, and a store that is not whole is refused."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.model.errors import IndexDamaged
from knowledge.open.texts import TABLE_NAME, TEXTS_NAME, TextStore, write_texts

UTF8 = st.text(st.characters(codec="utf-8"), max_size=40)


@given(texts=st.dictionaries(st.integers(1, 2**40), UTF8, max_size=20))
def test_every_text_comes_back_under_its_number(texts: dict[int, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_texts(Path(folder), sorted(texts.items()))
        store = TextStore(Path(folder))
        assert store.numbers.tolist() == sorted(texts)
        assert {number: store.get(number) for number in texts} == texts
        assert len(store) == len(texts)
        store.close()


def test_an_unknown_number_is_a_key_error_and_a_closed_store_does_not_read(tmp_path: Path) -> None:
    write_texts(tmp_path, [(2, "two"), (3, "drei – three"), (5, "")])
    store = TextStore(tmp_path)

    for number in (1, 4, 10**9):
        assert store.row(number) is None
        with pytest.raises(KeyError):
            store.get(number)
    assert (store.get(3), store.get(5)) == ("drei – three", "")
    store.close()
    store.close()
    with pytest.raises(ValueError, match="closed"):
        store.get(2)


@pytest.mark.parametrize("second", [2, 1])
def test_numbers_must_ascend(tmp_path: Path, second: int) -> None:
    with pytest.raises(ValueError, match=f"chunk number {second} after 2"):
        write_texts(tmp_path, [(2, "two"), (second, "again")])


# A longer table is no case: numpy reads what the header announces, and the manifest's checksum sees the rest.
@pytest.mark.parametrize(
    ("name", "harm"),
    [
        *((TEXTS_NAME, harm) for harm in ("missing", "empty", "shorter", "longer")),
        *((TABLE_NAME, harm) for harm in ("missing", "empty", "shorter", "pickled")),
    ],
)
def test_a_store_that_is_not_whole_is_refused(tmp_path: Path, name: str, harm: str) -> None:
    write_texts(tmp_path, [(1, "one"), (2, "two")])
    path = tmp_path / name
    content = path.read_bytes()
    if harm == "missing":
        path.unlink()
    elif harm == "pickled":
        np.save(path, np.array([[1], [object]], dtype=object), allow_pickle=True)
    else:
        path.write_bytes({"empty": b"", "shorter": content[:-1], "longer": content + b"x"}[harm])

    with pytest.raises(IndexDamaged):
        TextStore(tmp_path)
