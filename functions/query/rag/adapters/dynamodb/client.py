"""Calls to DynamoDB: a client made on first use, and its errors in our words."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rag.adapters.dynamodb.tls import load_authorities_once
from rag.errors import StoreOutOfReach, StoreUnavailable

CONNECT_TIMEOUT_S = 1
READ_TIMEOUT_S = 2
TRIES = 2
"""Per call, the first included. The stages that stand on this can be skipped: better soon than late."""
THROTTLES = {
    "ProvisionedThroughputExceeded",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ThrottlingError",
    "ThrottlingException",
}
"""Codes of errors, and reasons of cancelled transactions, that say: too much at once."""


class Cancelled(StoreUnavailable):
    """A transaction changed nothing. ``reasons`` are DynamoDB's codes, one a part."""

    def __init__(self, message: str, reasons: tuple[str, ...]) -> None:
        super().__init__(message)
        self.reasons = reasons


class DynamoDbClient:
    """An account's DynamoDB. ``region`` and ``endpoint_url`` default to what boto3 finds.

    Serves any number of threads.
    """

    def __init__(self, *, region: str | None, endpoint_url: str | None) -> None:
        self._region = region
        self._endpoint_url = endpoint_url
        self._lock = threading.Lock()
        self._made: Any = None
        self._connecting: threading.Thread | None = None

    def warm(self) -> None:
        """Make boto3's client now; nobody is called.

        Raises:
            StoreUnavailable: it cannot be made: no region, no such endpoint.
        """
        self._client()

    def reset(self) -> None:
        """Close all connections; boto3's client stays, it takes 80 ms of CPU.

        Not while calls are under way.
        """
        with self._lock:
            if self._made is not None:
                self._made.close()  # its connections alone: it opens new ones

    def connect(self, probe: Callable[[], object]) -> None:
        """Begin to open a connection, with ``probe``, in a thread; calls wait for it rather than open one each.

        What ``probe`` raises says the first call again, to somebody who can be told.
        """

        def work() -> None:
            with suppress(StoreUnavailable):
                probe()

        self._connecting = threading.Thread(target=work, name="store-connect", daemon=True)
        self._connecting.start()

    def call(self, operation: str, **arguments: Any) -> Any:
        """boto3's ``operation`` (its method's name) with these arguments.

        Raises:
            Cancelled: it was a transaction, and changed nothing.
            StoreOutOfReach: it cannot be reached, or throttles for too long.
            StoreUnavailable: it refuses.
        """
        from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

        client = self._client()
        if (connecting := self._connecting) and connecting is not threading.current_thread():
            connecting.join(CONNECT_TIMEOUT_S)
            self._connecting = None
        try:
            return getattr(client, operation)(**arguments)
        except ClientError as exc:
            code = exc.response["Error"].get("Code", "")
            message = f"DynamoDB {operation}: {code}"
            if code == "TransactionCanceledException":
                reasons = tuple(reason.get("Code", "") for reason in exc.response.get("CancellationReasons", ()))
                if THROTTLES.intersection(reasons):
                    raise StoreOutOfReach(message) from exc
                raise Cancelled(message, reasons) from exc
            if code in THROTTLES or exc.response["ResponseMetadata"].get("HTTPStatusCode", 500) >= 500:
                raise StoreOutOfReach(message) from exc
            raise StoreUnavailable(message) from exc
        except (BotoCoreError, OSError) as exc:
            raise StoreOutOfReach(f"DynamoDB {operation}: {type(exc).__name__}") from exc

    def _client(self) -> Any:
        with self._lock:
            if self._made is None:
                self._made = self._make_client()
            return self._made

    def _make_client(self) -> Any:
        # Lambda's runtime brings boto3, and only who has a table pays for its import.
        import boto3  # type: ignore[import-untyped]
        from botocore.config import Config  # type: ignore[import-untyped]
        from botocore.exceptions import BotoCoreError

        config = Config(
            connect_timeout=CONNECT_TIMEOUT_S,
            read_timeout=READ_TIMEOUT_S,
            retries={"mode": "standard", "total_max_attempts": TRIES},
            tcp_keepalive=True,
        )
        try:
            # A session of its own: boto3's shared one must not be used by several threads.
            client = boto3.session.Session().client(
                "dynamodb", region_name=self._region, endpoint_url=self._endpoint_url, config=config
            )
        except (BotoCoreError, ValueError) as exc:  # no region, no such profile, an endpoint that is no URL
            raise StoreUnavailable(f"DynamoDB client: {type(exc).__name__}") from exc
        load_authorities_once(client)
        return client
