"""Limits that a measurement must keep, such as ``ndcg=.8,falseRefusals=.2``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evaluate.metrics import BY_NAME, LIMITED

if TYPE_CHECKING:
    from evaluate.figures import Figure


def parse_limits(given: Sequence[str]) -> dict[str, float]:
    """The limits by metric, of ``NAME=VALUE`` with commas between, repeated or not; the last of a name counts.

    Raises:
        ValueError: an unknown name, with those that are accepted; or what is no number.
    """
    limits: dict[str, float] = {}
    for part in (part.strip() for text in given for part in text.split(",")):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in LIMITED:
            raise ValueError(f"{name!r} is not one of {', '.join(LIMITED)}")
        try:
            limits[name] = float(value)
        except ValueError:
            limits[name] = math.nan
        if not math.isfinite(limits[name]):
            raise ValueError(f"{part!r} is not NAME=VALUE with a number")
    return limits


def broken(limits: Mapping[str, float], figures: Sequence[Figure]) -> list[str]:
    """A phrase for each limit that is not kept; a figure that could not be measured keeps none."""
    values = {figure.metric.name: figure.value for figure in figures}
    return [phrase for name, limit in limits.items() if (phrase := _broken(name, values[name], limit))]


def _broken(name: str, value: float | None, limit: float) -> str:
    if value is None:
        return f"{name} could not be measured"
    lower = BY_NAME[name].better == "lower"
    if value > limit if lower else value < limit:
        return f"{name} is {value:.4g}, {'over' if lower else 'under'} {limit:g}"
    return ""
