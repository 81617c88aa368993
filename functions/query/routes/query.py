"""The service's own routes: questions in both wordings, feedback, chunks, sample questions, health."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from aws_lambda_powertools.metrics import MetricUnit

from rag.http import replies, requests
from rag.http.schema import FeedbackReply, FeedbackRequest, QueryReply, QueryRequest, QuestionRequest
from rag.values.answer import Answer, Reference
from rag.values.request import ClaimChecked, Delta, Event, PassagesEvent, Patch, Status
from routes.call import HEADERS, Call, Response, json_response
from routes.streams import EVENT_STREAM, EventFormat, answer_in_events, server_sent_event
from telemetry import add_metric

if TYPE_CHECKING:
    from rag.http.failures import HttpFailure
    from rag.values.question import Question

PROTOCOL = "api"
PASSAGE_FIELDS = {"chunk_id", "title", "section", "url", "doc_id"}
"""Fields of a passage in the event ``sources``, which comes before the answer."""


def post_query(call: Call) -> Response:
    """Answer one question, in server-sent events if the caller accepts them."""
    if EVENT_STREAM in call.header("accept").lower():
        return _post_query_for_events(call)
    request = requests.parse_request(QueryRequest, call.json_text())
    answer = call.answer(requests.read_question(request), protocol=PROTOCOL)
    return json_response(HTTPStatus.OK, _answer_reply(answer, rendered=request.rendered is True))


def post_question(call: Call) -> Response:
    """Answer one question of a help desk's client."""
    request = requests.parse_request(QuestionRequest, call.json_text())
    answer = call.answer(requests.read_question(request), protocol=PROTOCOL)
    return json_response(HTTPStatus.OK, replies.question_reply(answer, debug=request.debug is True))


def post_feedback(call: Call) -> Response:
    """Store a vote on a response."""
    vote = requests.parse_request(FeedbackRequest, call.json_text())
    call.service.vote(vote.response_id, helpful=vote.helpful, comment=vote.comment)
    add_metric("FeedbackReceived", MetricUnit.Count, 1)
    return json_response(HTTPStatus.ACCEPTED, FeedbackReply(response_id=vote.response_id))


def get_chunk(call: Call, chunk_id: str) -> Response:
    """Show a chunk, and its parts that answer the question, if the request has one."""
    question = requests.parse_chunk_question(call.parameter("question"))
    rendered = requests.parse_chunk_rendered(call.parameter("rendered"))
    view = call.service.chunk(chunk_id, question)
    if not rendered:
        return json_response(HTTPStatus.OK, replies.chunk_reply(view))
    return json_response(HTTPStatus.OK, replies.rendered_chunk_reply(view, *call.service.adjacent_chunks(view.chunk)))


def get_suggestions(call: Call) -> Response:
    """Return sample questions and the other texts of an empty page."""
    return json_response(HTTPStatus.OK, call.service.welcome())


def get_health(call: Call) -> Response:
    """Describe the index and the model."""
    return json_response(HTTPStatus.OK, call.service.health())


def _post_query_for_events(call: Call) -> Response:
    rendered = False

    def parse() -> Question:
        nonlocal rendered
        request = requests.parse_request(QueryRequest, call.json_text())
        rendered = request.rendered is True
        return requests.read_question(request)

    def refusal(failure: HttpFailure) -> Response:
        body = server_sent_event(failure.body, "error").decode()
        return Response(int(failure.status), EVENT_STREAM, body, headers={**HEADERS, **failure.headers})

    events = EventFormat(
        begin=b"",
        encode=lambda event: _encode(event, rendered=rendered),
        end=lambda answer, _: server_sent_event(_answer_reply(answer, rendered=rendered), "answer"),
        failure=lambda failure: server_sent_event(failure.body, "error"),
        refusal=refusal,
    )
    return answer_in_events(call, parse, events, protocol=PROTOCOL)


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
