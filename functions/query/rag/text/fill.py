"""Filling a prompt template."""

from __future__ import annotations

import re
from collections.abc import Mapping


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return ``template`` with each ``{name}`` of ``values`` replaced, in one pass.

    Placeholders within a value stay: a question may contain ``{context}``.
    """
    names = "|".join(map(re.escape, values))
    return re.sub(rf"\{{({names})\}}", lambda match: values[match[1]], template) if names else template
