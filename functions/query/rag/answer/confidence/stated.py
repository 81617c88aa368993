"""How well what was stated answers the question, beside all else that the context says: what a chance is read off.

A statement is judged by the unit of its passages that says it, whose tokens the search has compared with the
question's already: nothing is embedded. With the question's pieces i and their weights w (sum 1) a unit covers

    sum_i w_i max(best token of the unit, .6 x best token of its headings)
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from knowledge.cut.quote_spans import END, LEAD_END, LEAD_START, START
from knowledge.model.values import EncodedQuestion
from rag.values.answer import Passage, Statement
from rag.write.runs import HEADING_SHARE, Units, units_of

if TYPE_CHECKING:
    from rag.values.draft import ConfidenceInput

LEAST_SCORE = 0.01
_WORD = re.compile(r"\w+")


def stated(said: ConfidenceInput, asked: EncodedQuestion) -> Mapping[str, float] | None:
    """The signals of what was stated, None where no statement has support, or nothing is known of tokens.

    Of several statements the one counts that covers the question best.

    - regret: how much better the unit that covers the question best does so than the statement's own (0..1)
    - standing: the score of its chunk as a share of the best chunk's (0..1)
    """
    units = units_of(said.passages)
    own = _own_units(said.statements, said.passages, units) if units else []
    if units is None or not own:
        return None
    covers = np.maximum(units.covers, HEADING_SHARE * units.above) @ asked.weights
    best = max(own, key=lambda unit: covers[unit])
    scores = [passage.hit.score for passage in said.passages]
    return {
        "regret": float(covers.max() - covers[best]),
        "standing": max(0.0, scores[int(units.passage[best])] / max(*scores, LEAST_SCORE)),
    }


def _own_units(statements: Sequence[Statement], passages: Sequence[Passage], units: Units) -> list[int]:
    """Of each statement that has some support the unit of what it cites that shares most of its words with it."""
    supported = [statement for statement in statements if statement.support != "unsupported"]
    cited = {chunk for statement in supported for chunk in statement.chunks}
    chunks = [passages[place].hit.chunk.number for place in units.passage.tolist()]
    words = {unit: _unit_words(units, unit, passages) for unit, chunk in enumerate(chunks) if chunk in cited}
    own = []
    for statement in supported:
        of_it, there = _words(statement.text), [unit for unit in words if chunks[unit] in statement.chunks]
        if there:
            own.append(max(there, key=lambda unit: _alike(of_it, words[unit])))
    return own


def _unit_words(units: Units, unit: int, passages: Sequence[Passage]) -> frozenset[str]:
    row, text = units.table[unit].tolist(), passages[int(units.passage[unit])].text
    return _words(f"{text[row[LEAD_START] : row[LEAD_END]]} {text[row[START] : row[END]]}")


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    """Dice's coefficient: 1 where they are the same."""
    return 2 * len(one & other) / max(1, len(one) + len(other))
