"""``python -m emulator EVENT.json``: invoke the built function once and show what came of it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from emulator.session import NotBuilt, Session, built


def main() -> int:
    """Print the HTTP status, the body, the function's log and the emulator's report lines; 1 when it crashed."""
    parser = argparse.ArgumentParser(prog="emulator", description=__doc__)
    parser.add_argument("event", type=Path, help="a JSON file, such as tests/events/query.json")
    parser.add_argument("--profile", default="waypoint", help="the template's parameter Profile")
    options = parser.parse_args()
    event = json.loads(options.event.read_text(encoding="utf-8"))
    try:
        with Session(built(), parameters={"Profile": options.profile}) as session:
            invocation = session.invoke(event)
    except (NotBuilt, RuntimeError) as exc:
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


if __name__ == "__main__":
    raise SystemExit(main())
