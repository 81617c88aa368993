"""What a profile is built from: the effects that wiring made for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from rag.profiles.services import Services
from rag.stages.query.acronyms import AcronymTable
from rag.stages.query.filter_rules import RuleTable
from rag.stages.retrieve.dense import OpenIndex
from rag.stages.write.chat_writer import Writer


class ProfileIndex(Protocol):
    """The current index, as the profiles' stages use it."""

    def lease(self) -> AbstractContextManager[OpenIndex]:
        """One immutable open index for the length of a ``with`` block."""
        ...

    def fields(self) -> Mapping[str, str]:
        """The index's metadata fields and their types; empty when it does not know them."""
        ...


@dataclass(frozen=True, slots=True)
class Deps:
    """``acronyms`` and ``rules`` are this deployment's tables, empty where there are none. ``clock`` counts
    seconds, monotonically; ``new_id`` makes unguessable response ids.
    """

    index: ProfileIndex
    writer: Writer
    services: Services
    acronyms: AcronymTable
    rules: RuleTable
    embedding_model: str
    clock: Callable[[], float]
    new_id: Callable[[], str]
