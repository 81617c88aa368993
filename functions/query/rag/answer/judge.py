"""A model as a judge of an answer's statements, after each was held against its passages word by word.

It is asked once an answer, under a fixed form: a line a statement. What else it says is not read, so that a passage
that speaks to it can at most win one of the three words. ``SupportCheck.judged`` says what a word can change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.answer.statements import Unit
from rag.contract.decider import Decider
from rag.errors import LlmFailed
from rag.ledger import Ledger
from rag.text.labels import path_of
from rag.values.answer import Context, Passage, Statement, Support

NEEDS_S = 1.0
"""In less time than this no model answers."""
NOT_JUDGED = "the judge gave no word: the check's stands"

_NUMBER = re.compile(r"\d")
"""There is no list of comparisons (than, versus, vs): in other words one is partial, and asked about. Of 149 false
statements of four public sets that the check calls supported it would pick none, of 580 true ones 10."""
_FORM = re.compile(r"([1-9]\d{0,3}): (supported|partial|unsupported)", re.ASCII)
_WORDS: Mapping[str, Support] = {one: one for one in ("supported", "partial", "unsupported")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge(Decider):
    """Says of statements whether the passages that they cite bear them out.

    ``template`` holds ``{passages}`` and ``{statements}``. A ``selective`` judge is asked about statements with a
    number in digits or two passages, and about what is partial; any other about all that cite a passage and are not
    unsupported: those no word of it would change.
    """

    selective: bool = False

    def picks(self, statements: Sequence[Statement]) -> tuple[int, ...]:
        """The places, from 0, of the ``statements`` that it is to be asked about."""
        return tuple(place for place, one in enumerate(statements) if self._is_picked(one))

    def _is_picked(self, one: Statement) -> bool:
        if one.support == "unsupported" or not one.chunks:
            return False
        return not self.selective or one.support == "partial" or len(one.chunks) > 1 or bool(_NUMBER.search(one.text))

    def __call__(
        self,
        places: Sequence[int],
        units: Sequence[Unit],
        statements: Sequence[Statement],
        context: Context,
        ledger: Ledger,
    ) -> Mapping[int, Support]:
        """What the model says of the statements of ``places`` (at least one), by their place; ``ledger`` counts it.

        ``statements`` are those of ``units``, checked against ``context``.

        Raises:
            LlmError: the model cannot be reached in time, or says anything but a line a statement.
        """
        cited = dict.fromkeys(number for place in places for number in statements[place].chunks)
        shown = [passage for passage in context.used if passage.hit.chunk.number in cited]
        numbers = {passage.hit.chunk.number: n for n, passage in enumerate(shown, start=1)}
        lines = [
            f"{n} (passage {', '.join(str(numbers[one]) for one in statements[place].chunks)}): {_line(units[place])}"
            for n, place in enumerate(places, start=1)
        ]
        texts, said = [_text(passage) for passage in shown], "\n".join(lines)
        fence = self.fence(said, *texts)
        passages = "\n".join(f"Passage {n}:\n{fence.around(text)}" for n, text in enumerate(texts, start=1))
        words = parse_verdicts(self.said(ledger, fence, passages=passages, statements=fence.around(said)), len(places))
        if words is None:
            raise LlmFailed("the judge's completion is not of the form that was asked for")
        return dict(zip(places, words, strict=True))


def parse_verdicts(text: str, count: int) -> tuple[Support, ...] | None:
    """The words of statements 1..``count``; None for anything but a line for each, in their order, and nothing else."""
    lines = [_FORM.fullmatch(line.rstrip()) for line in text.strip().splitlines()]
    found = [(int(line[1]), _WORDS[line[2]]) for line in lines if line]
    whole = len(lines) == len(found) and [number for number, _ in found] == list(range(1, count + 1))
    return tuple(word for _, word in found) if whole else None


def _text(passage: Passage) -> str:
    """A passage as the writer saw it, below its title on one line."""
    return f"{path_of(passage.hit.chunk)}\n{passage.text.strip()}"


def _line(unit: Unit) -> str:
    """What a unit says on one line, so that no statement can begin another; of a row with its header."""
    return " ".join((unit.text if unit.kind == "row" else unit.claim).split())
