"""A model as a judge of an answer's claims, after each was compared with its passages word by word.

It is asked once an answer, under a fixed form: a line a claim. What else it says is not read, so that a passage that
speaks to it can at most win one of the three words. ``claim_verdict.judged_verdict`` says what a word can change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.answer.claim_verdict import Verdict
from rag.answer.statements import Unit
from rag.contract.decider import Decider
from rag.errors import LlmFailed
from rag.ledger import Ledger
from rag.text.labels import path_of
from rag.values.answer import CheckedClaim, Context, Passage, Support

NEEDS_S = 1.0
"""In less time than this no model answers."""
NOT_JUDGED = "the judge gave no word: the check's stands"

_FORM = re.compile(r"([1-9]\d{0,3}): (supported|partial|unsupported)", re.ASCII)
_WORDS: Mapping[str, Support] = {one: one for one in ("supported", "partial", "unsupported")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge(Decider):
    """Says of claims whether the passages that they cite support them.

    ``template`` holds ``{passages}`` and ``{statements}``. A ``selective`` judge is asked about the claims that cite a
    passage and do not stand in it word for word, any other about all that cite a passage. Neither is asked about a
    claim with a missing number or name: its word would change nothing.
    """

    selective: bool = False

    def picks(self, verdicts: Sequence[Verdict]) -> tuple[int, ...]:
        """Return the places, from 0, of the claims that it is to be asked about."""
        open_ones = [(n, one.statement) for n, one in enumerate(verdicts) if not one.support.missing]
        some = [(n, one) for n, one in open_ones if not (self.selective and one.support == "supported")]
        return tuple(n for n, one in some if one.chunks)

    def __call__(
        self,
        places: Sequence[int],
        units: Sequence[Unit],
        statements: Sequence[CheckedClaim],
        context: Context,
        ledger: Ledger,
    ) -> Mapping[int, Support]:
        """What the model says of the statements of ``places`` (at least one), by their place; ``ledger`` counts it.

        ``statements`` are those of ``units``, checked against ``context``.

        Raises:
            LlmError: the model cannot be reached in time, or says anything but a line a statement.
        """
        cited = dict.fromkeys(number for place in places for number in statements[place].chunks)
        shown = [passage for passage in context.passages if passage.hit.chunk.number in cited]
        numbers = {passage.hit.chunk.number: n for n, passage in enumerate(shown, start=1)}
        lines = [
            f"{n} (passage {', '.join(str(numbers[one]) for one in statements[place].chunks)}): {_line(units[place])}"
            for n, place in enumerate(places, start=1)
        ]
        texts, said = [_text(passage) for passage in shown], "\n".join(lines)
        fence = self.fence(said, *texts)
        passages = "\n".join(f"Passage {n}:\n{fence.around(text)}" for n, text in enumerate(texts, start=1))
        completion = self.complete(ledger, fence, passages=passages, statements=fence.around(said))
        words = parse_verdicts(completion, len(places))
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
