"""The one DynamoDB table: plain values in and out, what has expired left out, batches and conflicts seen through.

The table: string keys ``pk`` and ``sk``, TTL on ``expiresAt``, on demand. TTL deletes up to two days late, so what has
expired is treated as gone on every read. Reads are strongly consistent: a vote, an eviction or a turn holds for the
very next request.

IAM actions, on the table alone (a transaction needs those of its parts and none of its own): ``IAM_ACTIONS``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import batched
from typing import Any

from rag.adapters.dynamodb.client import Cancelled, DynamoDbClient
from rag.adapters.dynamodb.items import Item, Key, Row, Swap, Value, marshal, marshal_key, marshal_row, unmarshal
from rag.errors import StoreOutOfReach, StoreUnavailable

IAM_ACTIONS = (
    "dynamodb:BatchGetItem",
    "dynamodb:BatchWriteItem",
    "dynamodb:DeleteItem",
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "dynamodb:Query",
)

PAUSES_S = (0.05, 0.15, 0.4)
"""Between the tries of what DynamoDB left undone in a batch, or what met another transaction."""

GET_BATCH, WRITE_BATCH = 100, 25
"""Items in one call, DynamoDB's limits."""


class Overtaken(StoreUnavailable):
    """Nothing was written: somebody else has changed what was to be swapped since it was read."""


