"""The two signals in a ResNet's predictions, against sums over all sign vectors and a network written by hand."""

import itertools

import pytest
import torch

from beyondkernels.core import Outcome, Stream
from beyondkernels.networks import ThreeLayerResNet, popular_initialisation
from beyondkernels.papers.resnet import CompositeParity, LearntSignals, Monomial
from measuring import measured
from refusals import refused

PROBLEM = CompositeParity(8, 4, 0.3, 0.5)
NETWORK = ThreeLayerResNet(21, "bottleneck", parameterisation=popular_initialisation(21))


def outcome(params, steps=(3, 7)):
    """Snapshots at two steps; the earlier one holds other numbers and must not be looked at."""
    arrays = {f"snapshot/{steps[0]}/{name}": 0 * value.numpy() for name, value in params.items()}
    return Outcome(arrays=arrays | {f"snapshot/{steps[1]}/{name}": value.numpy() for name, value in params.items()})


def exact(b, a):
    """A network that computes bF + aG(F): each x₁x₂ from four ReLUs, the parity of four signs as a zigzag of their sum.

    The parity of four signs is 1 − (s + 4) + 2(s + 2)₊ − 2s₊ + 2(s − 2)₊ of their sum s.
    """
    W, b1, V, b2, A = torch.zeros(21, 8), torch.zeros(21), torch.zeros(21, 4), torch.zeros(21), torch.zeros(4, 21)
    for j in range(4):
        W[4 * j : 4 * j + 4, 2 * j : 2 * j + 2] = torch.tensor([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
        A[j, 4 * j : 4 * j + 4] = b * torch.tensor([0.5, 0.5, -0.5, -0.5])
    V[17:] = 1 / b
    b2[16:] = torch.tensor([1.0, 4.0, 2.0, 0.0, -2.0])
    A[:, 16:] = a * torch.tensor([-1.0, 1.0, -1.0, 1.0])[:, None] * torch.tensor([1.0, -1.0, 2.0, -2.0, 2.0])
    return {"W.weight": W, "W.bias": b1, "V.weight": V, "V.bias": b2, "A.weight": A}


@pytest.mark.parametrize(("b", "a"), [(0.5, 0.3), (0.25, 0.3), (0.5, 0.0)])
def test_a_network_written_by_hand(b, a):
    params = exact(b, a)
    for signs in itertools.product((-1.0, 1.0), repeat=8):
        F = [signs[0] * signs[1], signs[2] * signs[3], signs[4] * signs[5], signs[6] * signs[7]]
        expected = [b * f + a * s * F[0] * F[1] * F[2] * F[3] for f, s in zip(F, (-1, 1, -1, 1), strict=True)]
        assert NETWORK.apply(params, {}, torch.tensor([signs]))[0][0].tolist() == pytest.approx(expected, abs=1e-5)
    found = measured(LearntSignals(500), outcome(params), PROBLEM)
    assert found.scalars == pytest.approx({"base_coefficient": b, "composite_coefficient": a}, abs=1e-6)
    assert (dict(found.series), dict(found.arrays)) == ({}, {})


def test_what_is_neither_signal_is_left_out():
    """Normal equations in plain Python for a random network, on the very points."""
    params = NETWORK.init(8, 4, Stream(0))[0]
    sample = PROBLEM.sample(60, Stream(5).child("learnt"))
    out, F, G = (
        part.double().flatten().tolist()
        for part in (NETWORK.apply(params, {}, sample.x)[0], sample.hidden["base"], sample.hidden["composite"])
    )
    ff, gg, fg = (sum(p * q for p, q in zip(*pair, strict=True)) for pair in ((F, F), (G, G), (F, G)))
    fo, go = (sum(p * q for p, q in zip(signal, out, strict=True)) for signal in (F, G))
    det = ff * gg - fg**2
    found = measured(LearntSignals(60, seed=5), outcome(params), PROBLEM).scalars
    expected = {"base_coefficient": (gg * fo - fg * go) / det, "composite_coefficient": (ff * go - fg * fo) / det}
    assert found == pytest.approx(expected, rel=1e-4)


def test_sentences():
    refused(r"to have two signals, got Monomial$", measured, LearntSignals(), outcome(exact(1.0, 0.3)), Monomial(8))
    refused(r"^the run kept no snapshot of A\.weight", measured, LearntSignals(), Outcome(), PROBLEM)
