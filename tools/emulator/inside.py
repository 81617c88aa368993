"""The program in the emulator's own mount (and network) namespace: lay out Lambda's folders, serve invocations.

Reads one JSON event a line from standard input, writes one JSON outcome a line to standard output. Started by
``emulator.session`` through ``unshare``; never by hand.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from emulator.rie import EmulatorEnded, Rie

OPT = Path("/opt")
TASK = Path("/var/task")


def mount_artefacts(task: Path, opt: Mapping[str, str]) -> Path:
    """Mount the function and its layers read-only in Lambda's folders; return the function's folder.

    The machine's own folders in /opt (perhaps its Python) stay visible beside the layers.
    """
    old = Path(tempfile.mkdtemp(prefix="opt-"))
    _run("mount", "--rbind", str(OPT), str(old))
    _run("mount", "-t", "tmpfs", "tmpfs", str(OPT))
    for entry in old.iterdir():
        if entry.is_dir() and entry.name not in opt:
            (OPT / entry.name).mkdir()
            _run("mount", "--rbind", str(entry), str(OPT / entry.name))
    for name, folder in opt.items():
        _bind(Path(folder), OPT / name)
    # First unmounted, then removed: the machine's own /opt is mounted there.
    _run("umount", "--lazy", str(old))
    old.rmdir()
    try:
        TASK.mkdir(parents=True, exist_ok=True)
        place = TASK
    except PermissionError:
        # Only root may make /var/task; the function does not care where its folder is.
        place = OPT / "task"
    _bind(task, place)
    return place


def _bind(source: Path, target: Path) -> None:
    target.mkdir(exist_ok=True)
    _run("mount", "--bind", str(source), str(target))
    _run("mount", "-o", "remount,bind,ro", str(target))


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


def main() -> int:
    """Serve events until standard input ends."""
    plan = json.loads(sys.argv[1])
    place = mount_artefacts(Path(plan["task"]), plan["opt"])
    if plan["isolated"]:
        _run("ip", "link", "set", "lo", "up")
    environment = {
        **plan["environment"],
        "LAMBDA_TASK_ROOT": str(place),
        "PYTHONPATH": f"{place}:{OPT / 'python'}",
        "PATH": "/usr/bin:/bin",
    }
    os.chdir(place)
    command = [plan["python"], "-m", "awslambdaric", plan["handler"]]
    if wrapper := environment.get("AWS_LAMBDA_EXEC_WRAPPER"):
        command.insert(0, wrapper.replace(str(TASK), str(place), 1))  # Lambda calls it with its own command
    # The function is killed, as on Lambda, and cannot tidy up behind itself.
    with (
        tempfile.TemporaryDirectory(prefix="lambda-tmp-") as scratch,
        Rie(plan["rie"], command, {**environment, "TMPDIR": scratch}) as rie,
    ):
        for line in sys.stdin:
            print(json.dumps(asdict(rie.invoke(json.loads(line)))), flush=True)
    return 0


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except (EmulatorEnded, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"emulator: {error}")
