"""What holds for every test."""

from __future__ import annotations

import os

from hypothesis import settings

# CI tries the same examples every time, so that a landing never fails by chance; developers' runs explore.
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")
