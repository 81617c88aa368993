"""Judge results by their labels: the rank of the expected documents, the words of the answer, and its support."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evaluate.question_files import chunk_names

if TYPE_CHECKING:
    from evaluate.question_files import LabelledQuestion
    from evaluate.run import RunResult
    from knowledge.model.values import Chunk

CUTOFF = 10
EXCERPT_CHARS = 200

type Qrels = Mapping[str, Mapping[str, int]]
type Found = Sequence[Collection[str]]
"""The names of each passage that was found, in lower case, the best passage first."""
type Cost = Callable[[str, int, int], float | None]
"""Returns a call's cost in USD by model, prompt tokens and completion tokens; None if the price is unknown."""

_TABLE_LINES = re.compile(r"\|(?:[ :]*-+[ :]*\|)+|\|")
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_MARKDOWN = str.maketrans("", "", "*`")
_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d\u2010\u2011\u2012\u2013\u2212", "''\"\"-----")
_CELL = re.compile(r"\s*\|\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedQuestion:
    """A question with its labels and its judged result; None means unknown.

    ``said`` is the reply's text, ``failed`` an error's code. ``score`` (0..100) and ``low`` are the confidence.
    ``contained``: the reply holds ``gold``. ``cited``: an expected document is cited. ``right``: of an answer,
    ``contained``, or ``cited`` without ``gold``; an answer to an unanswerable question is wrong. ``backed`` statements
    are supported by their citations; of ``checked_citations``, ``bearing`` support. ``ms`` is the time of the request.
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


def judge(questions: Sequence[LabelledQuestion], results: Sequence[RunResult], usd: Cost) -> list[JudgedQuestion]:
    """Return each of ``questions`` with its judged result, in their order, at the prices of ``usd``."""
    places = [place for place, one in enumerate(questions) if one.expected and not results[place].failed]
    scores = score_questions([(results[place].found, questions[place].expected) for place in places])
    ranks = dict(zip(places, scores, strict=True))
    return [
        _judge_result(labelled, result, ranks.get(place, {}), usd)
        for place, (labelled, result) in enumerate(zip(questions, results, strict=True))
    ]


def _judge_result(
    labelled: LabelledQuestion, result: RunResult, ranks: Mapping[str, float], usd: Cost
) -> JudgedQuestion:
    calls, read, written = (result.llm.get(name, 0) for name in ("calls", "promptTokens", "completionTokens"))
    judged = JudgedQuestion(
        question=labelled.question,
        expected=labelled.expected,
        gold=labelled.answer,
        answerable=labelled.answerable,
        failed=result.failed,
        calls=calls,
        prompt_tokens=read,
        completion_tokens=written,
    )
    if result.failed:
        return judged
    reply, metadata = result.reply, result.reply["metadata"]
    timings = dict(metadata["timings"])
    text = strip_marks(reply["answer"], (citation["raw"] for citation in reply["citations"]))
    return replace(
        judged,
        **_judge_answer(labelled, result, text),
        **_count_support(reply),
        said=text,
        refused=reply["refused"],
        low=reply["confidence"]["level"] == "Low",
        score=reply["confidence"]["score"],
        ndcg=ranks.get("ndcg@10"),
        recall=ranks.get("recall@10"),
        mrr=ranks.get("mrr@10"),
        cost_usd=usd(metadata["model"], read, written) if calls else 0.0,
        ms=timings.pop("totalMs"),
        stages={name.removesuffix("Ms"): value for name, value in timings.items()},
    )


def _judge_answer(labelled: LabelledQuestion, result: RunResult, text: str) -> dict[str, Any]:
    """Compare the reply's ``text`` and citations with the labels; a refusal contains and cites nothing."""
    answered = not result.reply["refused"]
    contained = f1 = cited = right = None
    if labelled.answer:
        contained = answered and contains(text, labelled.answer)
        f1 = token_f1(text, labelled.answer) if answered else 0.0
    if labelled.expected:
        wanted = {name.casefold() for name in labelled.expected}
        cited = any(wanted.intersection(names) for names in result.cited)
    if labelled.answerable is False:
        right = False if answered else None
    elif answered:
        right = cited if contained is None else contained
    chars = len(text.strip()) if answered else None
    return {"contained": contained, "f1": f1, "cited": cited, "right": right, "chars": chars}


def _count_support(reply: Mapping[str, Any]) -> dict[str, Any]:
    statements = reply["metadata"].get("statements", [])
    verdicts = [citation["support"] for citation in reply["citations"] if citation.get("support")]
    return {
        **{word: sum(one["support"] == word for one in statements) for word in ("supported", "partial", "unsupported")},
        "backed": sum(one["support"] == "supported" and bool(one["citations"]) for one in statements),
        "checked_citations": len(verdicts),
        "bearing": verdicts.count("supported"),
    }


def excerpt(text: str) -> str:
    """Return the first ``EXCERPT_CHARS`` characters on one line, cut at a blank and without a table's lines."""
    line = " ".join(_TABLE_LINES.sub(" ", text).split())
    return line if len(line) <= EXCERPT_CHARS else line[: EXCERPT_CHARS - 1].rsplit(" ", 1)[0] + "\u2026"


# The rank of the expected documents


def score_run(run: Mapping[str, Sequence[str]], qrels: Qrels) -> dict[str, float]:
    """Return nDCG@10, recall@10 and MRR@10 of ``run`` (query id -> document ids, best first), means over ``qrels``.

    The definitions are trec_eval's, by ir-measures, which is its code (ranx would bring numba and pandas). It gets
    ranks, not scores: it breaks ties by document id, and the order of ``run`` is final.
    """
    import ir_measures

    scores = ir_measures.calc_aggregate(list(_measures()), qrels, _ranks_as_scores(run))
    return {name: float(scores[measure]) for measure, name in _measures().items()}


def score_questions(asked: Sequence[tuple[Found, Sequence[str]]]) -> list[dict[str, float]]:
    """Return the scores of ``score_run`` for each question alone; the relevant are its expected names, each once."""
    import ir_measures

    run = {str(place): rank_names(found, expected) for place, (found, expected) in enumerate(asked)}
    qrels = {
        str(place): {f"expected {name.casefold()}": 1 for name in expected} for place, (_, expected) in enumerate(asked)
    }
    scores: list[dict[str, float]] = [{} for _ in asked]
    for one in ir_measures.iter_calc(list(_measures()), qrels, _ranks_as_scores(run)):
        scores[int(one.query_id)][_measures()[one.measure]] = float(one.value)
    return scores


def rank_names(found: Found, expected: Iterable[str]) -> list[str]:
    """Return an id for each passage, best first: its expected names, or else its rank.

    Each name counts once, at its first passage.
    """
    remaining = [name.casefold() for name in dict.fromkeys(expected)]
    ranked: list[str] = []
    for rank, names in enumerate(found, start=1):
        matched = [name for name in remaining if name in names]
        remaining = [name for name in remaining if name not in matched]
        ranked += [f"expected {name}" for name in matched] or [f"other {rank}"]
    return ranked


def unknown_names(chunks: Iterable[Chunk], questions: Iterable[LabelledQuestion]) -> list[str]:
    """Return the expected names that no chunk of the index has, as they are written, in their order."""
    wanted = {name.casefold(): name for labelled in questions for name in labelled.expected}
    for chunk in chunks:
        if not wanted:
            break
        for name in chunk_names(chunk):
            wanted.pop(name, None)
    return list(wanted.values())


def _measures() -> dict[Any, str]:
    from ir_measures import RR, R, nDCG

    return {nDCG @ CUTOFF: "ndcg@10", R @ CUTOFF: "recall@10", RR @ CUTOFF: "mrr@10"}


def _ranks_as_scores(run: Mapping[str, Sequence[str]]) -> dict[str, dict[str, float]]:
    return {query_id: {doc_id: -float(rank) for rank, doc_id in enumerate(ids)} for query_id, ids in run.items()}


# The words of the answer


def strip_marks(text: str, marks: Iterable[str]) -> str:
    """Remove citation ``marks`` from ``text``; links stay, because their words are part of a sentence."""
    for mark in marks:
        if "](" not in mark:
            text = text.replace(mark, "")
    return text


def contains(reply: str, gold: str) -> bool:
    """Whether ``reply`` holds the words of ``gold``, in any case, spacing, quotation marks and Markdown.

    Words and numbers must be whole: "9 %" is not in "19 %" or "0.9 %". Scripts that write no blanks between words have
    no such borders.
    """
    text, wanted = _normalise(reply), _normalise(gold)
    if not wanted:
        return False
    place = text.find(wanted)
    while place >= 0:
        after = text[place + len(wanted) :][:2][::-1]
        if _is_border(text[:place][-2:], wanted[0]) and _is_border(after, wanted[-1]):
            return True
        place = text.find(wanted, place + 1)
    return False


def token_f1(reply: str, gold: str) -> float:
    """Return SQuAD's token F1 (0..1) of ``reply`` against ``gold``; Rajpurkar et al., 2016, their normalisation."""
    said, wanted = squad_tokens(reply), squad_tokens(gold)
    common = (Counter(said) & Counter(wanted)).total()
    return 2 * common / (len(said) + len(wanted)) if common else 0.0


def squad_tokens(text: str) -> list[str]:
    """Return the words in lower case, without ASCII punctuation and English articles, as SQuAD's script does."""
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def _normalise(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).translate(_QUOTES).translate(_MARKDOWN)
    return " ".join(_CELL.sub(" ", text).casefold().split())


def _is_border(beside: str, edge: str) -> bool:
    """Whether a word or number with the outermost character ``edge`` ends there.

    ``beside`` are the two characters next to it, the nearest last.
    """
    if not _is_word_character(edge):
        return True
    is_decimal = beside[-1:] in {".", ","} and beside[:-1].isdigit()
    return not is_decimal and not (beside and _is_word_character(beside[-1]))


def _is_word_character(character: str) -> bool:
    return unicodedata.category(character) in {"Ll", "Lu", "Nd"}
