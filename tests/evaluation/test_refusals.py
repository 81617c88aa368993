"""Refusals as models word them: how many the contract sees, and whether those that it does not see do harm.

``golden/refusals.jsonl`` holds wordings of several model families, written down by reviewers. Models are told to begin
with the decline sentence; most of these do not, which is why they were written down.
"""

import re

from evaluation.rates import REPOSITORY, json_lines, report

from rag.answer.confidence import cap_confidence
from rag.answer.finish import FinishedAnswer
from rag.contract import begins_with_decline
from rag.profiles import clockify, waypoint
from rag.values.answer import Confidence

WORDINGS = json_lines(REPOSITORY / "tests" / "golden" / "refusals.jsonl")
REFUSALS = [str(wording["answer"]) for wording in WORDINGS if wording["refusal"]]
ANSWERS = [str(wording["answer"]) for wording in WORDINGS if not wording["refusal"]]
DECLINES = (waypoint.WaypointSettings.decline, clockify.DECLINE)
_CITES = re.compile(r"\[[^\[\]]+\]|\u3010[^\u3010\u3011]+\u3011|https?://|\(source:", re.IGNORECASE)


def _refused(text: str) -> bool:
    return any(begins_with_decline(text, decline) for decline in DECLINES)


def _confident(text: str) -> bool:
    """Whether ``text``, its citations taken for valid, could come back as anything but Low."""
    marks = len(_CITES.findall(text))
    answer = FinishedAnswer(text=text, nodes=(), refused=False, cited=marks)
    return cap_confidence(Confidence("High", 100.0, ""), answer).level != "Low"


def test_no_answer_is_taken_for_a_refusal() -> None:
    report("answers that stay answers", sum(not _refused(text) for text in ANSWERS), len(ANSWERS), 0.99)


def test_refusals_in_other_words_are_rarely_more_than_low() -> None:
    seen = sum(map(_refused, REFUSALS))
    harmless = sum(_refused(text) or not _confident(text) for text in REFUSALS)
    report("refusals that begin with the decline sentence", seen, len(REFUSALS), 0.0)
    report("refusals that are seen, or cite nothing and so are Low", harmless, len(REFUSALS), 0.7)
