"""The service's own routes: questions in both wordings, feedback, chunks, sample questions, health."""

from __future__ import annotations

from http import HTTPStatus

from aws_lambda_powertools.metrics import MetricUnit

from rag.errors import InvalidParameter
from rag.http import replies, requests
from rag.http.schema import FeedbackReply, FeedbackRequest, QueryReply, QueryRequest, QuestionRequest
from rag.text.template import replace_surrogates
from rag.values.answer import Answer, Reference
from rag.values.request import ClaimChecked, Delta, Event, PassagesEvent, Patch, Status
from routes.call import HEADERS, Call, json_response
from routes.gateway import Response, text_response
from routes.streams import EVENT_STREAM, EventFormat, answer_in_events, server_sent_event
from telemetry import add_metric

MAX_CHUNK_QUESTION_CHARS = 2000
"""Limit of the question whose answer a chunk shows."""
PASSAGE_FIELDS = {"chunk_id", "title", "section", "url", "doc_id"}
"""Fields of a passage in the event ``sources``, which comes before the answer."""


def post_query(call: Call) -> Response:
    """Answer one question, in server-sent events if the caller accepts them."""
    if EVENT_STREAM in call.header("accept").lower():
        return _post_query_for_events(call)
    request = requests.parse_request(QueryRequest, call.json_text())
    answer = call.answer(requests.read_question(request))
    return json_response(HTTPStatus.OK, _answer_reply(answer, rendered=request.rendered is True))


def post_question(call: Call) -> Response:
    """Answer one question of a help desk's client."""
    request = requests.parse_request(QuestionRequest, call.json_text())
    answer = call.answer(requests.read_question(request))
    return json_response(HTTPStatus.OK, replies.question_reply(answer, debug=request.debug is True))


def post_feedback(call: Call) -> Response:
    """Store a vote on a response."""
    vote = requests.parse_request(FeedbackRequest, call.json_text())
    call.service.vote(vote.response_id, helpful=vote.helpful, comment=vote.comment)
    add_metric("FeedbackReceived", MetricUnit.Count, 1)
    return json_response(HTTPStatus.ACCEPTED, FeedbackReply(response_id=vote.response_id))


def get_chunk(call: Call, chunk_id: str) -> Response:
    """Show a chunk, and its parts that answer the question, if the request has one."""
    parameters = call.event.query_string_parameters
    question, rendered = parameters.get("question") or "", parameters.get("rendered")
    if len(question) > MAX_CHUNK_QUESTION_CHARS:
        raise InvalidParameter(f"question must be text of at most {MAX_CHUNK_QUESTION_CHARS} characters")
    if rendered not in {None, "true", "false"}:
        raise InvalidParameter("rendered must be true or false")
    view = call.service.chunk(chunk_id, replace_surrogates(question) if question.strip() else None)
    if rendered != "true":
        return json_response(HTTPStatus.OK, replies.chunk_reply(view))
    return json_response(HTTPStatus.OK, replies.rendered_chunk_reply(view, *call.service.adjacent_chunks(view.chunk)))


def get_suggestions(call: Call) -> Response:
    """Return sample questions and the other texts of an empty page."""
    return json_response(HTTPStatus.OK, call.service.welcome())


def get_health(call: Call) -> Response:
    """Describe the index and the model."""
    return json_response(HTTPStatus.OK, call.service.health())


def _post_query_for_events(call: Call) -> Response:
    try:
        request = requests.parse_request(QueryRequest, call.json_text())
        rendered = request.rendered is True
        events = EventFormat(
            begin=b"",
            encode=lambda event: _encode(event, rendered=rendered),
            end=lambda answer, _: server_sent_event(_answer_reply(answer, rendered=rendered), "answer"),
            failure=lambda failure: server_sent_event(failure.body, "error"),
        )
        return answer_in_events(call, requests.read_question(request), events)
    except Exception as error:  # noqa: BLE001 - the caller gets an event for every error
        failure = call.report(error)
        body = server_sent_event(failure.body, "error").decode()
        return text_response(failure.status, EVENT_STREAM, body, {**HEADERS, **failure.headers})


def _answer_reply(answer: Answer, *, rendered: bool) -> QueryReply:
    return replies.rendered_reply(answer) if rendered else replies.query_reply(answer)


def _encode(event: Event, *, rendered: bool) -> bytes:
    match event:
        case Delta(text):
            return server_sent_event({"text": text}, "delta")
        case Status(stage):
            return server_sent_event({"stage": stage}, "status")
        case PassagesEvent(passages):
            references = [replies.reference_reply(Reference(n=0, hit=passage.hit)) for passage in passages]
            fields = [reference.model_dump(mode="json", include=PASSAGE_FIELDS) for reference in references]
            return server_sent_event({"references": fields}, "sources")
        case Patch(block, nodes):
            return server_sent_event({"block": block, "nodes": nodes}, "patch") if rendered else b""
        case ClaimChecked(place, claim, numbers):
            body = {
                "statement": place,
                "text": claim.text,
                "support": claim.support,
                "references": numbers,
                "score": claim.chance,
            }
            return server_sent_event(body, "statement")
