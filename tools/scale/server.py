"""A Chroma server of one measurement, in a folder of its own."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

START_S = 120.0


class Server:
    """``chroma run`` with the data in ``folder``, on a free port of this machine, until the block ends."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self.uri = f"chroma://127.0.0.1:{self.port}/default_tenant/default_database"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        command = [str(Path(sys.executable).parent / "chroma"), "run"]
        options = ["--path", str(self.folder), "--host", "127.0.0.1", "--port", str(self.port)]
        self._process = subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL)
        until = time.monotonic() + START_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                if time.monotonic() > until:
                    self.__exit__(None, None, None)
                    raise
                time.sleep(0.05)
            else:
                return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=START_S)

    def restart(self) -> None:
        """Stop it and start it again: nothing of the data is in its memory then."""
        self.__exit__(None, None, None)
        self.__enter__()

    def memory_mb(self, which: str) -> float:
        """``VmHWM``, the most that it ever had, or ``VmRSS``, what it has now."""
        assert self._process is not None  # noqa: S101 - only within the block
        status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii")
        found = re.search(rf"{which}:\s+(\d+) kB", status)
        return int(found[1]) / 1024 if found else 0.0

    def disk_bytes(self) -> int:
        """What is in the folder."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())
