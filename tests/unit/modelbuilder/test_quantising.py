"""Weights as 7-bit integers: how far off, and never so large that a processor overflows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from modelbuilder.quantising import INNER_OUTLIERS, RESIDUAL_OUTLIERS, WEIGHT_MAX, divisors, quantise

ACTIVATION_MAX = 255  # activations are uint8
INT16_MAX = 2**15 - 1

matrices = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.floats(-100, 100, width=32).filter(lambda value: value == 0 or abs(value) > 1e-3),
)


@given(value=matrices, axis=st.sampled_from([0, 1]), largest=st.sampled_from([63, 127]))
def test_each_value_comes_back_within_half_a_step(value: NDArray[np.float32], axis: int, largest: int) -> None:
    integers, scales = quantise(value, axis=axis, largest=largest)
    steps = np.expand_dims(scales, axis)
    assert np.abs(integers).max() <= largest
    assert (np.abs(integers * steps - value) <= steps * 0.5001).all()


def test_a_channel_of_zeros_stays_zero() -> None:
    integers, scales = quantise(np.array([[0, 1], [0, -4]], dtype=np.float32), axis=0, largest=WEIGHT_MAX)
    assert integers.tolist() == [[0, 16], [0, -63]]
    assert scales.tolist() == pytest.approx([1, 4 / 63])


def test_a_pair_of_products_fits_into_16_bits() -> None:
    # x86 without VNNI adds two uint8 x int8 products in a saturating int16
    assert 2 * ACTIVATION_MAX * WEIGHT_MAX <= INT16_MAX


def test_divisors_are_exact_in_floating_point() -> None:
    for outliers in (RESIDUAL_OUTLIERS, *INNER_OUTLIERS.values()):
        by = divisors(outliers, 1536)
        assert (np.log2(by) % 1 == 0).all()
        assert (by != 1).sum() == len(outliers)
