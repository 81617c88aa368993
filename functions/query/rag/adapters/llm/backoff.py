"""The pause before a retry: exponential backoff, or the wish in the server's headers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoffPolicy:
    """The calls after the first, and the pauses before them: see ``backoff_s``."""

    retries: int
    base_s: float
    cap_s: float
    jitter: float = 0.25


def backoff_s(attempt: int, policy: BackoffPolicy, *, random: Callable[[], float]) -> float:
    """Return the seconds to wait after failed attempt number ``attempt`` (from 1).

    ``min(base * 2**(attempt - 1) * (1 + random() * jitter), cap)``, the Waypoint seed's calculateBackoff:
    with base 1, cap 10 and jitter .25 it waits 1-1.25, 2-2.5, 4-5, 8-10, then 10 s. ``random`` returns 0..1,
    ``jitter`` is the share of the delay that it may add.
    """
    try:
        exponential_s = math.ldexp(policy.base_s, attempt - 1)
    except OverflowError:
        return policy.cap_s
    return min(exponential_s + random() * policy.jitter * exponential_s, policy.cap_s)


def retry_after_s(headers: Mapping[str, str], *, now: float) -> float | None:
    """Return the seconds that the server asks to wait, never negative; None without a readable header.

    Reads ``retry-after-ms`` (milliseconds) before ``retry-after`` (seconds, or an HTTP date, which is compared
    with ``now``, Unix seconds). ``headers`` must find lower-case names.
    """
    for name, per_second in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        with suppress(ValueError):
            if math.isfinite(delay := float(headers.get(name, ""))):
                return max(0.0, delay / per_second)
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    if moment.tzinfo is None:  # RFC 9110's old asctime form names no zone and means UTC
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, moment.timestamp() - now)
