"""``python -m emulator EVENT.json``: invoke the built function once and print its response."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from emulator.rie import EmulatorError
from emulator.session import Session, built
from rag.profiles import PROFILES


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the HTTP status, the body, the function's log and the emulator's report lines.

    The exit status is 1 without an HTTP response: the function crashed, did not start, or is not built. An event that
    is not JSON and an unknown profile are bad usage, 2.
    """
    parser = argparse.ArgumentParser(prog="emulator", description=__doc__)
    parser.add_argument("event", type=read_event, metavar="EVENT", help="a JSON file, such as tests/events/query.json")
    parser.add_argument("--profile", default="waypoint", choices=list(PROFILES), help="the parameter Profile")
    options = parser.parse_args(arguments)
    try:
        with Session(built(), parameters={"Profile": options.profile}) as session:
            invocation = session.invoke(options.event)
    except EmulatorError as exc:
        print(exc, file=sys.stderr)
        return 1
    reply = invocation.body
    for line in invocation.lines:
        print(line, file=sys.stdout if "REPORT" in line else sys.stderr)
    if not isinstance(reply, dict) or "statusCode" not in reply:
        print(json.dumps(reply, indent=2))
        return 1
    print(f"HTTP {reply['statusCode']}")
    print(reply["body"])
    return 0


def read_event(path: str) -> object:
    """Return the event in the file ``path``: any JSON, as Lambda accepts it."""
    try:
        return json.loads(Path(path).read_bytes())
    except OSError as exc:
        raise argparse.ArgumentTypeError(f"{path!r} cannot be read: {exc.strerror}") from exc
    except (ValueError, RecursionError) as exc:
        raise argparse.ArgumentTypeError(f"{path!r} is not JSON: {exc}") from exc


if __name__ == "__main__":
    raise SystemExit(main())
