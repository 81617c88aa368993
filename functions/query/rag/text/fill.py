"""Filling a prompt template."""

from __future__ import annotations

import re
from collections.abc import Mapping


def fill(template: str, values: Mapping[str, str]) -> str:
    """``template`` with each ``{name}`` of ``values`` replaced, in one pass.

    What is filled in is never looked into: a question that says ``{context}`` stays a question.
    """
    names = "|".join(map(re.escape, values))
    return re.sub(rf"\{{({names})\}}", lambda match: values[match[1]], template) if names else template
