"""The storage port on one DynamoDB table: batches, paging, conflicts and expiry, by a boto3 client made on first use.

The table has the string keys ``pk`` and ``sk``, TTL on ``expiresAt`` and on-demand capacity. TTL deletes up to two days
late, so reads leave out expired items. Reads are strongly consistent: a vote, an eviction or a turn holds for the
next request.

The function has the rights ``IAM_ACTIONS`` on this table alone. A transaction needs the rights of its parts only;
``scan`` needs dynamodb:Scan, which the function does not have.

The client loads its certificate authorities once. botocore hands urllib3 the path of its bundle with each connection,
and urllib3 parses all of it each time, which is nine tenths of a new connection's CPU time. Here they go into
botocore's own SSL context, which stays with the client, so that a snapshot holds it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from itertools import batched, islice
from typing import Any

from rag.adapters.stores.table import Swap, SwapConflict, Table, TableItem, TableKey
from rag.adapters.time_limit import run_in_thread
from rag.errors import StoreOutOfReach, StoreUnavailable

logger = logging.getLogger(__name__)

IAM_ACTIONS = (
    "dynamodb:BatchGetItem",
    "dynamodb:BatchWriteItem",
    "dynamodb:DeleteItem",
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "dynamodb:Query",
)

PAUSES_S = (0.05, 0.15, 0.4)
"""Between the tries of a batch's unprocessed items, or of a transaction that conflicts with another."""

GET_BATCH, WRITE_BATCH = 100, 25
"""Items in one call, DynamoDB's limits."""

_KINDS: Mapping[type, str] = {bool: "BOOL", str: "S", bytes: "B"}

CONCURRENT_QUERIES = 3
"""Each further one may open a connection; docs/evidence/benchmarks.md has the cost."""

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


