"""One question's result beside its labels: what was right in it, in numbers that can be added up."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evaluate.retrieval import rank_scores
from evaluate.words import contains, token_f1, without_marks

if TYPE_CHECKING:
    from evaluate.labelled import LabelledQuestion
    from evaluate.run import RunResult


SAID_CHARS = 200
_TABLE_LINES = re.compile(r"\|(?:[ :]*-+[ :]*\|)+|\|")


type Cost = Callable[[str, int, int], float | None]
"""What a call of a model costs in USD, by its name, the tokens in and those out; None where nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedQuestion:
    """A question, its labels, and what is known of its result; None where the labels or the result do not say.

    ``said`` is the reply, ``failed`` an error's code. ``score`` (0..100) and ``low`` are the
    confidence. ``contained``: the reply holds ``gold``. ``cited``: an expected place is cited. ``right``: of an
    answer, ``contained``, or ``cited`` where there is no ``gold``; answering what the documents do not hold is wrong.
    Of the statements ``backed`` are supported by what they cite; of the ``checked_citations`` ``bearing`` support.
    ``ms`` is the time of the whole request, ``stages`` that of each stage.
    """

    question: str
    expected: tuple[str, ...] = ()
    gold: str = ""
    answerable: bool | None = None
    said: str = ""
    failed: str = ""
    refused: bool = False
    low: bool = False
    score: float = 0.0
    ndcg: float | None = None
    recall: float | None = None
    mrr: float | None = None
    contained: bool | None = None
    f1: float | None = None
    chars: int | None = None
    cited: bool | None = None
    right: bool | None = None
    supported: int = 0
    partial: int = 0
    unsupported: int = 0
    backed: int = 0
    checked_citations: int = 0
    bearing: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    ms: float = 0.0
    stages: Mapping[str, float] = field(default_factory=dict)

    @property
    def answered(self) -> bool:
        """Whether there is an answer: neither an error nor a refusal."""
        return not self.failed and not self.refused


def judge(questions: Sequence[LabelledQuestion], told: Sequence[RunResult], usd: Cost) -> list[JudgedQuestion]:
    """Each of ``questions`` with its result in ``told``, in their order, at the prices of ``usd``."""
    places = [place for place, one in enumerate(questions) if one.expected and not told[place].failed]
    scores = rank_scores([(told[place].found, questions[place].expected) for place in places])
    found = dict(zip(places, scores, strict=True))
    return [
        _judged(labelled, one, found.get(place, {}), usd)
        for place, (labelled, one) in enumerate(zip(questions, told, strict=True))
    ]


def _judged(labelled: LabelledQuestion, told: RunResult, found: Mapping[str, float], usd: Cost) -> JudgedQuestion:
    known: dict[str, Any] = {
        "question": labelled.question,
        "expected": labelled.expected,
        "gold": labelled.answer,
        "answerable": labelled.answerable,
        "calls": told.llm.get("calls", 0),
        "prompt_tokens": told.llm.get("promptTokens", 0),
        "completion_tokens": told.llm.get("completionTokens", 0),
    }
    if told.failed:
        return JudgedQuestion(**known, failed=told.failed)
    reply, metadata = told.reply, told.reply["metadata"]
    timings = dict(metadata["timings"])
    text = without_marks(reply["answer"], (citation["raw"] for citation in reply["citations"]))
    return JudgedQuestion(
        **known,
        **_answer(labelled, told, text),
        **_support(reply),
        said=text,
        refused=reply["refused"],
        low=reply["confidence"]["level"] == "Low",
        score=reply["confidence"]["score"],
        ndcg=found.get("ndcg@10"),
        recall=found.get("recall@10"),
        mrr=found.get("mrr@10"),
        cost_usd=_cost(told, usd),
        ms=timings.pop("totalMs"),
        stages={name.removesuffix("Ms"): value for name, value in timings.items()},
    )


def beginning(text: str) -> str:
    """The first ``SAID_CHARS`` characters of a reply on one line, cut at a blank; a table's lines are left out."""
    line = " ".join(_TABLE_LINES.sub(" ", text).split())
    return line if len(line) <= SAID_CHARS else line[: SAID_CHARS - 1].rsplit(" ", 1)[0] + "\u2026"


def _answer(labelled: LabelledQuestion, told: RunResult, text: str) -> dict[str, Any]:
    """What the labels say of the reply's ``text`` and citations; a refusal contains and cites nothing."""
    answered = not told.reply["refused"]
    contained = f1 = cited = right = None
    if labelled.answer:
        contained = answered and contains(text, labelled.answer)
        f1 = token_f1(text, labelled.answer) if answered else 0.0
    if labelled.expected:
        wanted = {name.casefold() for name in labelled.expected}
        cited = any(wanted.intersection(names) for names in told.cited)
    if labelled.answerable is False:
        right = False if answered else None
    elif answered:
        right = cited if contained is None else contained
    chars = len(text.strip()) if answered else None
    return {"contained": contained, "f1": f1, "cited": cited, "right": right, "chars": chars}


def _support(reply: Mapping[str, Any]) -> dict[str, Any]:
    statements = reply["metadata"].get("statements", [])
    verdicts = [citation["support"] for citation in reply["citations"] if citation.get("support")]
    return {
        **{word: sum(one["support"] == word for one in statements) for word in ("supported", "partial", "unsupported")},
        "backed": sum(one["support"] == "supported" and bool(one["citations"]) for one in statements),
        "checked_citations": len(verdicts),
        "bearing": verdicts.count("supported"),
    }


def _cost(told: RunResult, usd: Cost) -> float | None:
    if not told.llm.get("calls"):
        return 0.0
    read, written = told.llm.get("promptTokens", 0), told.llm.get("completionTokens", 0)
    model = told.reply["metadata"]["model"]
    return usd(model, read, written)
