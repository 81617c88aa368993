"""What a request tells while it is answered, in the order in which it becomes true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from rag.values.answer import Passage, Statement

type Stage = Literal["searching", "reading", "writing", "checking"]


@dataclass(frozen=True, slots=True)
class Status:
    """What is being done now."""

    stage: Stage


@dataclass(frozen=True, slots=True)
class Reading:
    """The passages that are handed to the writer."""

    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of the answer's Markdown; ``""`` at least once a second while nothing comes."""

    text: str


@dataclass(frozen=True, slots=True)
class Patch:
    """The ``block`` of the answer of that place, from 0, is ``nodes`` now, which begin with what was told of it."""

    block: int
    nodes: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class StatementChecked:
    """The statement of that place, from 0, was held against what it cites, the references ``numbers``."""

    place: int
    statement: Statement
    numbers: tuple[int, ...]


type Event = Status | Reading | Delta | Patch | StatementChecked
type Listen = Callable[[Event], None]
"""Gets them; what it raises ends the model's call."""
