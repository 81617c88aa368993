"""Prints the environment that each `sam local` command gives the function; runs in .venv-sam, where the SAM CLI is.

argv: the folder of samconfig.toml, the template
stdout: {command: {variable: value}}
"""

import json
import sys

from samcli.cli.types import CfnParameterOverridesType  # type: ignore[import-not-found, unused-ignore]
from samcli.lib.config.samconfig import SamConfig  # type: ignore[import-not-found, unused-ignore]
from samcli.lib.providers.sam_function_provider import (  # type: ignore[import-not-found, unused-ignore]
    SamFunctionProvider,
)
from samcli.lib.providers.sam_stack_provider import (  # type: ignore[import-not-found, unused-ignore]
    SamLocalStackProvider,
)

COMMANDS = ("invoke", "start-api", "start-lambda")


def environment(folder: str, template: str, command: str) -> dict[str, str]:
    """The function's variables as the SAM CLI resolves them with this command's saved parameters."""
    saved = SamConfig(folder).get_all(["local", command], "parameters").get("parameter_overrides", "")
    overrides = CfnParameterOverridesType().convert(saved, None, None) if saved else {}
    stacks, _ = SamLocalStackProvider.get_stacks(template, parameter_overrides=overrides)
    variables: dict[str, str] = SamFunctionProvider(stacks).get("QueryFunction").environment["Variables"]
    return variables


if __name__ == "__main__":
    json.dump({command: environment(*sys.argv[1:3], command) for command in COMMANDS}, sys.stdout)  # type: ignore[call-arg]
