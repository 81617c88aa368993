"""What a profile builds its pipeline from: the parts that wiring made for this deployment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rag.ask.admit.remarks import Remarks
from rag.ask.query.acronyms import AcronymTable
from rag.ask.query.filter_rules import RuleTable
from rag.find.pack import ContextWindow
from rag.ports.index import Index
from rag.ports.models import Writer
from rag.profiles.shared.optional_stages import OptionalStages


@dataclass(frozen=True, slots=True)
class StageDependencies:
    """What the stages of every profile are made of.

    ``acronyms`` and ``rules`` give this deployment's tables, empty where there are none. ``clock`` counts seconds,
    monotonically; ``new_id`` makes unguessable response ids. ``remarks`` tells what is no question, None where nobody
    does. ``window`` bounds what is packed.
    """

    index: Index
    writer: Writer
    stages: OptionalStages
    acronyms: Callable[[], AcronymTable]
    rules: Callable[[], RuleTable]
    clock: Callable[[], float]
    new_id: Callable[[], str]
    remarks: Remarks | None = None
    window: ContextWindow = field(default_factory=ContextWindow)
