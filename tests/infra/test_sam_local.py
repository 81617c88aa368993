"""`sam local` runs the function for nobody's account: its saved parameters leave no table to call."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.build

ROOT = Path(__file__).resolve().parents[2]
SAM_PYTHON = ROOT / ".venv-sam" / "bin" / "python"


def test_no_local_command_names_a_table_to_call_with_the_developers_credentials() -> None:
    # Without Store=none the SAM CLI says TABLE_NAME=Table, the logical id, and hands on the credentials that it finds.
    done = subprocess.run(
        [SAM_PYTHON, ROOT / "tests" / "infra" / "sam_local.py", ROOT, ROOT / "infra" / "template.yaml"],
        env={"PATH": os.environ["PATH"], "AWS_DEFAULT_REGION": "eu-central-1", "SAM_CLI_TELEMETRY": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)

    assert {command: (variables["TABLE_NAME"], variables["INDEX_URI"]) for command, variables in told.items()} == {
        "invoke": ("", "/opt/index"),
        "start-api": ("", "/opt/index"),
        "start-lambda": ("", "/opt/index"),
    }
