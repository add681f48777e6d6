"""The mean of yx over samples against its expectation."""

import numpy as np
import pytest

from beyondkernels.core import Stream
from beyondkernels.papers.features.problems import RepresentationLabels
from beyondkernels.papers.features.theory import direction_cosine


def test_the_cosine_by_drawing():
    problem = RepresentationLabels(40, 30, 10, 8, 0.5, instance=3)
    found = []
    for seed in range(20):
        sample = problem.sample(2000, Stream(seed))
        mean = (sample.y[:, None] * sample.x).double().mean(0)
        found.append(float(mean @ problem.direction / mean.norm()))
    error = float(np.std(found)) / 20**0.5
    expected = direction_cosine(problem, 2000)
    assert np.mean(found) == pytest.approx(expected, abs=4 * error + 1e-3)
    assert 1 - expected > 3e-3
