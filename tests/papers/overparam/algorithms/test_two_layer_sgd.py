"""Algorithm 1 line by line, and its draws."""

import math
from typing import Any

import torch

from beyondkernels.core import Sample, Stream
from beyondkernels.engine import Member, train
from beyondkernels.papers.overparam import TwoLayerLearner, TwoLayerSGD
from stepping import started

SAMPLE = Sample(Stream(0).child("x").normal(6, 3), Stream(0).child("y").normal(6, 1))


def member(steps: int) -> Member:
    return started(TwoLayerLearner(8), TwoLayerSGD(steps, 0.3), SAMPLE, Stream(1))


def test_algorithm_1_line_by_line():
    """Increments from zero, one point a step, gradients of σ with σ′(z) = 1 for z ≥ 0."""
    found = member(12)
    W0, b, a = found.params["W"].double(), found.buffers["b1"].double(), found.buffers["a"][0].double()
    rows: Any = found.rows(0, 12)
    W = torch.zeros_like(W0)
    for (i,) in rows.tolist():
        x, y = SAMPLE.x[i].double(), float(SAMPLE.y[i])
        z = (W0 + W) @ x + b
        e = float((a * z.clamp(min=0)).sum()) - y
        slope = e / math.sqrt(1 + e * e)
        W = W - 0.3 * slope * torch.outer(a * (z >= 0), x)
    with torch.no_grad():
        train([found], [frozenset()], lambda _: None)
    torch.testing.assert_close(found.params["W"].double(), W0 + W, rtol=1e-5, atol=1e-6)


def test_points_are_drawn_with_replacement():
    """Each point equally often within six standard errors; the first six draws are no permutation for most seeds."""
    rows: Any = member(6000).rows(0, 6000)
    counts = torch.bincount(rows[:, 0], minlength=6).double()
    assert bool(((counts - 1000).abs() < 6 * math.sqrt(6000 * 5 / 36)).all())
    epochs = rows.reshape(1000, 6).sort(1).values
    assert int((epochs == torch.arange(6)).all(1).sum()) < 60  # 6!/6⁶ = 1.5 % of them


def test_draws_depend_on_the_step_alone():
    found = member(50)
    whole, part = found.rows(0, 50), found.rows(20, 10)
    assert whole is not None
    assert part is not None
    assert torch.equal(whole[20:30], part)
