"""BEIR's files of questions: queries.jsonl, ``{_id, text}`` a line, and qrels.tsv, what answers them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from evaluate.errors import UnusableFile

BEIR_FIELDS = 3
TREC_FIELDS = 4

_WHOLE = re.compile(r"([+-]?\d+)(?:\.0*)?")
"""A relevance: judgements are whole numbers, which some tools write as floats."""


def read_queries(path: Path) -> list[tuple[str, str]]:
    """The (id, text) pairs of a queries file.

    Raises:
        UnusableFile: it cannot be read, or a line is no query; the message names the line.
    """
    queries = []
    for number, line in _lines(path):
        try:
            entry = json.loads(line)
            query_id, text = str(entry["_id"]), entry["text"]
        except (ValueError, KeyError, TypeError) as exc:
            raise _bad_line(path, number, "not a query {_id, text}") from exc
        if not isinstance(text, str) or set("\t\r\n") & set(query_id):
            raise _bad_line(path, number, "not a query {_id, text}")
        queries.append((query_id, text))
    return queries


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Query id -> document id -> relevance (0 is none) of a judgements file, its header left out.

    A line is ``query-id, corpus-id, score`` with tabs (BEIR), or ``query-id, iteration, corpus-id, score`` with tabs or
    spaces (TREC). Line 1 is a header, whatever it calls the columns, when its last field is no number; as ids mostly
    have digits and names of columns none, one with digits is a judgement gone wrong.

    Raises:
        UnusableFile: it cannot be read, or a line is no judgement; the message names the line.
    """
    qrels: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        judgement = _judgement(line)
        if judgement is not None:
            query_id, doc_id, relevance = judgement
            qrels.setdefault(query_id, {})[doc_id] = relevance
        elif number > 1 or len(_fields(line)) not in (BEIR_FIELDS, TREC_FIELDS) or any(map(str.isdigit, line)):
            raise _bad_line(path, number, "not a judgement query-id, corpus-id, score, with tabs")
    return qrels


def _judgement(line: str) -> tuple[str, str, int] | None:
    fields = _fields(line)
    if len(fields) == TREC_FIELDS:
        del fields[1]  # the iteration, which nobody reads
    if len(fields) != BEIR_FIELDS or not (relevance := _WHOLE.fullmatch(fields[-1])):
        return None
    return fields[0], fields[1], int(relevance[1])


def _fields(line: str) -> list[str]:
    tabbed = [field.strip() for field in line.split("\t")]
    spaced = line.split()
    return spaced if len(tabbed) != BEIR_FIELDS and len(spaced) == TREC_FIELDS else tabbed


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers from 1."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # with or without a byte order mark
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8"
        raise UnusableFile(f"{path} cannot be read: {reason}") from exc
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def _bad_line(path: Path, number: int, what: str) -> UnusableFile:
    return UnusableFile(f"{path}, line {number}: {what}")
