"""What an LLM's tokens cost, by ``prices.json`` beside this program's folders."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from ragctl.failures import CommandFailed

PRICES = Path(__file__).resolve().parents[1] / "prices.json"
MILLION = 1_000_000


def read_prices(path: Path = PRICES) -> Mapping[str, tuple[float, float]]:
    """USD for a million tokens by model: what it reads, what it writes. Empty where there is no such file.

    Raises:
        CommandFailed: the file is not as it should be.
    """
    if not path.is_file():
        return {}
    try:
        models = json.loads(path.read_text(encoding="utf-8")).get("llm", {})
        return {
            name: (float(price["inputPerMillionUsd"]), float(price["outputPerMillionUsd"]))
            for name, price in models.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as exc:
        shape = '{"llm": {model: {"inputPerMillionUsd": number, "outputPerMillionUsd": number}}}'
        raise CommandFailed(f"{path.name} is not as it should be: {shape}", code="source_unreadable") from exc


def cost_usd(prices: Mapping[str, tuple[float, float]], model: str, *, read: int, written: int) -> float | None:
    """What ``read`` and ``written`` tokens of ``model`` cost in USD; None where its price is not known."""
    price = prices.get(model)
    return None if price is None else (read * price[0] + written * price[1]) / MILLION
