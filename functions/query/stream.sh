#!/bin/bash
# AWS_LAMBDA_EXEC_WRAPPER=/var/task/stream.sh: Lambda calls it with the command of its own runtime ("python3.13
# bootstrap.py"); the same Python then runs ours, which can stream (docs/adr/0020-own-streaming-runtime.md).
exec "$1" "$LAMBDA_TASK_ROOT/runtime/__main__.py"
