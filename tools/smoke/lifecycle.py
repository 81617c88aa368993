"""Watched changes of a stack: a deployment of a new index, and a deletion of which nothing may remain."""

from __future__ import annotations

import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from smoke.stack import Aws, Check, Failed, Skipped, Stack, absent

WATCHED_EVERY_S = 5.0

type Run = Callable[[Sequence[str]], int]
"""Runs a program with visible output; returns its exit status."""


@dataclass(frozen=True, slots=True)
class Update:
    """A stack and its state before. ``command`` deploys the build; ``outages`` collects failures while it runs."""

    stack: Stack
    command: tuple[str, ...]
    run: Run
    version: str
    layers: tuple[str, ...]
    index: str
    outages: list[str] = field(default_factory=list)

    def deployed(self) -> str:
        """Run the deployment, and request the health every few seconds meanwhile."""
        with _watch_health(self.stack, self.outages):
            status = self.run(self.command)
        if status:
            raise Failed(f"`{' '.join(self.command)}` ended with status {status}")
        return " ".join(self.command)

    def stayed_up(self) -> str:
        """The old version answers until the new one does."""
        if self.outages:
            raise Failed(f"{len(self.outages)} requests failed during the deployment, the first: {self.outages[0]}")
        return "every request during the deployment was answered"

    def version_moved(self) -> str:
        """The alias points at a new version."""
        version = self.stack.live_version()
        if version == self.version:
            raise Failed(f"the alias still points at version {version}")
        return f"from version {self.version} to {version}"

    def new_index(self) -> str:
        """A new index answers."""

        def look() -> str | None:
            found: str = self.stack.health()["index"]["version"]
            return found if found != self.index else None

        if not (index := self.stack.patience.until(look)):
            raise Failed(f"index {self.index} still answers; was a new one built (make build INDEX=...)?")
        return f"from index {self.index} to {index}"

    def old_version_gone(self) -> str:
        """No snapshot of the old version is paid for any more."""
        client = self.stack.aws.client("lambda")
        name = self.stack.function
        if not self._disappears(lambda: client.get_function_configuration(FunctionName=name, Qualifier=self.version)):
            raise Failed(f"version {self.version} is still there, and its snapshot is paid for")
        return f"version {self.version} is deleted"

    def old_layers_gone(self) -> str:
        """All layers that were replaced are deleted."""
        now = _layers(self.stack)
        replaced = [arn for arn in self.layers if arn not in now]
        left = [arn for arn in replaced if not self._disappears(partial(read_layer, self.stack.aws, arn))]
        if left or not replaced:
            raise Failed(f"still there: {', '.join(left)}" if left else "no layer was replaced")
        return f"deleted: {', '.join(':'.join(arn.split(':')[-2:]) for arn in replaced)}"

    def _disappears(self, read: Callable[[], object]) -> bool:
        def look() -> bool | None:
            return True if is_deleted(read) else None

        return bool(self.stack.patience.until(look))


def deployment(stack: str, config: Path) -> tuple[str, ...]:
    """Return the command that deploys ``stack`` with its own table of ``config`` (samconfig.toml).

    The answers of another table would change what this stack is.

    Raises:
        Failed: it has no table.
    """
    tables = tomllib.loads(config.read_text(encoding="utf-8"))
    for name, table in tables.items():
        if isinstance(table, dict):
            places = [table.get(command, {}).get("parameters", {}) for command in ("deploy", "global")]
            if stack in (place.get("stack_name") for place in places):
                return ("sam", "deploy", "--config-env", name, "--stack-name", stack, "--no-confirm-changeset")
    raise Failed(f"No table of {config.name} has stack_name = {stack!r} (docs/operations.md, Several stacks)")


def before_update(stack: Stack, command: tuple[str, ...], run: Run) -> Update:
    """Record the present deployment, to compare with."""
    index = stack.health()["index"]["version"]
    return Update(stack, command, run, stack.live_version(), _layers(stack), index)


def read_layer(aws: Aws, arn: str) -> object:
    """Return AWS's description of a version of a layer."""
    layer, _, version = arn.rpartition(":")
    return aws.client("lambda").get_layer_version(LayerName=layer, VersionNumber=int(version))


def is_deleted(read: Callable[[], object]) -> bool:
    """Whether the resource that ``read`` reads no longer exists."""
    try:
        read()
    except ClientError as error:
        if absent(error):
            return True
        raise
    return False


