"""``python /var/task/runtime``: started by ``stream.sh`` in place of the managed runtime."""

from __future__ import annotations

import os
import sys


def main() -> int:
    """Make the paths what the managed runtime makes them, then serve."""
    task = os.environ["LAMBDA_TASK_ROOT"]
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    first = [task, f"/opt/python/lib/{version}/site-packages", "/opt/python"]
    last = [os.environ.get("LAMBDA_RUNTIME_DIR", "/var/runtime")]  # boto3, and the hooks' registry
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 (as Python puts a script's folder first)
    sys.path[:] = [*first, *(path for path in sys.path if path not in {*first, *last, here}), *last]

    from runtime import logs
    from runtime.api import RuntimeApi
    from runtime.loop import run

    logs.set_up()
    return run(RuntimeApi(os.environ["AWS_LAMBDA_RUNTIME_API"]), os.environ["_HANDLER"])


if __name__ == "__main__":
    sys.exit(main())
