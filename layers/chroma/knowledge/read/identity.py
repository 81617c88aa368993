"""What each document that was read is called: the doc_id that it names itself, or one made of its path."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path

from knowledge.model.values import Failure
from knowledge.read.kinds import stem, suffix
from knowledge.read.loading import CORPUS_SUFFIX, Entry
from knowledge.read.walk import FoundFile, readable


def identified(files: Sequence[Entry | FoundFile]) -> Iterator[tuple[Entry, str | Failure]]:
    """Each entry with its doc_id, in order; a file without text now keeps the place of its own.

    Of files that claim the same id all but the first have one made of their path: Docusaurus' ``id`` is unique in its
    folder only (121 pages of two public sites). Of a corpus' records, which have no paths, all but the first fail.
    """
    owners: dict[str, Entry] = {}
    roots: dict[str, set[Path]] = {}
    for file in files:
        if isinstance(file, Entry) and file.fields.doc_id:
            owners.setdefault(file.fields.doc_id, file)
        found = file if isinstance(file, FoundFile) else file.found
        roots.setdefault(_derived(found), set()).add(found.root)
    taken = set(owners)
    for file in files:
        found = file if isinstance(file, FoundFile) else file.found
        shared = len(roots[_derived(found)]) > 1
        if isinstance(file, FoundFile):
            taken.add(_free(found, taken, shared=shared))
            continue
        claimed = file.fields.doc_id
        owner = owners.get(claimed, file) if claimed else file
        if owner is not file and suffix(found.path) == CORPUS_SUFFIX:
            yield file, Failure(file.shown, f"has the doc_id {claimed!r} of {owner.shown!r}")
            continue
        doc_id = claimed if claimed and owner is file else _free(found, taken, shared=shared)
        taken.add(doc_id)
        caveat = "has a doc_id that another document has: its path stands for it"
        yield (file if owner is file else replace(file, caveats=(*file.caveats, caveat))), doc_id


def _derived(found: FoundFile) -> str:
    return stem(found.path)


def _free(found: FoundFile, taken: Container[str], *, shared: bool) -> str:
    """An id made of the file's path that no other document has."""
    root = found.root.resolve()
    front = f"{readable((root.parent if found.explicit else root).name)}/" if shared else ""
    full = front + found.path
    numbered = (f"{full}-{number}" for number in count(2))
    return next(name for name in chain((front + _derived(found), full), numbered) if name not in taken)
