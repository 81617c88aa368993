"""A file of questions on one's own documents: ``{question, expected?, answer?, answerable?}`` a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evaluate.errors import UnusableFile

if TYPE_CHECKING:
    from knowledge.model.values import Chunk

SHAPE = (
    '{"question": text, "expected"?: [document], "answer"?: text, "answerable"?: true or false, "completion"?: text, '
    '"faithful"?: 0 to 1}; one that is not answerable has neither expected documents nor an answer'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuestion:
    """A question and what is known of it.

    ``expected`` names what answers it, each by one of the names that ``names`` gives, ``()`` where that is not known.
    ``answer`` is what a right answer says, ``""`` where that is not known. ``answerable`` is whether the documents hold
    the answer, None where neither the line nor ``expected`` nor ``answer`` says so. ``draft`` is whether nobody has
    corrected it yet. ``completion`` is what a model wrote to it, and ``faithful`` (0..1) how faithful that is to the
    documents, None where that is not known.
    """

    question: str
    expected: tuple[str, ...] = ()
    answer: str = ""
    answerable: bool | None = None
    draft: bool = False
    completion: str = ""
    faithful: float | None = None


def read_questions(path: Path) -> list[LabelledQuestion]:
    """The questions in ``path``, in their order; empty lines do not count.

    Raises:
        UnusableFile: it cannot be read, or a line is no such object; the sentence names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # in JSON text other line ends may stand as they are
    except (OSError, UnicodeDecodeError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else "it is not UTF-8"
        raise UnusableFile(f"{path} cannot be read: {why}") from exc
    found = [_labelled(path, number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not found:
        raise UnusableFile(f"{path} holds no question; a line is {SHAPE}")
    return found


def names(chunk: Chunk) -> frozenset[str]:
    """What ``expected`` may call the chunk: its document by id, path, file name, title or address; its section; its id.

    A section is named by its whole path of headings or by the first or last of them. Case does not matter.
    """
    headings = chunk.section.split(" > ")
    said = (chunk.id, chunk.doc_id, chunk.path, Path(chunk.path).name, chunk.title, chunk.url, chunk.section)
    return frozenset(name.casefold() for name in (*said, headings[0], headings[-1]) if name)


def _labelled(path: Path, number: int, line: str) -> LabelledQuestion:
    try:
        raw = json.loads(line)
        return _checked(raw)
    except (ValueError, TypeError, KeyError, AttributeError) as exc:
        sentence = f"{path}:{number} is no question; a line is {SHAPE}"
        raise UnusableFile(sentence) from exc


def _checked(raw: dict[str, object]) -> LabelledQuestion:
    question, answer, answerable = raw["question"], raw.get("answer") or "", raw.get("answerable")
    expected = tuple(_texts(raw.get("expected") or ()))
    if not isinstance(question, str) or not question.strip() or not isinstance(answer, str):
        raise TypeError
    if answerable is not None and not isinstance(answerable, bool):
        raise TypeError
    if answerable is False and (expected or answer):
        raise ValueError("an unanswerable question has no answer")
    completion, faithful = _completion(raw)
    if answerable is None:
        answerable = False if raw.get("expected") == [] else True if expected or answer else None
    return LabelledQuestion(
        question=question,
        expected=expected,
        answer=answer,
        answerable=answerable,
        draft=raw.get("draft") is True,
        completion=completion,
        faithful=faithful,
    )


def _completion(raw: dict[str, object]) -> tuple[str, float | None]:
    completion, faithful = raw.get("completion") or "", raw.get("faithful")
    if not isinstance(completion, str) or not isinstance(faithful, int | float | None):
        raise TypeError
    if not 0 <= (faithful or 0) <= 1:
        raise ValueError("faithful is between 0 and 1")
    return completion, None if faithful is None else float(faithful)


def _texts(values: object) -> Iterator[str]:
    for value in [values] if isinstance(values, str) else values:  # type: ignore[attr-defined]
        if not isinstance(value, str):
            raise TypeError
        yield value
