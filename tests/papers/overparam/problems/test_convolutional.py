"""Patches and the ground truth that shares its weights among them."""

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.papers.overparam.problems import ConvolutionalTruth, UnitInputs, gathered, windows

PATCHES = ((0, 2), (3, 1), (1, 2))
TRUTHS = {
    "windows": ConvolutionalTruth(UnitInputs(3), 4, windows(4, 2)),
    "sets": ConvolutionalTruth(UnitInputs(3), 4, PATCHES, ("sin", "exp", "cos"), terms=3, outputs=2, instance=2),
    "constant": ConvolutionalTruth(UnitInputs(3), 4, PATCHES, "tanh", second="constant"),
}


@pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS)
def test_term_by_term(truth):
    x, w = truth.draw(3, Stream(1)), truth.matrices()
    expected = torch.zeros(3, truth.outputs, dtype=torch.float64)
    for n in range(3):
        for i, patch in enumerate(truth.patches):
            part = torch.cat([x[n, row] for row in patch])
            assert float(part.norm()) == pytest.approx(1.0)
            for j, phi in enumerate(truth.functions):
                term = phi.value(w["w1"][j] @ part) * (w["w2"][j] @ part)
                for r in range(truth.outputs):
                    expected[n, r] += w["a"][r, i * truth.terms + j] * term
                if truth.second == "constant":
                    assert float(w["w2"][j] @ part) == pytest.approx(0.5)
    torch.testing.assert_close(truth.target(x), expected)
    for name in ("w1", "w2"):
        torch.testing.assert_close(w[name].norm(dim=1), torch.ones(truth.terms, dtype=torch.float64))


def test_samples():
    truth = TRUTHS["sets"]
    sample = truth.sample(20, Stream(3))
    assert sample.x.shape == (20, 4, 3)
    assert sample.y.shape == (20, 2)
    assert truth.in_dim == 12
    torch.testing.assert_close(sample.y, truth.target(sample.x).float(), rtol=1e-5, atol=1e-5)


def test_windows():
    assert windows(6, 2, stride=2) == ((0, 1), (2, 3), (4, 5))
    x = torch.arange(12.0).view(1, 4, 3)
    assert gathered(x, ((3, 0),))[0, 0].tolist() == [9, 10, 11, 0, 1, 2]