UPDATE_CHECKS = (
    Check("deployed", Update.deployed, "what SAM printed; the stack's events"),
    Check("answered meanwhile", Update.stayed_up, "the function's log of that time; the alias's events"),
    Check("version moved", Update.version_moved, "PublishLambdaVersion and AutoPublishAliasAllProperties"),
    Check("new index", Update.new_index, "make build INDEX=...; .aws-sam/build/IndexLayer/index/manifest.json"),
    Check("old version gone", Update.old_version_gone, "DeletionPolicy of QueryFunction in infra/template.yaml"),
    Check("old layers gone", Update.old_layers_gone, "RetentionPolicy of the layers in infra/template.yaml"),
)


def _layers(stack: Stack) -> tuple[str, ...]:
    return tuple(layer["Arn"] for layer in stack.configuration().get("Layers", ()))


@contextmanager
def _watch_health(stack: Stack, outages: list[str]) -> Iterator[None]:
    """Request the health at once and then every few seconds until the block ends; collect failures in ``outages``."""
    over = threading.Event()

    def watch() -> None:
        while True:
            try:
                stack.health()
            except (Failed, OSError) as error:
                outages.append(str(error))
            if over.wait(WATCHED_EVERY_S):
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


STAYS = (
    "the role of API Gateway's logs and the account's setting that names it (AccessLogs=setup)",
    "a backup of the table for 35 days (point-in-time recovery), free of charge",
    "secrets, which are not the stack's",
    "old versions of the artefacts in SAM's bucket, which is versioned",
)
"""Not deleted on purpose; docs/deploy.md says how each is removed."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """A stack, the physical ids of its resources before, by type, and the command that deletes it."""

    stack: Stack
    command: tuple[str, ...]
    run: Run
    ids: Mapping[str, tuple[str, ...]]

    def deleted(self) -> str:
        """Run the command, which waits for the end."""
        if status := self.run(self.command):
            raise Failed(f"`{' '.join(self.command)}` ended with status {status}")
        return " ".join(self.command)

    def stack_gone(self) -> str:
        """The stack has the status of a deleted one, which is still found by its id."""
        client = self.stack.aws.client("cloudformation")
        status: str = client.describe_stacks(StackName=self.stack.id)["Stacks"][0]["StackStatus"]
        if status != "DELETE_COMPLETE":
            raise Failed(f"the stack is {status}")
        return status

    def none_left(self, kind: str) -> str:
        """No resource of this kind is left."""
        if not (ids := self.ids.get(kind)):
            raise Skipped("the stack had none")
        exists = EXISTENCE_CHECKS[kind]
        if left := [name for name in ids if exists(self.stack.aws, name)]:
            raise Failed(f"still there: {', '.join(left)}")
        return f"{len(ids)} deleted"


def before_deletion(stack: Stack, command: tuple[str, ...], run: Run) -> Deletion:
    """Record the present resources of the stack."""
    ids: dict[str, tuple[str, ...]] = {}
    pages = stack.aws.client("cloudformation").get_paginator("list_stack_resources")
    for page in pages.paginate(StackName=stack.name):
        for resource in page["StackResourceSummaries"]:
            kind = resource["ResourceType"]
            ids[kind] = (*ids.get(kind, ()), resource["PhysicalResourceId"])
    return Deletion(stack, command, run, ids)


def _log_group_exists(aws: Aws, name: str) -> bool:
    groups = aws.client("logs").describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    return any(group["logGroupName"] == name for group in groups)


def _exists_by(service: str, operation: str, argument: str) -> Callable[[Aws, str], bool]:
    def exists(aws: Aws, name: str) -> bool:
        read: Callable[..., Any] = getattr(aws.client(service), operation)
        return not is_deleted(partial(read, **{argument: name}))

    return exists


EXISTENCE_CHECKS: Mapping[str, Callable[[Aws, str], bool]] = {
    "AWS::Lambda::Function": _exists_by("lambda", "get_function", "FunctionName"),
    "AWS::Lambda::LayerVersion": lambda aws, arn: not is_deleted(partial(read_layer, aws, arn)),
    "AWS::Logs::LogGroup": _log_group_exists,
    "AWS::DynamoDB::Table": _exists_by("dynamodb", "describe_table", "TableName"),
    "AWS::ApiGateway::RestApi": _exists_by("apigateway", "get_rest_api", "restApiId"),
    "AWS::ApiGateway::ApiKey": _exists_by("apigateway", "get_api_key", "apiKey"),
}
"""Whether a resource of each kind still exists; versions and aliases go with their function."""

DELETION_CHECKS = (
    Check("deleted", Deletion.deleted, "the stack's events"),
    Check("stack gone", Deletion.stack_gone, "the stack's events: the resource that would not go"),
    *(
        Check(f"no {kind.rpartition('::')[2]} left", partial(Deletion.none_left, kind=kind), "delete it by hand")
        for kind in EXISTENCE_CHECKS
    ),
)
