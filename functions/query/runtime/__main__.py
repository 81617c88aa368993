"""``python /var/task/runtime``: ``stream.sh`` starts it in place of the managed runtime.

It sets up paths and logs as the managed runtime does, then serves.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
import traceback
from io import TextIOWrapper


class JsonLine(logging.Formatter):
    """A record as one line of JSON with the fields that Lambda reads: timestamp and level."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without a line break."""
        fields = {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname,
            "message": record.getMessage(),
            "logger": record.name,
        }
        if record.exc_info and (error := record.exc_info[1]):
            fields["errorType"] = type(error).__name__
            fields["errorMessage"] = str(error)
            fields["stackTrace"] = "".join(traceback.format_tb(error.__traceback__))
        return json.dumps(fields, ensure_ascii=False)


def configure_logging() -> None:
    """Make log lines leave at once, as JSON if Lambda asks for it.

    Call it before the program's import, whose own loggers look at the root's handlers.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # Lambda freezes the process between events, and what lies in a buffer with it: metrics are such lines.
            stream.reconfigure(line_buffering=True)
    handler = logging.StreamHandler(sys.stdout)
    if os.environ.get("AWS_LAMBDA_LOG_FORMAT") == "JSON":
        handler.setFormatter(JsonLine())
    logging.getLogger().addHandler(handler)


def main() -> int:
    """Set the import paths of the managed runtime, then serve."""
    task = os.environ["LAMBDA_TASK_ROOT"]
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    first = [task, f"/opt/python/lib/{version}/site-packages", "/opt/python"]
    last = [os.environ.get("LAMBDA_RUNTIME_DIR", "/var/runtime")]  # boto3, and the hooks' registry
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 (as Python puts a script's folder first)
    sys.path[:] = [*first, *(path for path in sys.path if path not in {*first, *last, here}), *last]

    from runtime.api import RuntimeApi
    from runtime.loop import run

    configure_logging()
    return run(RuntimeApi(os.environ["AWS_LAMBDA_RUNTIME_API"]), os.environ["_HANDLER"])


if __name__ == "__main__":
    sys.exit(main())
