import math

import pytest

from beyondkernels.papers.overparam.measurements import samples_that_suffice


def test_samples_that_suffice():
    assert samples_that_suffice([10, 100], [0.5, 0.005], 0.05) == pytest.approx(math.sqrt(1000))
    assert samples_that_suffice([10, 20, 40, 80], [1.0, 0.025, 0.2, 0.0125], 0.05) == pytest.approx(40 * 2**0.5)
    for losses in ([1.0, 0.9], [0.05, 0.025], [1.0, math.nan]):
        assert math.isnan(samples_that_suffice([10, 100], losses, 0.05))
