"""Documents whose texts are in a file until they are asked for: in memory is what else is known of them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import IO, overload

from knowledge.model.errors import IndexNotWritten
from knowledge.model.values import Document

type Place = tuple[int, int]
"""The first byte of a text in its file, and how many there are."""


class TextFile:
    """Texts one after the other in a file; those that have no encoding (lone surrogates) come back as they were."""

    def __init__(self, file: IO[bytes] | None = None) -> None:
        """``file`` is empty, and open for reading and writing; without one the texts are in memory."""
        self._file = io.BytesIO() if file is None else file
        self._end = 0

    def add(self, text: str) -> Place:
        """Keep ``text``.

        Raises:
            IndexNotWritten: the disk is full.
        """
        data = text.encode(errors="surrogatepass")
        try:
            self._file.seek(self._end)
            self._file.write(data)
        except OSError as exc:
            raise IndexNotWritten(f"The texts of the documents cannot be kept on disk: {exc.strerror}") from exc
        place = self._end, len(data)
        self._end += len(data)
        return place

    def read(self, place: Place) -> str:
        """The text that ``add`` was given."""
        self._file.seek(place[0])
        return self._file.read(place[1]).decode(errors="surrogatepass")


class KeptDocuments(Sequence[Document]):
    """Documents in their order, each read from its file whenever it is asked for; the file must be open then."""

    def __init__(self, texts: TextFile, bare: Sequence[Document], places: Sequence[Place]) -> None:
        """``bare`` are the documents without their texts, which are at ``places``."""
        self._texts, self._bare, self._places = texts, bare, places

    def __len__(self) -> int:
        return len(self._bare)

    @overload
    def __getitem__(self, at: int) -> Document: ...

    @overload
    def __getitem__(self, at: slice) -> KeptDocuments: ...

    def __getitem__(self, at: int | slice) -> Document | KeptDocuments:
        if isinstance(at, slice):
            return KeptDocuments(self._texts, self._bare[at], self._places[at])
        return replace(self._bare[at], text=self._texts.read(self._places[at]))
