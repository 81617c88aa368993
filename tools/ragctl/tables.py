"""The tables of an index: acronyms and filter rules, named or found beside the documents."""

from __future__ import annotations

from pathlib import Path

from ragctl.ingest_request import IngestRequest, is_address


def read_tables(asked: IngestRequest) -> dict[str, str]:
    """The text of each table by its name: the option's, with the ending of the file (``acronyms.csv``).

    Raises:
        ConfigurationError: a table cannot be read, or not be used; the message names the file or the entry.
    """
    from rag.wiring.tables import read_table

    named = {"acronyms": asked.acronyms, "filters": asked.filters}
    places = {option: Path(name) if name else _beside(asked.paths, f"{option}.json") for option, name in named.items()}
    return dict(read_table(option, place) for option, place in places.items() if place)


def _beside(paths: tuple[str, ...], name: str) -> Path | None:
    """The file called ``name`` in one of the given folders, or beside a given file; the first that there is."""
    local = [Path(path) for path in paths if not is_address(path)]
    folders = [path if path.is_dir() else path.parent for path in local]
    return next((folder / name for folder in folders if (folder / name).is_file()), None)
