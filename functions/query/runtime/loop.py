"""The loop of a Lambda runtime: the handler imported, a snapshot where one is taken, one event after the other."""

from __future__ import annotations

import importlib
import json
import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from routes.gateway import content, prelude, reads_streams

from runtime.api import Invocation, RuntimeApi, RuntimeApiError, StreamedResponse

logger = logging.getLogger(__name__)

type Handler = Callable[[Any, Context], Any]


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler gets beside the event: the managed runtime's names, and where a response can be streamed to."""

    aws_request_id: str
    deadline_ms: int
    response_stream: StreamedResponse | None
    invoked_function_arn: str = ""
    client_context: Any = None
    identity: Any = None
    function_name: str = field(default_factory=lambda: os.environ.get("AWS_LAMBDA_FUNCTION_NAME", ""))
    function_version: str = field(default_factory=lambda: os.environ.get("AWS_LAMBDA_FUNCTION_VERSION", ""))
    memory_limit_in_mb: str = field(default_factory=lambda: os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", ""))
    log_group_name: str = field(default_factory=lambda: os.environ.get("AWS_LAMBDA_LOG_GROUP_NAME", ""))
    log_stream_name: str = field(default_factory=lambda: os.environ.get("AWS_LAMBDA_LOG_STREAM_NAME", ""))

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda ends the call, never negative."""
        return max(0, self.deadline_ms - int(1000 * time.time()))


def run(api: RuntimeApi, handler_name: str, *, once: Callable[[], bool] = lambda: False) -> int:
    """Serve until the environment ends; ``once`` (for tests) says whether to stop before the next event.

    ``handler_name`` is "module.function". The exit status is 1 where the handler cannot be imported or restored.
    """
    try:
        module, _, function = handler_name.rpartition(".")
        handler: Handler = getattr(importlib.import_module(module), function)
    except BaseException as error:
        logger.exception("The handler cannot be imported")
        api.fail("init", error)
        return 1
    if os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE") == "snap-start" and not _restored(api):
        return 1
    while not once():
        serve(api, handler, api.next())
    return 0


def serve(api: RuntimeApi, handler: Handler, invocation: Invocation) -> None:
    """Answer one event: streamed where its stage reads that, else in JSON, as the managed runtime does."""
    response = api.respond(invocation.request_id)
    streams = reads_streams(invocation.event)
    try:
        result = handler(invocation.event, _context(invocation, response if streams else None))
        if not streams:
            api.succeed(invocation.request_id, result)
            return
        if not response.opened:
            response.open_with(prelude(result))
            response.write(content(result))
    except RuntimeApiError:
        raise  # nobody is left to tell
    except Exception as error:
        logger.exception("The handler failed")
        if response.opened:
            _ended(response, error)
        else:
            api.fail(f"invocation/{invocation.request_id}", error)
        return
    _ended(response)


def _context(invocation: Invocation, response: StreamedResponse | None) -> Context:
    headers = invocation.headers
    if trace := headers.get("Lambda-Runtime-Trace-Id"):
        os.environ["_X_AMZN_TRACE_ID"] = trace
    else:
        os.environ.pop("_X_AMZN_TRACE_ID", None)  # that of the event before
    return Context(
        invocation.request_id,
        int(headers.get("Lambda-Runtime-Deadline-Ms") or 0),
        response,
        invoked_function_arn=headers.get("Lambda-Runtime-Invoked-Function-Arn") or "",
        client_context=json.loads(headers.get("Lambda-Runtime-Client-Context") or "null"),
        identity=json.loads(headers.get("Lambda-Runtime-Cognito-Identity") or "null"),
    )


def _ended(response: StreamedResponse, error: Exception | None = None) -> None:
    try:
        response.end(error)
    except RuntimeApiError as gone:  # the caller, or Lambda, did not wait: nobody is left to tell
        logger.warning("A response was not taken: %s", gone)


def _restored(api: RuntimeApi) -> bool:
    """Run the hooks around the snapshot; whether all went well."""
    try:
        from snapshot_restore_py import get_after_restore, get_before_snapshot

        for hook, args, kwargs in reversed(get_before_snapshot()):
            hook(*args, **kwargs)
    except BaseException as error:
        logger.exception("A hook before the snapshot failed")
        api.fail("init", error)
        return False
    api.restore_next()
    try:
        for hook, args, kwargs in get_after_restore():
            hook(*args, **kwargs)
    except BaseException as error:
        logger.exception("A hook after the restore failed")
        api.fail("restore", error)
        return False
    return True
