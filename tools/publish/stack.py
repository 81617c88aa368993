"""The stack that a version is published to: its state, its update, and the events of CloudFormation."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from publish.errors import PublishFailed
from publish.versions import VersionBucket
from smoke.stack import Api, Aws, Failed, Patience, absent

CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
"""The template makes roles, and SAM's transform runs again."""
DONE = {"UPDATE_COMPLETE", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"}
"""The alias points at the new version from here on; what remains is the deletion of the old one."""
BACK = {"UPDATE_ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS"}
READY = {"CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"}
STEPS = {
    "AWS::Lambda::LayerVersion": "making the layer of the index",
    "AWS::Lambda::Function": "giving the function its layer",
    "AWS::Lambda::Version": "rehearsing, and taking the snapshot",
    "AWS::Lambda::Alias": "moving the alias to the new version",
}
UPDATE_PATIENCE = Patience(seconds=3600.0, pause_s=5.0)
HEALTH_PATIENCE = Patience(seconds=120.0, pause_s=2.0)

type Tell = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Target:
    """One deployed stack as it was when it was looked up."""

    name: str
    status: str
    parameters: Mapping[str, str]
    outputs: Mapping[str, str]
    capabilities: tuple[str, ...]
    aws: Aws

    @property
    def key(self) -> str:
        """The version that answers, "" for a built one."""
        return self.parameters["IndexKey"]

    @property
    def bucket(self) -> VersionBucket:
        """The stack's own bucket of versions."""
        return VersionBucket(self.aws.client("s3"), self.outputs["IndexBucket"])

    def check_ready(self) -> None:
        """Raise PublishFailed where an update would not publish a version now."""
        if self.status not in READY:
            sentence = f"The stack {self.name} is {self.status}; publish again when that is over"
            raise PublishFailed(sentence, code="stack_busy")
        if self.parameters.get("IndexSource") == "efs":
            raise PublishFailed(f"The index of {self.name} is on EFS: ingest into it there", code="index_on_efs")
        if self.parameters.get("Revision"):
            sentence = f"The stack {self.name} has a Revision, which alone decides on versions; deploy it empty first"
            raise PublishFailed(sentence, code="stack_has_revision")

    def update(self, name: str, value: str) -> str:
        """Start an update that sets the parameter ``name`` to ``value``, and return its token."""
        token = uuid.uuid4().hex
        others = [{"ParameterKey": other, "UsePreviousValue": True} for other in self.parameters if other != name]
        self.aws.client("cloudformation").update_stack(
            StackName=self.name,
            UsePreviousTemplate=True,
            Parameters=[*others, {"ParameterKey": name, "ParameterValue": value}],
            Capabilities=sorted({*CAPABILITIES, *self.capabilities}),
            ClientRequestToken=token,
        )
        return token

    def wait(self, token: str, tell: Tell) -> None:
        """Wait until the update is over, and tell each step.

        Raises:
            PublishFailed: CloudFormation went back, with its reason, or the update takes too long.
        """
        last_step = ""

        def look() -> str | None:
            nonlocal last_step
            if not any(self._events(token)):
                return None  # the status may still be that before the update
            status = str(_describe(self.aws, self.name)["StackStatus"])
            if (step := self._step(token)) and step != last_step:
                last_step = step
                tell(step)
            return status if status in DONE | BACK or status.endswith("_FAILED") else None

        status = UPDATE_PATIENCE.until(look)
        if status in DONE:
            return
        if status is None:
            sentence = f"The stack {self.name} is still being updated; its events say at what"
            raise PublishFailed(sentence, code="still_updating")
        outcome = f"The version was refused, and the stack {self.name} went back to the one before: "
        if status not in BACK:
            outcome = f"The stack {self.name} is {status} (aws cloudformation continue-update-rollback): "
        raise PublishFailed(outcome + (self._reason(token) or status), code="version_refused")

    def check_health(self, version: str) -> None:
        """Raise PublishFailed where ``GET /api/health`` does not show the version in time."""
        seen = ""
        key = self.aws.client("apigateway").get_api_key(apiKey=self.outputs["ApiKeyId"], includeValue=True)
        api = Api(self.outputs["ApiUrl"], key["value"])

        def look() -> bool | None:
            nonlocal seen
            try:
                reply = api.send("GET", "/api/health")
            except (OSError, Failed) as error:
                seen = f"no answer ({error})"
                return None
            seen = str((reply.body.get("index") or {}).get("version") or reply.summary)
            return True if seen == version else None

        if not HEALTH_PATIENCE.until(look):
            sentence = f"The update is done, but GET /api/health shows {seen} and not {version}"
            raise PublishFailed(sentence, code="not_answering")

    def _step(self, token: str) -> str:
        """Return the step that is under way, in words."""
        for event in self._events(token):
            if event["ResourceStatus"].endswith("_IN_PROGRESS") and event["ResourceType"] in STEPS:
                back = " (going back)" if "ROLLBACK" in event["ResourceStatus"] else ""
                return STEPS[event["ResourceType"]] + back
        return ""

    def _reason(self, token: str) -> str:
        """Return the first failure, with AWS's own reason."""
        failed = [
            event
            for event in self._events(token)
            if event["ResourceStatus"].endswith("_FAILED") and "cancelled" not in event.get("ResourceStatusReason", "")
        ]
        if not failed:
            return ""
        first = failed[-1]
        step = STEPS.get(first["ResourceType"], first["ResourceType"])
        reason = " ".join(str(first.get("ResourceStatusReason", "no reason given")).split())
        logs = f" What the function said is in its log, {group}" if (group := self.outputs.get("QueryLogGroup")) else ""
        return f"{step} failed: {reason}.{logs}"

    def _events(self, token: str) -> Iterator[Mapping[str, Any]]:
        """Yield the events of this update, the newest first."""
        pages = self.aws.client("cloudformation").get_paginator("describe_stack_events").paginate(StackName=self.name)
        for page in pages:
            for event in page["StackEvents"]:
                if event.get("ClientRequestToken") != token:
                    return
                yield event


def open_target(aws: Aws, name: str) -> Target:
    """Look up the stack called ``name``.

    Raises:
        PublishFailed: there is none, or it was deployed before versions were published.
    """
    found = _describe(aws, name)
    outputs = {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", [])}
    parameters = {given["ParameterKey"]: given["ParameterValue"] for given in found.get("Parameters", [])}
    if "IndexKey" not in parameters or "IndexBucket" not in outputs:
        sentence = f"The stack {name} has no IndexBucket yet: deploy this version's template once (docs/publish.md)"
        raise PublishFailed(sentence, code="stack_too_old")
    capabilities = tuple(found.get("Capabilities", ()))
    return Target(name, str(found["StackStatus"]), parameters, outputs, capabilities, aws)


def _describe(aws: Aws, name: str) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = aws.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as exc:
        if not absent(exc):
            raise
        raise PublishFailed(f"There is no stack {name!r} in this account and region", code="no_such_stack") from exc
    return found
