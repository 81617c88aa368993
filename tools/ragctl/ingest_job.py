"""One run of an ingest: read, build, and say what was done."""

from __future__ import annotations

import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from ragctl.console import emit_json, note, progress
from ragctl.failures import INTERRUPTED, CommandFailed
from ragctl.ingest_request import IngestRequest, is_address
from ragctl.kept_readings import READINGS_NAME
from ragctl.places import builder, work_folder
from ragctl.report import counts, failures, print_problems, print_report, report, unserved
from ragctl.sources import CACHE_NAME, emptied_since, gather, run_documents

if TYPE_CHECKING:
    from knowledge.build.summary import Summary
    from knowledge.read.documents import Reading
    from rag.config.settings import Settings


def read_tables(asked: IngestRequest) -> dict[str, str]:
    """The text of each table by its name: the option's, with the ending of the file (``acronyms.csv``).

    Raises:
        ConfigurationError: a table cannot be read, or not be used; the message names the file or the entry.
    """
    from rag.wiring.tables import read_table

    local = [Path(path) for path in asked.paths if not is_address(path)]
    folders = [path if path.is_dir() else path.parent for path in local]
    tables = {}
    for option, named in {"acronyms": asked.acronyms, "filters": asked.filters}.items():
        beside = [folder / f"{option}.json" for folder in folders if (folder / f"{option}.json").is_file()]
        for place in [Path(named)] if named else beside[:1]:
            name, text = read_table(option, place)
            tables[name] = text
    return tables


MAX_REMOVED_SHARE = 0.3
"""A run that would remove a larger share of the documents has to be told that it may."""


class Done(NamedTuple):
    """How many documents were read, how many files or documents failed, and how many places were emptied."""

    read: int
    failed: int
    emptied: int


@dataclass(frozen=True, slots=True)
class IngestJob:
    """One ingest of what was asked for, into the index of the settings."""

    asked: IngestRequest
    settings: Settings
    dry_run: bool
    may_remove: bool
    as_json: bool
    switch: bool = True
    """Whether an index on a server is to answer with what is made, or beside it."""

    def run(self) -> Done:
        """Ingest once and say what was done."""
        done, found = self.ingest()
        if self.as_json:
            emit_json(found)
        else:
            print_report(found, self.settings.index_place)
        return done

    def ingest(self) -> tuple[Done, dict[str, Any]]:
        """Ingest once; what was done, in figures and as ``ragctl.report.report`` tells it.

        Raises:
            CommandFailed: the index is as it was.
        """
        started = time.perf_counter()
        try:
            with self._texts() as texts:
                reading, summary, reading_s = self._ingest(texts)
                seconds = time.perf_counter() - started
                new = summary.added + summary.changed and not self.settings.embed_model
                told = unserved(reading.documents) if new else ""
                took = {"seconds": seconds, "reading_s": reading_s}
                found = report(reading, summary, **took, dry_run=self.dry_run, language=told)
        except KeyboardInterrupt as exc:
            sentence = "Interrupted; the index is as it was"
            raise CommandFailed(sentence, code="interrupted", exit_status=INTERRUPTED) from exc
        done = Done(read=len(reading.documents), failed=len(found["failed"]), emptied=len(found["emptied"]))
        return done, found

    def _texts(self) -> IO[bytes]:
        """A file without a name for the documents' texts, which are not all in memory.

        It is on the index's own disk: a temporary folder may be in memory.
        """
        target = work_folder(self.settings).absolute()
        beside = next(place for place in (target, *target.parents) if place.is_dir())
        return tempfile.TemporaryFile(dir=None if self.dry_run else beside)

    def _ingest(self, texts: IO[bytes]) -> tuple[Reading, Summary, float]:
        from knowledge.model.errors import SourceUnreadable
        from knowledge.model.manifest import RECIPE, SEED_RECIPE
        from knowledge.open.scratch import Scratch
        from rag.errors import EmbeddingFailed, EmbeddingUnavailable
        from ragctl.embedders import for_documents

        target, build = work_folder(self.settings), builder(self.settings, switch=self.switch)
        started = time.perf_counter()
        with closing(Scratch()) as nowhere:  # which removes those of killed runs
            cache = nowhere.path if self.dry_run else target / CACHE_NAME
            reading, readings = gather(self.asked, cache=cache, kept=target / READINGS_NAME, texts=texts)
        reading_s = time.perf_counter() - started
        tables = read_tables(self.asked)
        if tables:
            note(f"Kept in the index, for profiles that read them: {', '.join(tables)}")
        try:
            with for_documents(self.settings, target) as embedder, progress("Embedding") as on_progress:
                summary = build(
                    reading.documents,
                    embedder=embedder,
                    collection=self.settings.collection,
                    lost=reading.lost,
                    emptied={} if self.may_remove else emptied_since(reading, self.settings.index_place),
                    max_removed_share=1.0 if self.may_remove else MAX_REMOVED_SHARE,
                    made=self.asked.made(self.settings.profile, reading.site_title, tables),
                    recipe=SEED_RECIPE if self.asked.cut else RECIPE,
                    dry_run=self.dry_run,
                    run=run_documents,
                    on_progress=on_progress,
                )
        except SourceUnreadable as exc:
            failed = failures(*reading.failed, *exc.failed)
            print_problems(failed, failures(*reading.warnings))
            passed = f". Passed over: {counts(reading.skipped)}" if reading.skipped else ""
            raise CommandFailed(f"{exc}{passed}", code=exc.code, failed=failed) from exc
        except (EmbeddingFailed, EmbeddingUnavailable) as exc:
            # Its message holds statuses and error classes, no vendor's words.
            sentence = f"{exc}. The index is as it was; the same command goes on where this one stopped"
            raise CommandFailed(sentence, code=exc.code) from exc
        if not self.dry_run:
            readings.save()
        return reading, summary, reading_s
