"""The layer's bill of materials (CycloneDX): every package that went into it, with its licence, and the model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


def write(layer: Path, out: Path) -> None:
    """Write the bill of a built ``layer`` (the folder that Lambda unpacks into /opt) to ``out``.

    The packages are those whose metadata is in the layer, not those of a list: what the build left out is not in it.
    Packages whose code was pruned keep their licence in the layer, and their line here. The same layer gives the same
    bytes.

    Raises:
        CalledProcessError: cyclonedx-py found something that it cannot describe.
    """
    # -I keeps the layer's packages from cyclonedx-py itself, -S this environment's packages from the bill.
    command = [sys.executable, "-I", "-W", "ignore", "-m", "cyclonedx_py", "environment", "-S"]
    command += ["--pyproject", str(ROOT / "pyproject.toml"), "--output-reproducible", sys.executable]
    listed = subprocess.run(  # noqa: S603 - fixed words and our own paths
        command, env={"PYTHONPATH": str(layer / "python")}, stdout=subprocess.PIPE, check=True
    )
    bill = json.loads(listed.stdout)
    bill["components"].append(_model(layer / "python" / "model"))
    out.write_text(json.dumps(bill, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _model(folder: Path) -> dict[str, Any]:
    """The embedding model as a component: its name, and the hash of each of its files."""
    told = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    return {
        "type": "machine-learning-model",
        "bom-ref": "model",
        "name": told["model"],
        "hashes": [{"alg": "SHA-256", "content": told["weights_sha256"]}],
        "components": [
            {"type": "file", "name": name, "hashes": [{"alg": "SHA-256", "content": file["sha256"]}]}
            for name, file in sorted(told["files"].items())
        ],
    }
