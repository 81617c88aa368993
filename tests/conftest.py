"""What holds for every test."""

from __future__ import annotations

import os

from hypothesis import settings

# No deadline: on a busy machine the clock says nothing about the code. CI tries the same examples every time, so that
# a landing never fails by chance; developers' runs explore.
settings.register_profile("dev", deadline=None)
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
