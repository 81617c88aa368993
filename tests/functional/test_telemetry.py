"""Logs and metrics: what is counted, how it is told apart, and what must never be written down."""

import json
import re
from pathlib import Path

import pytest
from fakes_llm import LlmServer, Step, error, model_not_found, only_models, reply
from functional.harness import API_KEY, IN_SCOPE, OUT_OF_SCOPE, REQUEST_ID, Api, Json, Reply, Start, post, run_apart

MARKER = "XQZZY-4711"
TIMED = ("RetrievalMs", "GenerationMs", "CitationMs", "TotalMs")
COUNTED = (
    "NoResults", "LlmCalls", "LlmRetries", "PromptTokens", "CompletionTokens", "UnsupportedStatements",
    "IncompleteAnswers",
)  # fmt: skip


def units(line: Json) -> dict[str, str]:
    """The metrics that a line declares, with their units."""
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    return {metric["Name"]: metric["Unit"] for metric in directive["Metrics"]}


def answer_metrics(reply: Reply) -> Json:
    """The one metric line about an answer, values unwrapped."""
    (line,) = [line for line in reply.metrics if "TotalMs" in line]
    return {name: value[0] if isinstance(value, list) else value for name, value in line.items()}


def test_an_answer_s_metrics(api: Api) -> None:
    result = api.ask(IN_SCOPE)
    (line,) = [line for line in result.metrics if "TotalMs" in line]
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "RagService"
    assert [sorted(names) for names in directive["Dimensions"]] == [["profile", "service"]]
    assert (line["profile"], line["service"]) == ("waypoint", "query")
    assert units(line) == {**dict.fromkeys(TIMED, "Milliseconds"), **dict.fromkeys(COUNTED, "Count")}
    metrics = answer_metrics(result)
    timings = result.json["metadata"]["timings"]
    assert all(metrics[name] == pytest.approx(timings[name[0].lower() + name[1:]], abs=0.006) for name in TIMED)
    assert [metrics[name] for name in ("NoResults", "LlmCalls", "LlmRetries", "PromptTokens")] == [0, 0, 0, 0]
    decline = answer_metrics(api.ask(OUT_OF_SCOPE))
    assert (decline["NoResults"], decline["GenerationMs"]) == (1, 0)


def test_every_metric_goes_to_the_namespace_that_the_stack_names(start: Start) -> None:
    api = start(POWERTOOLS_METRICS_NAMESPACE="RagService/prod")
    lines = api.ask(IN_SCOPE).metrics + api.call(post("{")).metrics
    named = {metric for line in lines for metric in units(line)}
    assert {"TotalMs", "Answers", "Errors"} <= named
    assert {one["Namespace"] for line in lines for one in line["_aws"]["CloudWatchMetrics"]} == {"RagService/prod"}


def test_calls_retries_and_tokens_are_counted(with_llm: Start) -> None:
    metrics = answer_metrics(with_llm(error(500), error(429, retry_after=0), reply("Yes.")).ask(IN_SCOPE))
    assert (metrics["LlmCalls"], metrics["LlmRetries"]) == (3, 2)
    assert (metrics["PromptTokens"], metrics["CompletionTokens"]) == (12, 5)
    assert metrics["NoResults"] == 0
    # A change of model is a call but no retry.
    metrics = answer_metrics(with_llm(only_models("openai/gpt-oss-20b"), LLM_MODEL="gone").ask(IN_SCOPE))
    assert (metrics["LlmCalls"], metrics["LlmRetries"]) == (2, 0)


@pytest.mark.parametrize(
    ("trouble", "fallback", "status"),
    [(error(401), "none", 503), (model_not_found("m"), "extractive", 200)],
    ids=["a refused key", "a model that is none"],
)
def test_what_only_the_operator_can_mend_is_counted_whoever_answers(
    with_llm: Start, trouble: Step, fallback: str, status: int
) -> None:
    result = with_llm(trouble, LLM_FALLBACK=fallback, LLM_FALLBACK_MODELS="").ask(IN_SCOPE)
    assert result.status == status
    assert [line["LlmDenied"] for line in result.metrics if "LlmDenied" in line] == [[1.0]]


