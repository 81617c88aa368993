"""The loop of a Lambda runtime: import the handler, run the snapshot's hooks, answer one event after the other."""

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

from runtime.api import PendingInvocation, RuntimeApi, RuntimeApiError, StreamedResponse

logger = logging.getLogger(__name__)

type Handler = Callable[[Any, InvocationContext], Any]


@dataclass(frozen=True, slots=True)
class InvocationContext:
    """A handler's second argument: the managed runtime's fields, and a stream for the response."""

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
        """Return the milliseconds until Lambda ends the call, never negative."""
        return max(0, self.deadline_ms - int(1000 * time.time()))


def run(api: RuntimeApi, handler_name: str) -> int:
    """Serve until the environment ends.

    ``handler_name`` is "module.function". Returns the exit status 1 if the handler cannot be imported or restored.

    Raises:
        RuntimeApiError: the Runtime API failed.
    """
    try:
        module, _, function = handler_name.rpartition(".")
        handler: Handler = getattr(importlib.import_module(module), function)
    except BaseException as error:
        logger.exception("The handler cannot be imported")
        api.fail("init", error)
        return 1
    if os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE") == "snap-start" and not _run_snapshot_hooks(api):
        return 1
    while True:
        serve(api, handler, api.next())


def serve(api: RuntimeApi, handler: Handler, invocation: PendingInvocation) -> None:
    """Answer one event: as a stream if its stage reads that, else in JSON, as the managed runtime does."""
    response = api.respond(invocation.request_id)
    streams = reads_streams(invocation.event)
    failure = None
    try:
        result = handler(invocation.event, _context(invocation, response if streams else None))
        if not streams:
            api.succeed(invocation.request_id, result)
            return
        if not response.opened:
            response.open_with(prelude(result))
            response.write(content(result))
    except RuntimeApiError:
        raise  # the Runtime API itself failed
    except Exception as error:
        logger.exception("The handler failed")
        if not response.opened:
            api.fail(f"invocation/{invocation.request_id}", error)
            return
        failure = error
    try:
        response.end(failure)
    except RuntimeApiError as refused:  # the caller, or Lambda, did not wait
        logger.warning("A response was not taken: %s", refused)


def _context(invocation: PendingInvocation, response: StreamedResponse | None) -> InvocationContext:
    headers = invocation.headers
    if trace := headers.get("Lambda-Runtime-Trace-Id"):
        os.environ["_X_AMZN_TRACE_ID"] = trace
    else:
        os.environ.pop("_X_AMZN_TRACE_ID", None)  # the previous event's
    return InvocationContext(
        invocation.request_id,
        int(headers.get("Lambda-Runtime-Deadline-Ms") or 0),
        response,
        invoked_function_arn=headers.get("Lambda-Runtime-Invoked-Function-Arn") or "",
        client_context=json.loads(headers.get("Lambda-Runtime-Client-Context") or "null"),
        identity=json.loads(headers.get("Lambda-Runtime-Cognito-Identity") or "null"),
    )


def _run_snapshot_hooks(api: RuntimeApi) -> bool:
    """Run the hooks around the snapshot; return whether all succeeded."""
    stage = "init"
    try:
        from snapshot_restore_py import get_after_restore, get_before_snapshot

        for hook, args, kwargs in reversed(get_before_snapshot()):
            hook(*args, **kwargs)
        api.restore_next()
        stage = "restore"
        for hook, args, kwargs in get_after_restore():
            hook(*args, **kwargs)
    except RuntimeApiError:
        raise  # the Runtime API itself failed
    except BaseException as error:
        logger.exception("A snapshot hook failed in the stage %s", stage)
        api.fail(stage, error)
        return False
    return True
