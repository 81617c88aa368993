"""A deployment of a new index, watched: the version moves, the new index answers, the old version is gone."""

from __future__ import annotations

import threading
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from botocore.exceptions import ClientError  # type: ignore[import-untyped]

from smoke.stack import Aws, Check, Failed, Stack, absent

WATCHED_EVERY_S = 5.0

type Run = Callable[[Sequence[str]], int]
"""Runs a program with what it prints in view; returns its exit status."""


@dataclass(frozen=True, slots=True)
class Update:
    """A stack and what was deployed before. ``command`` deploys what was built; ``outages`` fills while it runs."""

    stack: Stack
    command: tuple[str, ...]
    run: Run
    version: str
    layers: tuple[str, ...]
    index: str
    outages: list[str] = field(default_factory=list)

    def deployed(self) -> str:
        """Run the deployment, and ask for the health every few seconds meanwhile."""
        with _watched(self.stack, self.outages):
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
        """The alias points at another version than before."""
        version = self.stack.live_version()
        if version == self.version:
            raise Failed(f"the alias still points at version {version}")
        return f"from version {self.version} to {version}"

    def new_index(self) -> str:
        """Another index answers than before."""

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
        if not self._vanished(lambda: client.get_function_configuration(FunctionName=name, Qualifier=self.version)):
            raise Failed(f"version {self.version} is still there, and its snapshot is paid for")
        return f"version {self.version} is deleted"

    def old_layers_gone(self) -> str:
        """Of the layers that were replaced none is left."""
        now = _layers(self.stack)
        replaced = [arn for arn in self.layers if arn not in now]
        left = [arn for arn in replaced if not self._vanished(partial(read_layer, self.stack.aws, arn))]
        if left or not replaced:
            raise Failed(f"still there: {', '.join(left)}" if left else "no layer was replaced")
        return f"deleted: {', '.join(':'.join(arn.split(':')[-2:]) for arn in replaced)}"

    def _vanished(self, read: Callable[[], object]) -> bool:
        def look() -> bool | None:
            return True if gone(read) else None

        return bool(self.stack.patience.until(look))


def deployment(stack: str, config: Path) -> tuple[str, ...]:
    """The command that deploys ``stack``, with the table of ``config`` (samconfig.toml) that is for it.

    Another one's answers would change what this stack is.

    Raises:
        Failed: there is none.
    """
    tables = tomllib.loads(config.read_text(encoding="utf-8"))
    for name, table in tables.items():
        if isinstance(table, dict):
            places = [table.get(command, {}).get("parameters", {}) for command in ("deploy", "global")]
            if stack in (place.get("stack_name") for place in places):
                return ("sam", "deploy", "--config-env", name, "--stack-name", stack, "--no-confirm-changeset")
    raise Failed(f"No table of {config.name} has stack_name = {stack!r} (docs/operations.md, Several stacks)")


def before_update(stack: Stack, command: tuple[str, ...], run: Run) -> Update:
    """What is deployed now, to compare with.

    Raises:
        Failed, ClientError: it does not answer.
    """
    index = stack.health()["index"]["version"]
    return Update(stack, command, run, stack.live_version(), _layers(stack), index)


def read_layer(aws: Aws, arn: str) -> object:
    """AWS's description of a version of a layer."""
    layer, _, version = arn.rpartition(":")
    return aws.client("lambda").get_layer_version(LayerName=layer, VersionNumber=int(version))


def gone(read: Callable[[], object]) -> bool:
    """Whether AWS no longer has what ``read`` reads."""
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
def _watched(stack: Stack, outages: list[str]) -> Iterator[None]:
    """Ask for the health, at once and then every few seconds, and note what is no answer, until the block ends."""
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
