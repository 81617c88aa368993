"""What the managed runtime does for a program's logs: lines that leave at once, JSON where Lambda is told JSON."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
import traceback
from io import TextIOWrapper


class JsonLine(logging.Formatter):
    """A record as one line, with the names that Lambda reads: timestamp and level."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without a line's end."""
        told = {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname,
            "message": record.getMessage(),
            "logger": record.name,
        }
        if record.exc_info and (error := record.exc_info[1]):
            told["errorType"] = type(error).__name__
            told["errorMessage"] = str(error)
            told["stackTrace"] = "".join(traceback.format_tb(error.__traceback__))
        return json.dumps(told, ensure_ascii=False)


def set_up() -> None:
    """To be called before the program is imported: its own loggers look at what the root has."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # Lambda freezes the process between events, and what lies in a buffer with it: metrics are such lines.
            stream.reconfigure(line_buffering=True)
    handler = logging.StreamHandler(sys.stdout)
    if os.environ.get("AWS_LAMBDA_LOG_FORMAT") == "JSON":
        handler.setFormatter(JsonLine())
    logging.getLogger().addHandler(handler)
