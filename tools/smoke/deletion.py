"""The stack deleted, and what is left of it looked for: by the ids that it had, one kind of resource after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from smoke.stack import Aws, Check, Failed, Skipped, Stack
from smoke.update import Run, gone, read_layer

STAYS = (
    "the role of API Gateway's logs and the account's setting that names it (AccessLogs=setup)",
    "a backup of the table for 35 days (point-in-time recovery), free of charge",
    "secrets, which are not the stack's",
    "old versions of the artefacts in SAM's bucket, which is versioned",
)
"""On purpose; docs/deploy.md says how each is removed."""

type Ids = Mapping[str, tuple[str, ...]]
"""Physical ids of the stack's resources by type."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """A stack, its resources before, and the command that deletes it."""

    stack: Stack
    command: tuple[str, ...]
    run: Run
    ids: Ids

    def deleted(self) -> str:
        """Run the command, which waits for the end."""
        if status := self.run(self.command):
            raise Failed(f"`{' '.join(self.command)}` ended with status {status}")
        return " ".join(self.command)

    def stack_gone(self) -> str:
        """A deleted stack is still found by its id, with that status."""
        client = self.stack.aws.client("cloudformation")
        status: str = client.describe_stacks(StackName=self.stack.id)["Stacks"][0]["StackStatus"]
        if status != "DELETE_COMPLETE":
            raise Failed(f"the stack is {status}")
        return status

    def none_left(self, kind: str) -> str:
        """None of the resources of this kind is left."""
        if not (ids := self.ids.get(kind)):
            raise Skipped("the stack had none")
        exists = LOOKS[kind]
        if left := [name for name in ids if exists(self.stack.aws, name)]:
            raise Failed(f"still there: {', '.join(left)}")
        return f"{len(ids)} deleted"


def before_deletion(stack: Stack, command: tuple[str, ...], run: Run) -> Deletion:
    """What the stack has now."""
    ids: dict[str, tuple[str, ...]] = {}
    pages = stack.aws.client("cloudformation").get_paginator("list_stack_resources")
    for page in pages.paginate(StackName=stack.name):
        for resource in page["StackResourceSummaries"]:
            kind = resource["ResourceType"]
            ids[kind] = (*ids.get(kind, ()), resource["PhysicalResourceId"])
    return Deletion(stack, command, run, ids)


def _log_group(aws: Aws, name: str) -> bool:
    groups = aws.client("logs").describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    return any(group["logGroupName"] == name for group in groups)


def _by(service: str, operation: str, argument: str) -> Callable[[Aws, str], bool]:
    def exists(aws: Aws, name: str) -> bool:
        read: Callable[..., Any] = getattr(aws.client(service), operation)
        return not gone(partial(read, **{argument: name}))

    return exists


LOOKS: Mapping[str, Callable[[Aws, str], bool]] = {
    "AWS::Lambda::Function": _by("lambda", "get_function", "FunctionName"),
    "AWS::Lambda::LayerVersion": lambda aws, arn: not gone(partial(read_layer, aws, arn)),
    "AWS::Logs::LogGroup": _log_group,
    "AWS::DynamoDB::Table": _by("dynamodb", "describe_table", "TableName"),
    "AWS::ApiGateway::RestApi": _by("apigateway", "get_rest_api", "restApiId"),
    "AWS::ApiGateway::ApiKey": _by("apigateway", "get_api_key", "apiKey"),
}
"""Whether a resource of each kind still exists; versions and aliases go with their function."""

DELETION_CHECKS = (
    Check("deleted", Deletion.deleted, "the stack's events"),
    Check("stack gone", Deletion.stack_gone, "the stack's events: the resource that would not go"),
    *(
        Check(f"no {kind.rpartition('::')[2]} left", partial(Deletion.none_left, kind=kind), "delete it by hand")
        for kind in LOOKS
    ),
)
