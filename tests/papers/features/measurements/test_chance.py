"""What chance allows, by the error function."""

import math

import pytest

from beyondkernels.papers.features.measurements import chance_deviation


def test_many_looks_together_err_as_rarely_as_one():
    error = 0.5 / math.sqrt(300)
    assert chance_deviation(300, 1) == pytest.approx(4 * error)
    beyond = math.erfc(chance_deviation(300, 100) / error / math.sqrt(2))
    assert 100 * beyond == pytest.approx(math.erfc(4 / math.sqrt(2)), rel=1e-6)
