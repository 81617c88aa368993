"""How a weight becomes 8-bit integers, and which channels need care so that activations survive it.

Two findings on these very weights shape it (the weights' sha256 is pinned, so they hold for every build):

- Weights use 7 bits. x86 processors without VNNI (what Lambda may give) multiply uint8 by int8 in pairs that
  saturate at 16 bits. With full-range weights that happens, silently, to 1-10 of 100,000 pairs: simulated, a
  text's vector then has a cosine of .96 to .99 with its own from a processor with VNNI. 7-bit weights cannot
  overflow, so every processor computes the same products.
- A few channels are far larger than all others in every text, and one scale per tensor, which is how
  activations are quantised at run time, leaves the others a handful of steps. Those channels are divided by a
  power of two, and their weights multiplied by it (SmoothQuant, arXiv:2211.10438, for single channels). That
  brings the mean cosine against fp32 from .991 to .996, and so more than pays for the 7 bits.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

EMBEDDING_MAX = 127
"""Word vectors are looked up, not multiplied as integers: they may use all of int8."""

WEIGHT_MAX = 63
"""Largest weight as an integer: 2 * 255 * 63 stays below 2**15."""

RESIDUAL_OUTLIERS: Mapping[int, int] = {99: 4, 63: 2, 223: 2, 127: 2}
"""Channel of a layer's input (or of its normalised attention output) -> divisor. They reach 8 to 30; others 2."""

INNER_OUTLIERS: Mapping[int, Mapping[int, int]] = {0: {856: 8}, 1: {607: 8}, 2: {1004: 8, 218: 8}, 3: {358: 8}}
"""Layer -> channel after GELU -> divisor. They reach 13 to 25; others 2, at most 7."""


def quantise(value: NDArray[np.float32], *, axis: int, largest: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return ``value`` as symmetric int8, and one scale per slice: ``value ~ integers * scales``.

    Args:
        value: shape (rows, columns).
        axis: the axis that shares a scale; ``scales`` has the shape without it.
        largest: the integer that the largest magnitude of a slice becomes, at most 127.
    """
    magnitude = np.abs(value).max(axis=axis, keepdims=True)
    scales = np.where(magnitude > 0, magnitude / largest, 1).astype(np.float32)
    return np.rint(value / scales).astype(np.int8), scales.squeeze(axis)


def divisors(outliers: Mapping[int, int], channels: int) -> NDArray[np.float32]:
    """Return the divisor of each channel, shape (channels,): 1 where ``outliers`` names none."""
    result = np.ones(channels, dtype=np.float32)
    for channel, divisor in outliers.items():
        result[channel] = divisor
    return result
