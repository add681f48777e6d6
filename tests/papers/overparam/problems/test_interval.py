import torch

from beyondkernels.activations import Cosine
from beyondkernels.core import Stream
from beyondkernels.papers.overparam.problems import IntervalFunction


def test_points_are_uniform_and_labels_exact():
    problem = IntervalFunction(Cosine(3.0))
    assert (problem.in_dim, problem.out_dim) == (1, 1)
    drawn = problem.sample(20_000, Stream(100))
    assert drawn.x.shape == drawn.y.shape == (20_000, 1)
    assert -1 <= float(drawn.x.min()) < -0.99 < 0.99 < float(drawn.x.max()) <= 1
    assert abs(float(drawn.x.mean())) < 4 / (3 * 20_000) ** 0.5
    assert torch.allclose(drawn.y, torch.cos(3 * drawn.x.double()).float())
