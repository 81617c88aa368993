"""The version of the program. pyproject.toml reads it here, since Lambda has no metadata of a package that is ours."""

from __future__ import annotations

VERSION = "0.2.0"
