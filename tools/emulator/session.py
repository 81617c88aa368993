"""A session with the built function: invoke it in an emulated environment, and read its responses and logs."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self, cast

from emulator.rie import EmulatorEnded, FunctionFailed, Invocation, NotBuilt
from emulator.template import function_settings, stage_variables

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / ".aws-sam" / "build"
RUNTIME_PYTHON = ROOT / ".venv-lambda" / "bin" / "python"
HANDLER = "app.lambda_handler"

_NEEDS = "The emulator ended; it needs Linux with user namespaces (unshare) and `make build`"


@dataclass(frozen=True, slots=True)
class Artefacts:
    """A build: ``task`` is the function's folder, ``opt`` maps names below /opt to folders of the layers."""

    task: Path
    opt: Mapping[str, Path]
    handler: str = HANDLER


def built(build: Path = BUILD) -> Artefacts:
    """Return the artefacts of `sam build`.

    Raises:
        NotBuilt: they are missing.
    """
    parts = {"python": build / "ChromaLayer" / "python", "index": build / "IndexLayer" / "index"}
    task = build / "QueryFunction"
    if not all(path.exists() for path in (build / "template.yaml", task, *parts.values())):
        raise NotBuilt("There is no build. Run: make build")
    return Artefacts(task, parts)


class Session:
    """One emulated execution environment: cold at the first ``invoke``, warm afterwards.

    The function and the layers are mounted read-only in a separate namespace, HOME is unset, and without ``network``
    there is only a loopback interface: every attempt to fetch fails. Events of API Gateway get the stage variables that
    follow from ``parameters``, or from ``stage`` if the stage is deployed with other ones than the function.
    """

    def __init__(
        self,
        artefacts: Artefacts,
        *,
        environment: Mapping[str, str] | None = None,
        parameters: Mapping[str, str] | None = None,
        stage: Mapping[str, str] | None = None,
        network: bool = False,
        build: Path = BUILD,
        python: Path = RUNTIME_PYTHON,
    ) -> None:
        parameters = parameters or {}
        settings, memory, timeout = function_settings(build / "template.yaml", parameters)
        self._stage = stage_variables(build / "template.yaml", {**parameters, **(stage or {})})
        self._network = network
        self._plan = {
            "task": str(artefacts.task.resolve()),
            "opt": {name: str(folder.resolve()) for name, folder in artefacts.opt.items()},
            "handler": artefacts.handler,
            "python": str(python),
            "rie": str(_rie_binary()),
            "isolated": not network,
            "environment": {
                **settings,
                "AWS_LAMBDA_FUNCTION_NAME": "QueryFunction",
                "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
                "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(memory),
                "AWS_LAMBDA_FUNCTION_TIMEOUT": str(timeout),
                "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
                "AWS_REGION": "us-east-1",
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_ACCESS_KEY_ID": "emulated",
                "AWS_SECRET_ACCESS_KEY": "emulated",
                "TZ": ":UTC",
                **(environment or {}),
            },
        }

    def __enter__(self) -> Self:
        flags = ["--mount"] if self._network else ["--mount", "--net"]
        command = ["unshare", "--user", "--map-root-user", *flags, sys.executable, "-m", "emulator.inside"]
        try:
            self._process = subprocess.Popen(
                [*command, json.dumps(self._plan)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        except OSError as exc:
            raise EmulatorEnded(_NEEDS) from exc
        self._stdin, self._stdout = cast(IO[str], self._process.stdin), cast(IO[str], self._process.stdout)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(BrokenPipeError):
            self._stdin.close()
        self._process.wait()
        self._stdout.close()

    def invoke(self, event: object) -> Invocation:
        """Invoke the function once; an event of API Gateway gets the stage's variables.

        Raises:
            FunctionFailed: it did not start, or ended before its answer; the message is its output.
            EmulatorEnded: the emulator ended; its output is on standard error.
        """
        if isinstance(event, dict) and "requestContext" in event:
            event = {**event, "stageVariables": self._stage}
        try:
            self._stdin.write(json.dumps(event) + "\n")
            self._stdin.flush()
        except BrokenPipeError:
            raise EmulatorEnded(_NEEDS) from None
        if not (line := self._stdout.readline()):
            raise EmulatorEnded(_NEEDS)
        invocation = Invocation(**json.loads(line))
        if invocation.failure is not None:
            raise FunctionFailed(invocation.failure, invocation.lines)
        return invocation


def _rie_binary() -> Path:
    suffix = "arm64" if platform.machine() in {"aarch64", "arm64"} else "x86_64"
    found = sorted((ROOT / ".venv-sam").glob(f"lib/python*/site-packages/samcli/local/rapid/aws-lambda-rie-{suffix}"))
    if not found:
        raise NotBuilt("The SAM CLI's emulator is not there. Run: make build")
    return found[0]
