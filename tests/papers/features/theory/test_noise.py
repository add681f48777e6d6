"""Noise that is a share of what Theorem 34 allows, put back into its condition."""

import math

import pytest

from beyondkernels.papers.features.theory import noise_at


@pytest.mark.parametrize("share", [1 / 16, 0.5, 0.999, 1.0, 3.0])
@pytest.mark.parametrize(("variance", "dim"), [(12.5, 100), (25.0, 500), (0.3, 900)])
def test_noise_is_a_share_of_the_condition(share, variance, dim):
    noise = noise_at(share, variance, dim)
    scale = math.sqrt(variance + dim * noise**2)
    first, second = noise * scale, noise * math.sqrt(dim) / scale
    assert max(first, second) == pytest.approx(share) if share < 1 else first == pytest.approx(share)
    assert second < 1
