"""ragctl.readers: the formats of ``documents`` as ``knowledge`` reads them."""

from __future__ import annotations

import pickle

import pytest

from knowledge.model.errors import SourceUnreadable
from knowledge.read.readers import ConvertedText, NoText
from ragctl.readers import readers


def test_readers_go_to_other_processes_and_take_any_encoding() -> None:
    again = pickle.loads(pickle.dumps(dict(readers())))

    assert again[".csv"]("Name,City\nAda,Köln\n".encode("cp1252")) == ConvertedText(
        "---\n---\n| Name | City |\n| --- | --- |\n| Ada | Köln |\n", ("is not UTF-8: read as Windows-1252",)
    )


def test_their_errors_are_those_that_an_ingest_names() -> None:
    with pytest.raises(NoText, match="holds no text"):
        readers()[".html"](b"<p></p>")
    with pytest.raises(SourceUnreadable, match=r"or an old \.doc file"):
        readers()[".docx"](b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    with pytest.raises(SourceUnreadable, match="cannot be read as CSV: ValueError: is a binary file, not text"):
        readers()[".csv"](b"a\0b")
