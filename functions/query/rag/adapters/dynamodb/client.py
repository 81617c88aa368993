"""Calls to DynamoDB: a boto3 client that is made on first use, and its errors as ours.

The client loads its certificate authorities once. botocore hands urllib3 the path of its bundle with each connection,
and urllib3 parses all of it each time, which is nine tenths of a new connection's CPU time. Here they go into
botocore's own SSL context, which stays with the client, so that a snapshot holds it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rag.errors import StoreOutOfReach, StoreUnavailable

logger = logging.getLogger(__name__)

CONNECT_TIMEOUT_S = 1
READ_TIMEOUT_S = 2
TRIES = 2
"""Per call, the first included: few, because the stages that use a store can be skipped."""
THROTTLES = {
    "ProvisionedThroughputExceeded",
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ThrottlingError",
    "ThrottlingException",
}
"""Error codes, and reasons of cancelled transactions, that mean throttling."""


class TransactionCancelled(StoreUnavailable):
    """A transaction changed nothing; ``reasons`` are DynamoDB's codes, one per action."""

    def __init__(self, message: str, reasons: tuple[str, ...]) -> None:
        super().__init__(message)
        self.reasons = reasons


class DynamoDbClient:
    """A boto3 client for any number of threads; without ``endpoint_url`` it finds its endpoint."""

    def __init__(self, endpoint_url: str | None) -> None:
        self._endpoint_url = endpoint_url
        self._lock = threading.Lock()
        self._boto_client: Any = None
        self._connecting: threading.Thread | None = None

    def client(self) -> Any:
        """Return boto3's client, made on first use; no request is sent.

        Raises:
            StoreUnavailable: there is no region, or the endpoint is no URL.
        """
        with self._lock:
            if self._boto_client is None:
                self._boto_client = self._make_client()
            return self._boto_client

    def reset(self) -> None:
        """Close all connections, not while calls are running; boto3's client stays, making it takes 80 ms of CPU."""
        with self._lock:
            if self._boto_client is not None:
                self._boto_client.close()  # closes its connections only; the next call opens others

    def connect(self, probe: Callable[[], object]) -> None:
        """Begin to open a connection, with ``probe``, in a thread; calls wait for it rather than open one each.

        An error of ``probe`` is dropped: the first call meets it again and reports it.
        """

        def work() -> None:
            with suppress(StoreUnavailable):
                probe()

        self._connecting = threading.Thread(target=work, name="store-connect", daemon=True)
        self._connecting.start()

    def call(self, operation: str, **arguments: Any) -> Any:
        """Call boto3's method ``operation``.

        Raises:
            TransactionCancelled: a transaction changed nothing.
            StoreOutOfReach: DynamoDB cannot be reached, or throttles for too long.
            StoreUnavailable: DynamoDB refuses.
        """
        from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

        client = self.client()
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
                raise TransactionCancelled(message, reasons) from exc
            if code in THROTTLES or exc.response["ResponseMetadata"].get("HTTPStatusCode", 500) >= 500:
                raise StoreOutOfReach(message) from exc
            raise StoreUnavailable(message) from exc
        except (BotoCoreError, OSError) as exc:
            raise StoreOutOfReach(f"DynamoDB {operation}: {type(exc).__name__}") from exc

    def _make_client(self) -> Any:
        # Late: only a deployment with a table pays for the import.
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
            # Not boto3's shared session, which must not be used by several threads.
            client = boto3.session.Session().client("dynamodb", endpoint_url=self._endpoint_url, config=config)
        except (BotoCoreError, ValueError) as exc:  # no region or profile, or an endpoint that is no URL
            raise StoreUnavailable(f"DynamoDB client: {type(exc).__name__}") from exc
        _load_authorities_once(client)
        return client


def _load_authorities_once(client: Any) -> None:
    """Load the bundle that ``client`` trusts into its context, and keep connections from loading it again.

    There is no public way. With another botocore the client stays as it is: slower, and as safe. Connections through a
    proxy have contexts of their own and are not changed.
    """
    from botocore.httpsession import get_cert_path  # type: ignore[import-untyped]

    try:
        session = client._endpoint.http_session
        context, verify = session._manager.connection_pool_kw["ssl_context"], session._verify
        set_up = session._setup_ssl_cert
        if not verify or not client.meta.endpoint_url.startswith("https:"):
            return
        context.load_verify_locations(get_cert_path(verify))
    except (AttributeError, KeyError, TypeError, OSError) as exc:
        logger.warning("each connection will load its certificate authorities: %s", type(exc).__name__)
        return

    def set_up_without_bundle(pool: Any, url: str, verify: Any) -> None:
        set_up(pool, url, verify)
        if getattr(pool, "conn_kw", {}).get("ssl_context") is context:
            pool.ca_certs = None

    session._setup_ssl_cert = set_up_without_bundle
