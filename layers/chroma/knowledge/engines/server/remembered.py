"""The chunks that were fetched last: a question asks for the same ones when it is searched, answered and checked."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from knowledge.engines.server.records import StoredChunk

MOST = 1000
"""Some 6 kB each."""


class Remembered:
    """Up to ``MOST`` chunks of one version, by number; nothing in a version ever changes. Safe in several threads."""

    def __init__(self) -> None:
        self._held: OrderedDict[int, StoredChunk] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, chunks: Iterable[StoredChunk]) -> None:
        """Remember ``chunks``, and forget those that were longest not asked for."""
        with self._lock:
            for chunk in chunks:
                self._held[chunk.chunk.number] = chunk
                self._held.move_to_end(chunk.chunk.number)
            while len(self._held) > MOST:
                self._held.popitem(last=False)

    def of(self, numbers: Sequence[int]) -> dict[int, StoredChunk]:
        """Those of ``numbers`` that are remembered."""
        with self._lock:
            return {number: self._held[number] for number in numbers if number in self._held}