def test_a_key_that_cannot_be_sent_is_the_operator_s_too(start: Start) -> None:
    with LlmServer([reply("Yes.")]) as server:
        result = start(LLM_BASE_URL=server.url, LLM_API_KEY="sk-\N{BULLET}", LLM_FALLBACK="extractive").ask(IN_SCOPE)
        assert server.requests == []
    assert [line["LlmDenied"] for line in result.metrics if "LlmDenied" in line] == [[1.0]]


@pytest.mark.parametrize("trouble", [error(500), error(400)])
def test_what_passes_or_is_the_request_s_fault_is_not_the_operator_s(with_llm: Start, trouble: Step) -> None:
    result = with_llm(trouble, LLM_MAX_RETRIES="0").ask(IN_SCOPE)
    assert result.status >= 500
    assert not [line for line in result.metrics if "LlmDenied" in line]


def test_skipped_stages_are_counted_by_stage_and_all_together(start: Start, tmp_path: Path) -> None:
    """An alarm needs one metric with known dimensions; the dashboard wants to know which stage it was."""
    result = start(STORE_PATH=str(tmp_path)).ask(IN_SCOPE)
    skipped = result.json["metadata"]["skipped"]
    assert [line["stage"] for line in result.metrics if "SoftFailures" in line] == skipped != []
    assert answer_metrics(result)["IncompleteAnswers"] == 1


def test_an_error_is_counted_by_its_code_which_does_not_stick_to_the_next_answer(api: Api) -> None:
    result = api.call(post("{"))
    (line,) = [line for line in result.metrics if "Errors" in line]  # the first call counts its cold start too
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert [sorted(names) for names in directive["Dimensions"]] == [["code", "profile", "service"]]
    assert (line["code"], line["profile"], line["service"]) == (result.json["code"], "waypoint", "query")
    assert (line["Errors"], units(line)) == ([1.0], {"Errors": "Count"})
    assert not {"code", "Errors"} & set(answer_metrics(api.ask(IN_SCOPE)))


def test_log_lines_carry_the_request_s_id_and_the_answer_s(api: Api) -> None:
    result = api.ask(IN_SCOPE)
    (line,) = result.logs
    assert (line["level"], line["correlation_id"], line["service"]) == ("INFO", REQUEST_ID, "query")
    assert line["response_id"] == result.json["responseId"]
    assert (line["refused"], line["model"]) == (False, "extractive")
    assert line["citations"] == len(result.json["citations"])
    # Lambda takes the level of a line whose timestamp is not RFC 3339 for INFO.
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+]00:00)", line["timestamp"])


def test_our_own_failures_are_errors_and_the_caller_s_are_not(with_llm: Start) -> None:
    api = with_llm(error(400))
    ours, theirs = api.ask(IN_SCOPE), api.ask("")
    (line,) = [line for line in ours.logs if line["level"] == "ERROR"]
    told = (line["correlation_id"], line["code"], line["exception_name"])
    assert told == (REQUEST_ID, "llm_unavailable", "LlmUnavailable")
    assert {line["level"] for line in theirs.logs} == {"INFO"}


def test_no_word_of_question_or_answer_is_logged(with_llm: Start) -> None:
    """Whatever happens to the question: answered, declined, refused at the door, failed."""
    api = with_llm(reply(f"Yes, {MARKER}."), error(400), error(500), error(401, message=MARKER), LLM_MAX_RETRIES="0")
    replies = [
        *(api.ask(f"{IN_SCOPE} {MARKER}") for _ in range(4)),
        api.ask(f"{OUT_OF_SCOPE} {MARKER}"),
        api.ask(MARKER * 101),
        api.ask(MARKER, sessionId=MARKER),
        api.ask(MARKER, topK=MARKER),
        api.ask(MARKER, filters={MARKER: MARKER}),
        api.ask(MARKER, filters={"category": {MARKER: 1}}),
        api.call(post(f'{{"query": "{MARKER}')),
        api.call(post({"query": [MARKER]})),
        api.ask(MARKER, threshold=2),
    ]
    assert [reply.status for reply in replies] == [200, 503, 503, 503, 200, 400, 400, 400, 400, 400, 400, 400, 400]
    calm = [line for reply in replies for line in reply.logs if line["level"] in {"DEBUG", "INFO"}]
    assert len(calm) >= 10
    assert MARKER not in json.dumps(calm)
    assert all(MARKER not in json.dumps(reply.metrics) for reply in replies)
    # The question stays out of error lines too.
    assert "import customs clearance" not in api.output
    assert API_KEY not in api.output


