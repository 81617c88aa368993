"""How far an ingest to a server has come, kept on this machine's disk, so that a killed one goes on where it was."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from knowledge.build.served.totals import Totals
from knowledge.model.errors import IndexDamaged
from knowledge.model.manifest import Source
from knowledge.model.values import Failure

STATE_NAME = "state.json"


@dataclass(eq=False)
class Progress:
    """What of one version is written: ``copied`` records of the version before, and so many ``slabs`` of documents.

    ``totals`` are those of all chunks then; ``kept`` are doc_ids that stay as they were.
    """

    totals: Totals
    next_number: int
    copied: int = 0
    slabs: int = 0
    embedded: int = 0
    fields: dict[str, str] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def save(self, folder: Path) -> None:
        """Keep it in ``folder``, in one step."""
        new = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        self.totals.save(new)
        state = {
            "next_number": self.next_number,
            "copied": self.copied,
            "slabs": self.slabs,
            "embedded": self.embedded,
            "fields": self.fields,
            "sources": [asdict(source) for source in self.sources],
            "failed": [[one.path, one.error] for one in self.failed],
            "kept": self.kept,
        }
        (new / STATE_NAME).write_text(json.dumps(state), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """What ``folder`` keeps; None where there is none that can be read."""
        for place in (folder, folder.with_name(f"{folder.name}.new")):
            try:
                state = json.loads((place / STATE_NAME).read_bytes())
                return cls(
                    Totals.load(place),
                    state["next_number"],
                    copied=state["copied"],
                    slabs=state["slabs"],
                    embedded=state["embedded"],
                    fields=state["fields"],
                    sources=[Source(**source) for source in state["sources"]],
                    failed=[Failure(*one) for one in state["failed"]],
                    kept=state["kept"],
                )
            except (OSError, ValueError, KeyError, TypeError, IndexDamaged):
                continue
        return None


def forget(work: Path) -> None:
    """Remove what the folder ``work`` keeps of versions: the one that is written, and those that never came about."""
    for state in work.glob(f"*/{STATE_NAME}"):
        shutil.rmtree(state.parent, ignore_errors=True)
