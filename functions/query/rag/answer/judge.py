"""A model as the judge of an answer's claims, after the comparison with the passages word by word.

It is asked once an answer, in a fixed form: one line for each claim. Other text in its reply is an error, so that a
passage that speaks to it can at most win one of the three words. ``rag.answer.check.overrule`` limits their effect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.answer.check import CheckedAnswer, ClaimVerdict
from rag.contract import Decider
from rag.errors import LlmFailed
from rag.ledger import Ledger
from rag.text.sources import path_of
from rag.values.answer import Context, Support

MIN_SECONDS = 1.0
"""No model answers in less time."""
NOT_JUDGED = "the judge gave no word: the check's stands"

_FORM = re.compile(r"([1-9]\d{0,3}): (supported|partial|unsupported)", re.ASCII)
_WORDS: Mapping[str, Support] = {one: one for one in ("supported", "partial", "unsupported")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge(Decider):
    """Asks a model whether passages support the claims that cite them.

    ``template`` holds ``{passages}`` and ``{statements}``. A ``selective`` judge is not asked about claims that stand
    in a cited passage word for word. No judge is asked about a claim without a citation, or with a missing number or
    name, where its word would change nothing.
    """

    selective: bool = False

    def select_claims(self, verdicts: Sequence[ClaimVerdict]) -> tuple[int, ...]:
        """Return the places, from 0, of the claims to ask about."""
        places = []
        for place, verdict in enumerate(verdicts):
            is_settled = self.selective and verdict.claim.support == "supported"
            if verdict.claim.chunks and not verdict.support.missing and not is_settled:
                places.append(place)
        return tuple(places)

    def __call__(
        self, places: Sequence[int], checked: CheckedAnswer, context: Context, ledger: Ledger
    ) -> Mapping[int, Support]:
        """Return the model's words on the claims of ``checked`` at ``places`` (at least one), by place.

        Raises:
            LlmError: the model cannot be reached in time, or its reply has another form.
        """
        cited = dict.fromkeys(number for place in places for number in checked.claims[place].chunks)
        passages = [passage for passage in context.passages if passage.hit.chunk.number in cited]
        numbers = {passage.hit.chunk.number: n for n, passage in enumerate(passages, start=1)}
        lines = []
        for n, place in enumerate(places, start=1):
            claim = checked.verdicts[place].answer_claim
            words = (claim.markdown if claim.kind == "row" else claim.plain).split()
            cites = ", ".join(str(numbers[chunk]) for chunk in checked.claims[place].chunks)
            lines.append(f"{n} (passage {cites}): {' '.join(words)}")  # on one line, so that none begins another
        texts, claims = [f"{path_of(one.hit.chunk)}\n{one.text.strip()}" for one in passages], "\n".join(lines)
        fence = self.fence(claims, *texts)
        prompt = "\n".join(f"Passage {n}:\n{fence.around(text)}" for n, text in enumerate(texts, start=1))
        reply = self.complete(ledger, fence, passages=prompt, statements=fence.around(claims))
        verdicts = parse_verdicts(reply, len(places))
        if verdicts is None:
            raise LlmFailed("the judge's completion is not of the form that was asked for")
        return dict(zip(places, verdicts, strict=True))


def parse_verdicts(text: str, count: int) -> tuple[Support, ...] | None:
    """Return the words on claims 1..``count``; None unless ``text`` is one line for each of them in their order."""
    lines = [_FORM.fullmatch(line.rstrip()) for line in text.strip().splitlines()]
    found = [(int(line[1]), _WORDS[line[2]]) for line in lines if line]
    is_complete = len(lines) == len(found) and [number for number, _ in found] == list(range(1, count + 1))
    return tuple(word for _, word in found) if is_complete else None