def usual(index: Path, server: LlmServer) -> dict[str, str]:
    return {"INDEX_URI": str(index), "RAG_PROFILE": "waypoint", "LLM_BASE_URL": server.url}


@pytest.mark.slow
def test_at_debug_no_library_writes_what_was_asked(waypoint_index: Path) -> None:
    """As Lambda's runtime starts the function with LogLevel=DEBUG: every logger at DEBUG, a handler at the root."""
    script = f"""
import boto3, json
from awslambdaric import bootstrap
from functional.harness import Context, post
from moto import mock_aws
with mock_aws():
    boto3.client("secretsmanager").create_secret(Name="key", SecretString={API_KEY!r})
    boto3.client("dynamodb").create_table(
        TableName="table", BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[dict(AttributeName=name, AttributeType="S") for name in ("pk", "sk")],
        KeySchema=[dict(AttributeName="pk", KeyType="HASH"), dict(AttributeName="sk", KeyType="RANGE")])
    bootstrap._setup_logging(
        bootstrap._AWS_LAMBDA_LOG_FORMAT, bootstrap._AWS_LAMBDA_LOG_LEVEL, bootstrap.StandardLogSink())
    import app, telemetry
    replies = [app.lambda_handler(post(body), Context())["statusCode"]
               for body in ({{"query": {IN_SCOPE + " " + MARKER!r}}}, {{"query": {OUT_OF_SCOPE + " " + MARKER!r}}})]
stored = app.service.stores is not None
print(json.dumps({{"replies": replies, "level": telemetry.logger.log_level, "table": stored}}))
"""
    with LlmServer([reply(f"Yes, {MARKER}.")]) as server:
        on_lambda = {"AWS_LAMBDA_LOG_FORMAT": "JSON", "AWS_LAMBDA_LOG_LEVEL": "DEBUG"}
        named = {"AWS_DEFAULT_REGION": "eu-central-1", "LLM_SECRET_NAME": "key", "TABLE_NAME": "table"}
        done = run_apart(script, env={**usual(waypoint_index, server), **on_lambda, **named})
    lines: list[Json] = [json.loads(line) for line in done.stdout.splitlines() if line]
    assert lines[-1] == {"replies": [200, 200], "level": 10, "table": True}
    assert (MARKER in done.stdout, API_KEY in done.stdout, "commercial invoice" in done.stdout) == (False,) * 3
    assert [line["message"] for line in lines if line.get("level") == "INFO"] == ["answered", "answered"]


@pytest.mark.slow
def test_everything_that_a_cold_process_writes_is_json(waypoint_index: Path) -> None:
    """A retry, a change of model, a failure, a health check: each line can be searched by its correlation id."""
    script = f"""
import json
from functional.harness import Context, post, rest_event
import app
event = post({{"query": {IN_SCOPE!r}}})
replies = [
    app.lambda_handler(e, Context())["statusCode"]
    for e in (rest_event("GET", "/api/health"), event, event, post({{"query": {OUT_OF_SCOPE!r}}}), post("{{"))
]
print(json.dumps({{"replies": replies}}))
"""
    with LlmServer([error(500), only_models("openai/gpt-oss-20b"), reply("Yes."), error(400)]) as server:
        retried = {"LLM_API_KEY": API_KEY, "LLM_BACKOFF_BASE_S": "0.001", "LLM_FALLBACK_MODELS": "openai/gpt-oss-20b"}
        done = run_apart(script, env={**usual(waypoint_index, server), **retried})
    assert done.stderr == ""
    lines: list[Json] = [json.loads(line) for line in done.stdout.splitlines() if line]
    assert lines[-1] == {"replies": [200, 200, 503, 200, 400]}
    logs = [line for line in lines[:-1] if "_aws" not in line]
    assert [line["level"] for line in logs] == ["WARNING", "WARNING", "INFO", "WARNING", "ERROR", "INFO", "INFO"]
    assert {line["correlation_id"] for line in logs} == {REQUEST_ID}
    assert API_KEY not in done.stdout
    # The cold start is counted once, with the first request.
    assert [line["ColdStart"] for line in lines if "ColdStart" in line] == [[1.0]]
    (cold,) = [line for line in lines if "ColdStart" in line]
    assert (cold["_aws"]["CloudWatchMetrics"][0]["Namespace"], cold["service"]) == ("RagService", "query")
    assert (logs[0]["cold_start"], logs[-1]["cold_start"]) == (False, False)
