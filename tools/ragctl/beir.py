"""BEIR's files of questions: queries.jsonl, ``{_id, text}`` a line, and qrels.tsv, what answers them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from ragctl.failures import CommandFailed

QRELS_HEADER = ("query-id", "corpus-id", "score")


def read_queries(path: Path) -> list[tuple[str, str]]:
    """The (id, text) pairs of a queries file.

    Raises:
        CommandFailed: it cannot be read, or a line is no query; the message names the line.
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

    Raises:
        CommandFailed: it cannot be read, or a line is no judgement; the message names the line.
    """
    qrels: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        fields = tuple(field.strip() for field in line.split("\t"))
        if number == 1 and fields == QRELS_HEADER:
            continue
        try:
            query_id, doc_id, relevance = fields
            qrels.setdefault(query_id, {})[doc_id] = int(relevance)
        except ValueError as exc:
            raise _bad_line(path, number, "not a judgement query-id, corpus-id, score, with tabs") from exc
    return qrels


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers from 1."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8"
        raise CommandFailed(f"{path} cannot be read: {reason}", code="source_unreadable") from exc
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())


def _bad_line(path: Path, number: int, what: str) -> CommandFailed:
    return CommandFailed(f"{path}, line {number}: {what}", code="source_unreadable")