class DynamoDbTable(Table):
    """See ``rag.adapters.stores.table.Table``. Without ``endpoint_url`` boto3 finds its endpoint."""

    def __init__(
        self,
        name: str,
        *,
        endpoint_url: str | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.clock = clock
        self._name = name
        self._client = DynamoDbClient(endpoint_url)
        self._sleep = sleep

    def warm(self) -> None:
        self._client.client()

    def renew(self) -> None:
        """Close all connections and begin to open a new one, with a read of an item that does not exist."""
        self._client.reset()
        nothing = marshal_key(TableKey("connect", "connect"))
        self._client.connect("get_item", TableName=self._name, Key=nothing, ConsistentRead=True)

    def get(self, key: TableKey) -> TableItem | None:
        answer = self._client.call("get_item", TableName=self._name, Key=marshal_key(key), ConsistentRead=True)
        found = self._unexpired(map(unmarshal, [answer["Item"]] if "Item" in answer else []))
        return found[0] if found else None

    def get_many(self, keys: Iterable[TableKey]) -> list[TableItem]:
        found: list[TableItem] = []
        for batch in batched(dict.fromkeys(keys), GET_BATCH):
            wanted = {self._name: {"Keys": [marshal_key(key) for key in batch], "ConsistentRead": True}}
            for answer in self._send_batch("batch_get_item", wanted):
                found += map(unmarshal, answer["Responses"].get(self._name, []))
        return self._unexpired(found)

    def newest(self, pk: str, *, prefix: str, limit: int) -> list[TableItem]:
        pages = self._pages(
            "query",
            KeyConditionExpression="pk = :pk AND begins_with(sk, :prefix)",
            values={":pk": pk, ":prefix": prefix},
            ScanIndexForward=False,
            Limit=limit,  # of a page; there is another one only after 1 MB
        )
        return self._unexpired(islice(pages, limit))

    def newest_of_each(self, pks: Sequence[str], *, prefix: str, limit: int) -> list[list[TableItem]]:
        with ThreadPoolExecutor(CONCURRENT_QUERIES) as threads:
            return list(threads.map(partial(self.newest, prefix=prefix, limit=limit), pks))

    def list_partition(self, pk: str) -> list[TableItem]:
        return list(self._pages("query", KeyConditionExpression="pk = :pk", values={":pk": pk}))

    def scan(self, *, prefix: str, text: str) -> list[TableItem]:
        values = {":prefix": prefix, ":text": text}
        condition = "begins_with(pk, :prefix) AND contains(body, :text)"
        return list(self._pages("scan", FilterExpression=condition, values=values))

    def put(self, item: TableItem) -> None:
        self._client.call("put_item", TableName=self._name, Item=marshal_item(item))

    def put_many(self, items: Iterable[TableItem]) -> None:
        self._write({"PutRequest": {"Item": marshal_item(item)}} for item in items)

    def delete(self, key: TableKey) -> None:
        self._client.call("delete_item", TableName=self._name, Key=marshal_key(key))

    def delete_many(self, keys: Iterable[TableKey]) -> None:
        self._write({"DeleteRequest": {"Key": marshal_key(key)}} for key in dict.fromkeys(keys))

    def replace_unless_newer(
        self, item: TableItem, *, puts: Sequence[TableItem], deletes: Sequence[TableKey], swap: Swap | None = None
    ) -> bool:
        actions = [
            self._put_action(
                item,
                ConditionExpression="attribute_not_exists(pk) OR #at <= :at",
                ExpressionAttributeNames={"#at": "at"},
                ExpressionAttributeValues=marshal({":at": item.attributes["at"]}),
            ),
            *map(self._put_action, puts),
            *({"Delete": {"TableName": self._name, "Key": marshal_key(key)}} for key in deletes),
            *([self._swap_action(swap)] if swap else []),
        ]
        for pause_s in (*PAUSES_S, None):
            try:
                self._client.call("transact_write_items", TransactItems=actions)
                break
            except TransactionCancelled as exc:
                if exc.reasons[:1] == ("ConditionalCheckFailed",):
                    return False
                if "ConditionalCheckFailed" in exc.reasons:
                    raise SwapConflict(str(exc)) from exc
                if "TransactionConflict" not in exc.reasons or pause_s is None:
                    raise
                self._sleep(pause_s)
        return True

    def _put_action(self, item: TableItem, **condition: Any) -> Mapping[str, Any]:
        return {"Put": {"TableName": self._name, "Item": marshal_item(item), **condition}}

    def _swap_action(self, swap: Swap) -> Mapping[str, Any]:
        values = {":now": self.clock()}
        condition = "attribute_not_exists(pk) OR expiresAt <= :now"
        if swap.before is not None:
            before = {**swap.before.attributes, "expiresAt": swap.before.expires_at}
            values = {f":{name}": value for name, value in before.items()}
            condition = " AND ".join(f"{name} = :{name}" for name in before)
        return self._put_action(swap.item, ConditionExpression=condition, ExpressionAttributeValues=marshal(values))

    def _pages(self, operation: str, *, values: Mapping[str, str], **arguments: Any) -> Iterator[TableItem]:
        """Yield the items of a query or scan, page by page."""
        page: dict[str, Any] = {"TableName": self._name, "ConsistentRead": True, **arguments}
        while True:
            answer = self._client.call(operation, ExpressionAttributeValues=marshal(values), **page)
            yield from map(unmarshal, answer["Items"])
            if "LastEvaluatedKey" not in answer:
                return
            page["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _write(self, requests: Iterable[Mapping[str, Any]]) -> None:
        for batch in batched(requests, WRITE_BATCH):
            for _ in self._send_batch("batch_write_item", {self._name: list(batch)}):
                pass

    def _send_batch(self, operation: str, wanted: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Send a batch, then again the parts that DynamoDB left unprocessed; yield each answer."""
        for pause_s in (*PAUSES_S, None):
            answer = self._client.call(operation, RequestItems=wanted)
            yield answer
            wanted = answer.get("UnprocessedKeys") or answer.get("UnprocessedItems")
            if not wanted:
                return
            if pause_s is None:
                raise StoreOutOfReach(f"DynamoDB {operation}: throttled")
            self._sleep(pause_s)

    def _unexpired(self, items: Iterable[TableItem]) -> list[TableItem]:
        now = self.clock()
        return [item for item in items if item.expires_at > now]


def marshal(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``attributes`` in DynamoDB's notation, such as ``{"at": {"N": "1.5"}}``."""
    marshalled = {}
    for name, value in attributes.items():
        kind = _KINDS.get(type(value), "N")
        marshalled[name] = {kind: repr(value) if kind == "N" else value}
    return marshalled


def marshal_key(key: TableKey) -> dict[str, Any]:
    """Return ``key`` in DynamoDB's notation."""
    return marshal({"pk": key.pk, "sk": key.sk})


def marshal_item(item: TableItem) -> dict[str, Any]:
    """Return the whole item in DynamoDB's notation."""
    return marshal_key(item.key) | marshal(item.attributes) | marshal({"expiresAt": item.expires_at})


def unmarshal(item: Mapping[str, Any]) -> TableItem:
    """Return the item of DynamoDB's notation; its numbers are floats."""
    values: dict[str, Any] = {}
    for name, marshalled in item.items():
        ((kind, value),) = marshalled.items()
        values[name] = float(value) if kind == "N" else value
    key = TableKey(values.pop("pk"), values.pop("sk"))
    return TableItem(key, expires_at=int(values.pop("expiresAt")), attributes=values)


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
        self._connecting: Future[Any] | None = None

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

    def connect(self, operation: str, **arguments: Any) -> None:
        """Begin to open a connection, with a call in a thread; other calls wait for it rather than open one each.

        Its error is dropped: the first call meets it again and reports it.
        """
        self._connecting = run_in_thread(lambda: self._call(operation, arguments))

    def call(self, operation: str, **arguments: Any) -> Any:
        """Call boto3's method ``operation``.

        Raises:
            TransactionCancelled: a transaction changed nothing.
            StoreOutOfReach: DynamoDB cannot be reached, or throttles for too long.
            StoreUnavailable: DynamoDB refuses.
        """
        if connecting := self._connecting:
            wait([connecting], CONNECT_TIMEOUT_S)
            self._connecting = None
        return self._call(operation, arguments)

    def _call(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

        client = self.client()
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
