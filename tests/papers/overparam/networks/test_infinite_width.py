"""Tangent kernels of the wide learners: entry by entry, and against finite networks."""

import math

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.kernels import MeanOverDraws, infinite_tangent
from beyondkernels.papers.overparam.networks import InfiniteLearnerTangent, ThreeLayerLearner, TwoLayerLearner
from refusals import refused

X = Stream(0).normal(4, 3, dtype=torch.float64)


def relu_pair(a: float, b: float, c: float) -> tuple[float, float]:
    """E σ(u)σ(v) and E σ′(u)σ′(v) by the angle between u and v."""
    angle = math.acos(max(-1.0, min(1.0, c / math.sqrt(a * b))))
    value = math.sqrt(a * b) * (math.sin(angle) + (math.pi - angle) * math.cos(angle)) / (2 * math.pi)
    return value, (math.pi - angle) / (2 * math.pi)


def mixed(a: float, b: float, c: float) -> tuple[float, float]:
    plain, biased = relu_pair(a, b, c), relu_pair(a + 2, b + 2, c + 2)
    return (plain[0] + biased[0]) / 2, (plain[1] + biased[1]) / 2


def entry(x: torch.Tensor, y: torch.Tensor, std: float, m1: int, m2: int | None, group: str) -> float:
    a, b, c = float(x @ x), float(y @ y), float(x @ y)
    q, s1 = mixed(a, b, c)
    if m2 is None:
        return std**2 * m1 * c * s1
    s2 = mixed(mixed(a, a, a)[0], mixed(b, b, b)[0], q)[1]
    parts = {"W": m1 * c * s1 * s2, "V": m2 * q * s2}
    return std**2 * (sum(parts.values()) if group in ("all", "hidden") else parts[group])


@pytest.mark.parametrize(
    ("m2", "group"), [(None, "all"), (None, "W"), (70, "all"), (70, "hidden"), (70, "W"), (70, "V")]
)
def test_entry_by_entry(m2, group):
    kernel = InfiniteLearnerTangent(30, 0.4, m2, group)
    expected = [[entry(x, y, 0.4, 30, m2, group) for y in X] for x in X]
    torch.testing.assert_close(kernel(X), torch.tensor(expected, dtype=torch.float64))
    assert kernel.error(X) < 1e-10 * float(kernel(X).abs().max()) + 1e-10


@pytest.mark.parametrize(
    ("network", "draws"),
    [(TwoLayerLearner(500, 0.5), 40), (ThreeLayerLearner(500, 0.5, second_width=200), 40)],
    ids=["two layers", "three layers"],
)
def test_the_mean_over_networks_is_the_kernel(network, draws):
    """Within six standard errors; with three layers up to what a first layer of 500 neurons leaves."""
    mean = MeanOverDraws(network, draws)
    found, exact = mean(X), infinite_tangent(network)(X)
    room = 0.0 if isinstance(network, TwoLayerLearner) else 0.01 * float(exact.abs().max())
    assert bool(((found - exact).abs() < 6 * mean.standard_error(X) + room).all())
    assert float((found - exact).abs().max()) < 0.1 * float(exact.abs().max())


def test_networks_name_their_kernels():
    assert infinite_tangent(TwoLayerLearner(5, 0.5)) == InfiniteLearnerTangent(5, 0.5)
    assert infinite_tangent(ThreeLayerLearner(5), "V") == InfiniteLearnerTangent(5, 1.0, 5, "V")
    assert (
        str(InfiniteLearnerTangent(5)) == "infinite-width tangent kernel of the two-layer learner, width 5, group: all"
    )
    refused("group must be one of all, hidden, W, got 'V'", infinite_tangent, TwoLayerLearner(5), "V")
    refused(r"group must be a name, such as all, W or V, got \(1,\)", infinite_tangent, TwoLayerLearner(5), (1,))
