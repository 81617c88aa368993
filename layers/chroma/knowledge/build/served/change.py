"""What an ingest changes in an index on a server, told from its documents' digests alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
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
class Fresh:
    """Those of ``documents`` that are to be written, by their ``places``; their texts are read when they are asked for.

    ``sources`` is what they are called, in that order; how many chunks they have is not known yet.
    """

    documents: Sequence[Document]
    places: Sequence[int]
    sources: Sequence[Source]

    def __len__(self) -> int:
        return len(self.places)

    def some(self, which: Iterable[int]) -> list[Document]:
        """Those ``which`` (from 0), with their texts."""
        return [self.documents[self.places[one]] for one in which]


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """What documents change in an index: those that are ``fresh``, sources that stay as they are, and those gone.

    ``reusable``: vectors and codes of the version before are as they would be made now. ``kept`` are doc_ids of
    documents that cannot be read now and stay; ``held`` is how many there were. ``shared_titles`` are the titles that
    several documents have.
    """

    fresh: Fresh
    stays: Sequence[Source]
    gone: Sequence[Source]
    kept: frozenset[str]
    emptied: tuple[Failure, ...]
    held: int
    reusable: bool
    shared_titles: frozenset[str]

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
        named, shared_titles = _without_texts(documents)
        there = {source.doc_id for source in named}
        if len(there) != len(named):
            raise SourceUnreadable("Two documents have the same doc_id")
        same, places = _apart(named, before if reusable else {})
        kept, said = _kept([source for source in before.values() if source.doc_id not in there], lost, emptied)
        stays = [*same, *kept]
        here = there | {source.doc_id for source in kept}
        return cls(
            fresh=Fresh(documents, places, [named[place] for place in places]),
            stays=stays,
            gone=[source for source in before.values() if source.doc_id not in here],
            kept=frozenset(source.doc_id for source in kept),
            emptied=said,
            held=sum(1 for source in before.values() if source.chunks),
            reusable=reusable,
            shared_titles=shared_titles,
        )

    @property
    def nothing(self) -> bool:
        """Whether the index is as the documents are."""
        return not len(self.fresh) and not self.gone

    def check(self, max_removed_share: float) -> None:
        """Refuse to remove more than this share of the documents; what only moved is none of them."""
        new = {source.digest for source in self.fresh.sources}
        gone = [source.path for source in self.gone if source.chunks and source.digest not in new]
        check_removals(gone, of=self.held, max_share=max_removed_share)

    def planned(self, sources: Sequence[Source], progress: Progress | None = None) -> Plan:
        """What ``summarise`` tells of."""
        kept = self.kept | frozenset(progress.kept if progress else ())
        failed = tuple(progress.failed) if progress else ()
        return Plan(chunks=(), next_number=0, sources=tuple(sources), kept=kept, failed=failed, emptied=self.emptied)


def _reusable(manifest: Manifest, settings: Settings, documents: int) -> bool:
    """Whether its chunks are cut and read as they would be now; the projection is fitted by documents here."""
    return settings_of(manifest) == settings and (
        manifest.tokens is None or still_fits(int(str(manifest.tokens["fitted_on"])), documents)
    )


def _without_texts(documents: Iterable[Document]) -> tuple[list[Source], frozenset[str]]:
    """What is kept of ``documents``, which are looked at one by one; and the titles that several have."""
    sources: list[Source] = []
    titles: Counter[str] = Counter()
    for document in documents:
        sources.append(Source(path=document.path, digest=document.digest, doc_id=document.doc_id, chunks=0))
        titles[document.title] += 1
    return sources, frozenset(title for title, count in titles.items() if count > 1)


def _apart(named: Sequence[Source], before: Mapping[str, Source]) -> tuple[list[Source], list[int]]:
    """The sources of those of ``named`` that are as they were, and the places of the others."""
    same: list[Source] = []
    places: list[int] = []
    for place, one in enumerate(named):
        source = before.get(one.doc_id)
        if source is not None and (source.path, source.digest) == (one.path, one.digest):
            same.append(source)
        else:
            places.append(place)
    return same, places


def _kept(
    others: Sequence[Source], lost: Collection[str], emptied: Mapping[str, Failure]
) -> tuple[list[Source], tuple[Failure, ...]]:
    """Those of ``others``, which were not read, that stay, and what is to be said of emptied places."""
    away = [source for source in others if is_below(source.path, lost)]
    held, said = held_by(emptied, (source for source in others if source not in away), {}, ())
    return [*away, *held], said