class DynamoDbTable:
    """The table ``name``. ``region`` and ``endpoint_url`` default to what boto3 finds; ``clock`` gives Unix seconds.

    Every method raises ``StoreUnavailable`` when the table cannot be reached, refuses, or throttles for too long.
    """

    def __init__(
        self,
        name: str,
        *,
        region: str | None = None,
        endpoint_url: str | None = None,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.clock = clock
        self._name = name
        self._client = DynamoDbClient(region=region, endpoint_url=endpoint_url)
        self._sleep = sleep

    def warm(self) -> None:
        """Make the client now; nobody is called."""
        self._client.warm()

    def reset(self) -> None:
        """Close all connections; the client stays. Not while calls are under way."""
        self._client.reset()

    def connect(self) -> None:
        """Begin to open a connection, in a thread: it asks for an item that does not exist."""
        self._client.connect(lambda: self.get(Key("connect", "connect")))

    def get(self, key: Key) -> Item | None:
        """The item at ``key``."""
        answer = self._client.call("get_item", TableName=self._name, Key=marshal_key(key), ConsistentRead=True)
        return next(self._alive([answer["Item"]]), None) if "Item" in answer else None

    def get_many(self, keys: Iterable[Key]) -> list[Item]:
        """Those of the items at ``keys`` that exist, in no order."""
        found: list[Mapping[str, Any]] = []
        for some in batched(dict.fromkeys(keys), GET_BATCH):
            wanted: Any = {self._name: {"Keys": [marshal_key(key) for key in some], "ConsistentRead": True}}
            for pause_s in (*PAUSES_S, None):
                answer = self._client.call("batch_get_item", RequestItems=wanted)
                found += answer["Responses"].get(self._name, [])
                wanted = answer.get("UnprocessedKeys")
                if not wanted:
                    break
                self._pause("batch_get_item", pause_s)
        return list(self._alive(found))

    def newest(self, pk: str, *, prefix: str, limit: int) -> list[Item]:
        """Of the ``limit`` items with the last sort keys under ``pk`` that begin with ``prefix``, those alive.

        Last sort key first.
        """
        found: list[Mapping[str, Any]] = []
        page: dict[str, Any] = {}
        while len(found) < limit:
            answer = self._client.call(
                "query",
                TableName=self._name,
                KeyConditionExpression="pk = :pk AND begins_with(sk, :prefix)",
                ExpressionAttributeValues=marshal({":pk": pk, ":prefix": prefix}),
                ScanIndexForward=False,
                ConsistentRead=True,
                Limit=limit - len(found),
                **page,
            )
            found += answer["Items"]
            if "LastEvaluatedKey" not in answer:
                break
            page = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}
        return list(self._alive(found))

    def put(self, row: Row) -> None:
        """Write ``row`` in place of what was there."""
        self._client.call("put_item", TableName=self._name, Item=marshal_row(row))

    def under(self, pk: str) -> list[Item]:
        """Every item under ``pk``, what has expired too."""
        condition = "pk = :pk"
        return list(self._pages("query", KeyConditionExpression=condition, values={":pk": pk}))

    def scan(self, *, prefix: str, holding: str) -> list[Item]:
        """Every item whose ``pk`` begins with ``prefix`` and whose body holds ``holding``, what has expired too.

        Reads the whole table. The function may not: only somebody who looks after it does.
        """
        values = {":prefix": prefix, ":holding": holding}
        condition = "begins_with(pk, :prefix) AND contains(body, :holding)"
        return list(self._pages("scan", FilterExpression=condition, values=values))

    def put_many(self, rows: Iterable[Row]) -> None:
        """Write ``rows``, no two at one key; when this raises, some may have been written."""
        self._write({"PutRequest": {"Item": marshal_row(row)}} for row in rows)

    def delete_many(self, keys: Iterable[Key]) -> None:
        """Remove what lies at ``keys``; when this raises, some may be gone."""
        self._write({"DeleteRequest": {"Key": marshal_key(key)}} for key in dict.fromkeys(keys))

    def delete(self, key: Key) -> None:
        """Remove the item at ``key``, if there is one."""
        self._client.call("delete_item", TableName=self._name, Key=marshal_key(key))

    def replace_unless_newer(
        self, row: Row, *, puts: Sequence[Row], deletes: Sequence[Key], swap: Swap | None = None
    ) -> bool:
        """Write ``row``, ``puts``, ``deletes`` and ``swap`` (fewer than 100 in all), or nothing.

        Nothing, and False, when the item at ``row``'s key has a larger ``at`` than ``row``.

        Raises:
            Overtaken: what ``swap`` is to replace is not there any more.
        """
        guarded = {
            "TableName": self._name,
            "Item": marshal_row(row),
            "ConditionExpression": "attribute_not_exists(pk) OR #at <= :at",
            "ExpressionAttributeNames": {"#at": "at"},
            "ExpressionAttributeValues": marshal({":at": row.values["at"]}),
        }
        actions = [
            {"Put": guarded},
            *({"Put": {"TableName": self._name, "Item": marshal_row(put)}} for put in puts),
            *({"Delete": {"TableName": self._name, "Key": marshal_key(key)}} for key in deletes),
            *([{"Put": self._swapped(swap)}] if swap else []),
        ]
        for pause_s in (*PAUSES_S, None):
            try:
                self._client.call("transact_write_items", TransactItems=actions)
            except Cancelled as exc:
                if exc.reasons[:1] == ("ConditionalCheckFailed",):
                    return False
                if "ConditionalCheckFailed" in exc.reasons:
                    raise Overtaken(str(exc)) from exc
                if "TransactionConflict" not in exc.reasons or pause_s is None:
                    raise
                self._sleep(pause_s)
            else:
                break
        return True

    def _swapped(self, swap: Swap) -> Mapping[str, Any]:
        values: dict[str, Value] = {":now": self.clock()}
        condition = "attribute_not_exists(pk) OR expiresAt <= :now"
        if swap.before is not None:
            names = [*swap.row.values, "expiresAt"]
            values = {f":{name}": swap.before[name] for name in names}
            condition = " AND ".join(f"{name} = :{name}" for name in names)
        return {
            "TableName": self._name,
            "Item": marshal_row(swap.row),
            "ConditionExpression": condition,
            "ExpressionAttributeValues": marshal(values),
        }

    def _pages(self, operation: str, *, values: Mapping[str, str], **condition: str) -> Iterator[Item]:
        page: dict[str, Any] = {"TableName": self._name, "ConsistentRead": True, **condition}
        while True:
            answer = self._client.call(operation, ExpressionAttributeValues=marshal(values), **page)
            yield from map(unmarshal, answer["Items"])
            if "LastEvaluatedKey" not in answer:
                return
            page["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _write(self, requests: Iterable[Mapping[str, Any]]) -> None:
        for some in batched(requests, WRITE_BATCH):
            wanted: Any = {self._name: list(some)}
            for pause_s in (*PAUSES_S, None):
                wanted = self._client.call("batch_write_item", RequestItems=wanted).get("UnprocessedItems")
                if not wanted:
                    break
                self._pause("batch_write_item", pause_s)

    def _pause(self, operation: str, pause_s: float | None) -> None:
        if pause_s is None:
            raise StoreOutOfReach(f"DynamoDB {operation}: throttled")
        self._sleep(pause_s)

    def _alive(self, items: Iterable[Mapping[str, Any]]) -> Iterator[Item]:
        now = self.clock()
        for item in items:
            values = unmarshal(item)
            if float(values["expiresAt"]) > now:
                yield values
