"""What an ingest changes in an index on a server, told from its documents' digests alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowledge.build.keeping import check_removals, held_by, is_below
from knowledge.build.plan import Plan
from knowledge.build.previous import settings_of
from knowledge.build.reading import still_fits
from knowledge.model.errors import SourceUnreadable
from knowledge.model.manifest import Manifest, Source
from knowledge.model.values import Document, Failure

if TYPE_CHECKING:
    from knowledge.build.served.base import Base
    from knowledge.build.served.progress import Progress
    from knowledge.build.write import Settings


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """What documents change in an index: those that are ``fresh``, sources that stay as they are, and those gone.

    ``reusable``: vectors and codes of the version before are as they would be made now. ``kept`` are doc_ids of
    documents that cannot be read now and stay; ``held`` is how many there were.
    """

    fresh: Sequence[Document]
    stays: Sequence[Source]
    gone: Sequence[Source]
    kept: frozenset[str]
    emptied: tuple[Failure, ...]
    held: int
    reusable: bool

    @classmethod
    def of(
        cls,
        documents: Sequence[Document],
        base: Base | None,
        settings: Settings,
        lost: Collection[str],
        emptied: Mapping[str, Failure],
    ) -> Change:
        """``lost`` and ``emptied`` as ``ingest`` has them."""
        before = base.sources if base is not None else {}
        reusable = base is not None and _reusable(base.manifest, settings, len(documents))
        there = {document.doc_id for document in documents}
        if len(there) != len(documents):
            raise SourceUnreadable("Two documents have the same doc_id")
        same, fresh = _apart(documents, before if reusable else {})
        kept, said = _kept([source for source in before.values() if source.doc_id not in there], lost, emptied)
        stays = [*same, *kept]
        here = there | {source.doc_id for source in kept}
        return cls(
            fresh=fresh,
            stays=stays,
            gone=[source for source in before.values() if source.doc_id not in here],
            kept=frozenset(source.doc_id for source in kept),
            emptied=said,
            held=sum(1 for source in before.values() if source.chunks),
            reusable=reusable,
        )

    @property
    def nothing(self) -> bool:
        """Whether the index is as the documents are."""
        return not self.fresh and not self.gone

    def check(self, max_removed_share: float) -> None:
        """Refuse to remove more than this share of the documents; what only moved is none of them."""
        new = {document.digest for document in self.fresh}
        gone = [source.path for source in self.gone if source.chunks and source.digest not in new]
        check_removals(gone, of=self.held, max_share=max_removed_share)

    def planned(self, sources: Sequence[Source], progress: Progress | None = None) -> Plan:
        """What ``summarise`` tells of."""
        kept = self.kept | frozenset(progress.kept if progress else ())
        failed = tuple(progress.failed) if progress else ()
        return Plan(chunks=(), next_number=0, sources=tuple(sources), kept=kept, failed=failed, emptied=self.emptied)


def _reusable(manifest: Manifest, settings: Settings, documents: int) -> bool:
    """Whether its chunks are cut and read as they would be now; the projection is fitted by documents here."""
    before = settings_of(manifest)._replace(lexical_recipe=0, calibration_recipe=0)
    same = before == settings._replace(lexical_recipe=0, calibration_recipe=0)
    return same and (manifest.tokens is None or still_fits(int(str(manifest.tokens["fitted_on"])), documents))


def _key(of: Document | Source) -> tuple[str, str]:
    return of.path, of.digest


def _apart(documents: Sequence[Document], before: Mapping[str, Source]) -> tuple[list[Source], list[Document]]:
    """The sources of those of ``documents`` that are as they were, and the others."""
    same: list[Source] = []
    fresh: list[Document] = []
    for document in documents:
        source = before.get(document.doc_id)
        if source is not None and _key(source) == _key(document):
            same.append(source)
        else:
            fresh.append(document)
    return same, fresh


def _kept(
    others: Sequence[Source], lost: Collection[str], emptied: Mapping[str, Failure]
) -> tuple[list[Source], tuple[Failure, ...]]:
    """Those of ``others``, which were not read, that stay, and what is to be said of emptied places."""
    away = [source for source in others if is_below(source.path, lost)]
    held, said = held_by(emptied, (source for source in others if source not in away), {}, ())
    return [*away, *held], said
