"""Files of questions: labelled questions on one's own documents, and BEIR's queries.jsonl and qrels.tsv.

A labelled question is ``{question, expected?, answer?, answerable?}`` a line. A query is ``{_id, text}`` a line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from knowledge.model.values import Chunk

SHAPE = (
    '{"question": text, "expected"?: [document], "answer"?: text, "answerable"?: true or false, "completion"?: text, '
    '"faithful"?: 0 to 1}; one that is not answerable has neither expected documents nor an answer'
)
BEIR_FIELDS = 3
TREC_FIELDS = 4

_WHOLE = re.compile(r"([+-]?\d+)(?:\.0*)?")
"""A relevance: a whole number, which some tools write as a float."""


class EvaluationError(Exception):
    """Base of every expected error of this package; ``code`` is stable."""

    code = "evaluation_error"


class UnusableFile(EvaluationError):
    """A file of questions, judgements or figures cannot be read, or has another format; the message names the line."""

    code = "source_unreadable"


class Interrupted(EvaluationError):
    """A run was interrupted; its results so far are saved."""

    code = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuestion:
    """A question with its labels.

    ``expected`` holds names of the documents that answer it (see ``chunk_names``), ``()`` if unknown. ``answer`` is
    the text of a right answer, ``""`` if unknown. ``answerable`` says whether the documents hold the answer, None if
    unknown. A ``draft`` has not been corrected by a person. ``completion`` is a model's answer, and ``faithful``
    (0..1) its faithfulness to the documents, None if unknown.
    """

    question: str
    expected: tuple[str, ...] = ()
    answer: str = ""
    answerable: bool | None = None
    draft: bool = False
    completion: str = ""
    faithful: float | None = None


def chunk_names(chunk: Chunk) -> frozenset[str]:
    """Return the names that ``expected`` may use for the chunk, in lower case.

    These are its document's id, path, file name, title and address, the chunk's id, and its section: the whole path of
    headings, or the first or last of them.
    """
    headings = chunk.section.split(" > ")
    names = (chunk.id, chunk.doc_id, chunk.path, Path(chunk.path).name, chunk.title, chunk.url, chunk.section)
    return frozenset(name.casefold() for name in (*names, headings[0], headings[-1]) if name)


def read_questions(path: Path) -> list[LabelledQuestion]:
    """Return the labelled questions in ``path``, in their order; empty lines do not count.

    Raises:
        UnusableFile: the file cannot be read, or a line has another format.
    """
    questions = []
    for number, line in _read_lines(path):
        try:
            questions.append(_parse_question(json.loads(line)))
        except (ValueError, TypeError, KeyError, AttributeError) as exc:
            raise UnusableFile(f"{path}:{number} is no question; a line is {SHAPE}") from exc
    if not questions:
        raise UnusableFile(f"{path} holds no question; a line is {SHAPE}")
    return questions


def _parse_question(raw: dict[str, object]) -> LabelledQuestion:
    question, answer, answerable = raw["question"], raw.get("answer") or "", raw.get("answerable")
    if not isinstance(question, str) or not question.strip() or not isinstance(answer, str):
        raise TypeError
    expected = _parse_expected(raw.get("expected") or ())
    if answerable is None:
        answerable = False if raw.get("expected") == [] else True if expected or answer else None
    elif not isinstance(answerable, bool):
        raise TypeError
    if answerable is False and (expected or answer):
        raise ValueError("an unanswerable question has no answer")
    completion, faithful = _parse_completion(raw)
    return LabelledQuestion(
        question=question,
        expected=expected,
        answer=answer,
        answerable=answerable,
        draft=raw.get("draft") is True,
        completion=completion,
        faithful=faithful,
    )


def _parse_completion(raw: dict[str, object]) -> tuple[str, float | None]:
    completion, faithful = raw.get("completion") or "", raw.get("faithful")
    if not isinstance(completion, str) or not isinstance(faithful, int | float | None):
        raise TypeError
    if not 0 <= (faithful or 0) <= 1:
        raise ValueError("faithful is between 0 and 1")
    return completion, None if faithful is None else float(faithful)


def _parse_expected(values: Any) -> tuple[str, ...]:
    expected = (values,) if isinstance(values, str) else tuple(values)
    if not all(isinstance(value, str) for value in expected):
        raise TypeError
    return expected


def read_queries(path: Path) -> list[tuple[str, str]]:
    """Return the (id, text) pairs of BEIR's queries.

    Raises:
        UnusableFile: the file cannot be read, or a line has another format.
    """
    queries = []
    for number, line in _read_lines(path):
        sentence = f"{path}, line {number}: not a query {{_id, text}}"
        try:
            entry = json.loads(line)
            query_id, text = str(entry["_id"]), entry["text"]
        except (ValueError, KeyError, TypeError) as exc:
            raise UnusableFile(sentence) from exc
        if not isinstance(text, str) or set("\t\r\n") & set(query_id):
            raise UnusableFile(sentence)
        queries.append((query_id, text))
    return queries


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Return query id -> document id -> relevance (0 is none).

    A line is ``query-id, corpus-id, score`` with tabs (BEIR), or ``query-id, iteration, corpus-id, score`` with tabs or
    spaces (TREC). Line 1 is a header, whatever its names of columns, if its last field is no number and it has no
    digits: ids mostly have digits, so that a line with digits is a damaged judgement.

    Raises:
        UnusableFile: the file cannot be read, or a line has another format.
    """
    qrels: dict[str, dict[str, int]] = {}
    for number, line in _read_lines(path):
        tabbed, spaced = [field.strip() for field in line.split("\t")], line.split()
        fields = spaced if len(tabbed) != BEIR_FIELDS and len(spaced) == TREC_FIELDS else tabbed
        is_judgement = len(fields) in (BEIR_FIELDS, TREC_FIELDS)
        relevance = _WHOLE.fullmatch(fields[-1])
        if is_judgement and relevance:
            qrels.setdefault(fields[0], {})[fields[-2]] = int(relevance[1])
        elif number > 1 or not is_judgement or any(map(str.isdigit, line)):
            raise UnusableFile(f"{path}, line {number}: not a judgement query-id, corpus-id, score, with tabs")
    return qrels


def _read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Return the lines that are not blank, with their numbers from 1."""
    try:
        # With or without a byte order mark; in JSON text other line ends may stand as they are.
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8"
        raise UnusableFile(f"{path} cannot be read: {reason}") from exc
    return ((number, line) for number, line in enumerate(lines, start=1) if line.strip())
