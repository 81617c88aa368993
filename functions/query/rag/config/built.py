"""What the deployed folder was built for: ``built.json``, which the function's Makefile writes."""

from __future__ import annotations

import json
import platform
from pathlib import Path

from rag.config.settings import DEFAULT_PROFILE, Settings
from rag.errors import ConfigurationError

BUILT = Path(__file__).resolve().parents[2] / "built.json"
MACHINES = {"x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}
"""What a machine calls itself, and Lambda's name for it."""


def check_build(settings: Settings, path: Path = BUILT) -> None:
    """Nothing where there is no ``path``, as in the repository.

    Raises:
        ConfigurationError: the folder was built for another profile or another kind of machine.
    """
    if not path.is_file():
        return
    built = json.loads(path.read_text(encoding="utf-8"))
    here = {"PROFILE": settings.profile, "ARCH": MACHINES.get(platform.machine(), platform.machine())}
    for name, parameter in (("PROFILE", "Profile"), ("ARCH", "Architecture")):
        if here[name] not in (built[name], DEFAULT_PROFILE):  # that one is for any documents
            raise ConfigurationError(
                f"The function was built with {name}={built[name]}, and is deployed with {parameter}={here[name]}."
                f" Run: make build {name}={here[name]}"
            )
