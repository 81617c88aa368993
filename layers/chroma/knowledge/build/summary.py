"""The summary of an ingest: counts of documents and chunks, failures, and the times of its phases."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from knowledge.build.labels import labels_older
from knowledge.build.plan import Plan
from knowledge.model.manifest import Manifest, SourceRecord
from knowledge.model.values import Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The result of an ingest. All counts but ``chunks`` and ``embedded`` (texts) are of documents with text.

    ``changed`` documents have another digest; ``kept`` ones could not be read or cut now, or their place is empty, and
    stay as they were, which count as ``unchanged`` too. ``emptied`` names such places. ``empty`` are the paths of
    documents without text; ``failed`` names documents that could not be cut or embedded. ``labels_older`` says whether
    the owner's calibration was kept from another version of the index. ``phases`` are seconds of wall time, by name;
    ``seconds`` is the whole time.
    """

    documents: int
    chunks: int
    added: int
    changed: int
    removed: int
    unchanged: int
    embedded: int
    empty: tuple[str, ...]
    failed: tuple[Failure, ...]
    version: str
    seconds: float
    kept: int = 0
    emptied: tuple[Failure, ...] = ()
    labels_older: bool = False
    phases: Mapping[str, float]


class PhaseClock:
    """Wall time by phase of an ingest."""

    def __init__(self) -> None:
        self._started = self._lapped = time.perf_counter()
        self.phases: dict[str, float] = {}

    def lap(self, phase: str) -> None:
        """Add the time since the lap before to ``phase``."""
        now = time.perf_counter()
        self.phases[phase] = self.phases.get(phase, 0.0) + now - self._lapped
        self._lapped = now

    @property
    def seconds(self) -> float:
        """Seconds since the clock was made."""
        return time.perf_counter() - self._started


def summarise(
    sources: Sequence[SourceRecord],
    before: Manifest | None,
    clock: PhaseClock,
    *,
    now: Manifest | None = None,
    planned: Plan | None = None,
    embedded: int = 0,
) -> Summary:
    """Compare the ``sources`` of an index with those ``before``.

    ``now`` is its manifest and ``planned`` the plan behind it, if any; ``embedded`` counts texts.
    """
    new, old = _digests(sources), _digests(before.sources if before else ())
    unchanged = sum(1 for doc_id, digest in new.items() if old.get(doc_id) == digest)
    both = len(new.keys() & old.keys())
    return Summary(
        documents=len(new),
        chunks=sum(source.chunks for source in sources),
        added=len(new) - both,
        changed=both - unchanged,
        removed=len(old) - both,
        unchanged=unchanged,
        embedded=embedded,
        empty=tuple(source.path for source in sources if not source.chunks),
        failed=planned.failed if planned else (),
        version=now.version if now else "",
        seconds=clock.seconds,
        kept=len(planned.kept) if planned else 0,
        emptied=planned.emptied if planned else (),
        labels_older=now is not None and labels_older(now),
        phases=dict(clock.phases),
    )


def _digests(sources: Iterable[SourceRecord]) -> dict[str, str]:
    return {source.doc_id: source.digest for source in sources if source.chunks}
