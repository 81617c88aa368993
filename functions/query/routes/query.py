"""The service's own routes: questions in both wordings, feedback, chunks, sample questions, health."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from aws_lambda_powertools.metrics import MetricUnit

from rag.http import requests
from rag.http.replies import (
    chunk_reply,
    passage_reply,
    query_reply,
    question_reply,
    rendered_chunk_reply,
    rendered_reply,
)
from rag.http.schema import FeedbackReply
from rag.values.request import ClaimChecked, Delta, PassagesEvent, Patch, Status
from rag.values.request import Event as Told
from routes.call import HEADERS, Call, Response, json_response
from routes.failures import Failure
from routes.streams import EVENT_STREAM, Events, answer_in_events, event
from telemetry import add_metric, observe

if TYPE_CHECKING:
    from rag.values.question import Question

PROTOCOL = "api"


def post_query(call: Call) -> Response:
    """Answer one question, in server-sent events where the caller accepts them."""
    if EVENT_STREAM in call.header("accept").lower():
        return _post_query_for_events(call)
    question, rendered = requests.parse_shown_query(call.json_text())
    reply = rendered_reply if rendered else query_reply
    answer = call.service.pipeline.run(question, deadline=call.deadline)
    observe(answer, protocol=PROTOCOL)
    return json_response(HTTPStatus.OK, reply(answer))


def post_question(call: Call) -> Response:
    """Answer one question, in the help desk's words."""
    question, debug = requests.parse_question(call.json_text())
    answer = call.service.pipeline.run(question, deadline=call.deadline)
    observe(answer, protocol=PROTOCOL)
    return json_response(HTTPStatus.OK, question_reply(answer, debug=debug))


def post_feedback(call: Call) -> Response:
    """Take a vote on a response."""
    vote = requests.parse_feedback(call.json_text())
    call.service.vote(vote.response_id, helpful=vote.helpful, comment=vote.comment)
    add_metric("FeedbackReceived", MetricUnit.Count, 1)
    return json_response(HTTPStatus.ACCEPTED, FeedbackReply(response_id=vote.response_id).model_dump())


def get_chunk(call: Call, chunk_id: str) -> Response:
    """A chunk, and what in it answers the question that was asked."""
    question = requests.parse_chunk_question(call.parameter("question"))
    rendered = requests.parse_chunk_rendered(call.parameter("rendered"))
    view = call.service.chunk(chunk_id, question)
    reply = rendered_chunk_reply(view, call.service.around(view.chunk)) if rendered else chunk_reply(view)
    return json_response(HTTPStatus.OK, reply)


def get_suggestions(call: Call) -> Response:
    """What a page begins with, for somebody who does not know the index."""
    return json_response(HTTPStatus.OK, call.service.welcome().model_dump(mode="json"))


def get_health(call: Call) -> Response:
    """Is there an index, and who writes?"""
    return json_response(HTTPStatus.OK, call.service.health().model_dump(mode="json"))


def _refusal(failure: Failure) -> Response:
    """An event too, with the status of the failure."""
    body = event(failure.body, "error").decode()
    return Response(int(failure.status), EVENT_STREAM, body, headers={**HEADERS, **failure.headers})


def _post_query_for_events(call: Call) -> Response:
    rendered = False

    def parse() -> Question:
        nonlocal rendered
        question, rendered = requests.parse_shown_query(call.json_text())
        return question

    events = Events(
        begin=b"",
        told=lambda told: _told(told, rendered=rendered),
        end=lambda answer, _: event((rendered_reply if rendered else query_reply)(answer), "answer"),
        failure=lambda failure: event(failure.body, "error"),
        refusal=_refusal,
    )
    return answer_in_events(call, parse, events, protocol=PROTOCOL)


def _told(told: Told, *, rendered: bool) -> bytes:
    match told:
        case Delta(text):
            return event({"text": text}, "delta")
        case Status(stage):
            return event({"stage": stage}, "status")
        case PassagesEvent(passages):
            return event({"references": [passage_reply(passage.hit) for passage in passages]}, "sources")
        case Patch(block, nodes):
            return event({"block": block, "nodes": nodes}, "patch") if rendered else b""
        case ClaimChecked(place, claim, numbers):
            said = {"statement": place, "text": claim.text, "support": claim.support}
            return event({**said, "references": numbers, "score": claim.chance}, "statement")
