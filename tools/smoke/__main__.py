"""``python -m smoke STACK``: check a deployed stack point by point (docs/deploy.md)."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import boto3  # type: ignore[import-untyped]
from botocore.exceptions import BotoCoreError, ClientError  # type: ignore[import-untyped]

from smoke.api_checks import API_CHECKS
from smoke.aws_checks import AFTER_API, BEFORE_API
from smoke.lifecycle import DELETION_CHECKS, STAYS, UPDATE_CHECKS, Run, before_deletion, before_update, deployment
from smoke.stack import OFF_TOPIC, Aws, Failed, Patience, Result, Stack, open_stack, run_checks

DONE, FAILED, BAD_USAGE = 0, 1, 2
CONFIG = Path(__file__).resolve().parents[2] / "samconfig.toml"


def run_program(command: Sequence[str]) -> int:
    """Run ``command`` with its output on stderr; return its exit status."""
    try:
        return subprocess.run(command, stdout=sys.stderr, check=False).returncode
    except OSError as error:
        raise Failed(f"{command[0]!r} cannot be run: {error.strerror}; is the SAM CLI on the path?") from error


def main(
    arguments: Sequence[str] | None = None,
    *,
    aws: Aws | None = None,
    run: Run = run_program,
    patience: Patience | None = None,
    config: Path = CONFIG,
) -> int:
    """Return the exit status: 0 if every check is ok or skipped, 1 if one failed, 2 for bad usage."""
    options = _parse_options(arguments)
    if options.delete and not options.yes and not _confirm_deletion(options.stack):
        print("Not deleted.", file=sys.stderr)
        return BAD_USAGE
    results: list[Result] = []

    def report(result: Result) -> None:
        results.append(result)
        if not options.json:
            look = f"\n        look at: {result.look}" if result.look else ""
            status = result.status.upper() if result.status == "failed" else result.status
            print(f"{status:8}{result.name}: {result.seen}{look}", flush=True)

    try:
        stack = open_stack(
            aws or boto3.session.Session(region_name=options.region),
            options.stack,
            since=time.time(),
            patience=patience or Patience(seconds=options.wait),
            off_topic=options.off_topic,
        )
        for result in _run_checks(stack, options, run, config):
            report(result)
    except ClientError as error:
        report(Result("stack", "failed", f"AWS refused {error.operation_name}: {error.response['Error']['Code']}"))
    except (BotoCoreError, Failed, OSError) as error:
        report(Result("stack", "failed", str(error), "credentials, region and name: aws cloudformation list-stacks"))
    failed = sum(result.status == "failed" for result in results)
    if options.json:
        print(json.dumps({"stack": options.stack, "failed": failed, "checks": [asdict(result) for result in results]}))
    else:
        print(f"{len(results)} checks, {failed} failed")
    return FAILED if failed else DONE


def _run_checks(stack: Stack, options: argparse.Namespace, run: Run, config: Path) -> Iterator[Result]:
    region = ("--region", options.region) if options.region else ()
    if options.delete:
        deletion = before_deletion(stack, ("sam", "delete", "--stack-name", stack.name, *region, "--no-prompts"), run)
        yield from run_checks(DELETION_CHECKS, deletion)
        print(f"What stays, on purpose: {'; '.join(STAYS)}.", file=sys.stderr)
        return
    if options.update:
        update = before_update(stack, (*deployment(stack.name, config), *region), run)
        yield from run_checks(UPDATE_CHECKS, update)
    yield from run_checks((*BEFORE_API, *API_CHECKS, *AFTER_API), stack)


def _parse_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="smoke", description=__doc__)
    parser.add_argument("stack", metavar="STACK", help="the stack's name, as given to sam deploy")
    parser.add_argument("--region", help="default: the AWS CLI's own ($AWS_DEFAULT_REGION, or the profile's)")
    change = parser.add_mutually_exclusive_group()
    change.add_argument("--update", action="store_true", help="deploy the build (with a new index) and watch it")
    change.add_argument("--delete", action="store_true", help="delete the stack and look for leftovers")
    parser.add_argument("--yes", action="store_true", help="with --delete: do not ask")
    parser.add_argument("--wait", type=float, default=300.0, metavar="S", help="longest wait for logs and metrics")
    parser.add_argument("--off-topic", default=OFF_TOPIC, metavar="Q", help="a question that must be declined")
    parser.add_argument("--json", action="store_true", help="print JSON on stdout")
    return parser.parse_args(arguments)


def _confirm_deletion(stack: str) -> bool:
    print(f"This deletes the stack {stack!r}, its index, its logs and what people said. Its name, to go on: ", end="")
    sys.stdout.flush()
    return sys.stdin.readline().strip() == stack


if __name__ == "__main__":
    sys.exit(main())
