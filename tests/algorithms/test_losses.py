import math

import pytest
import torch

from beyondkernels.algorithms import ClassWeighted, CrossEntropy, Hinge, PseudoHuber, Scaled, Squared


def test_hinge_point_by_point():
    out, y = torch.tensor([[2.0], [0.5], [-0.5], [0.0]]), torch.tensor([1.0, 1.0, 1.0, -1.0])
    assert Hinge().each(out, y).tolist() == [0.0, 0.5, 1.5, 1.0]
    report = Hinge().report(out, y)
    assert report["loss"] == pytest.approx(0.75)
    assert report["accuracy"] == 0.625  # two right, one wrong, and one output of zero that decides nothing


def test_squared_is_summed_over_outputs():
    out, y = torch.tensor([[1.0, 2.0], [0.0, 0.0]]), torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    assert Squared().each(out, y).tolist() == [5.0, 25.0]
    assert Squared().report(out, y) == {"loss": 15.0}
    assert Squared().each(torch.tensor([[2.0]]), torch.tensor([1.0])).tolist() == [1.0]


def test_cross_entropy_point_by_point():
    """Against the formula with plain numbers, and far out, where the formula overflows."""
    out, y = torch.tensor([[2.0], [0.5], [-0.5], [0.0]]).double(), torch.tensor([1.0, -1.0, 1.0, -1.0]).double()
    for scale in (1.0, 3.0):
        expected = [math.log(1 + math.exp(-scale * a * b)) for a, b in zip(out[:, 0].tolist(), y.tolist(), strict=True)]
        assert CrossEntropy(scale).each(out, y).tolist() == pytest.approx(expected, rel=1e-12)
        assert CrossEntropy(scale).each(out, y[:, None]).tolist() == pytest.approx(expected, rel=1e-12)
    assert CrossEntropy(2.0).each(torch.tensor([[-1e4], [1e4]]), torch.ones(2)).tolist() == [2e4, 0.0]
    report = CrossEntropy(3.0).report(out, y)
    assert report["loss"] == pytest.approx(sum(expected) / 4)
    assert report["accuracy"] == 0.375


def test_class_weights_point_by_point():
    out, y = torch.tensor([[2.0], [0.5], [-0.5], [0.0]]).double(), torch.tensor([1.0, 1.0, -1.0, -1.0]).double()
    weighted = ClassWeighted(Hinge(), (1 / 0.6, 1 / 3))
    expected = [0.0, 0.5 / 3, 0.5 / 0.6, 1 / 0.6]
    assert weighted.each(out, y).tolist() == pytest.approx(expected, rel=1e-14)
    assert weighted.each(out, y[:, None]).tolist() == pytest.approx(expected, rel=1e-14)
    report = weighted.report(out, y)
    assert report["loss"] == pytest.approx(sum(expected) / 4)
    assert report["accuracy"] == Hinge().report(out, y)["accuracy"]


def test_pseudo_huber_point_by_point():
    out, y = torch.tensor([[1.0, 2.0], [0.0, 0.0]]), torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    expected = [math.sqrt(6) - 1, math.sqrt(26) - 1]
    assert PseudoHuber().each(out, y).tolist() == pytest.approx(expected)
    assert PseudoHuber().report(out, y)["loss"] == pytest.approx(sum(expected) / 2)
    small = torch.tensor([[1e-4]])
    assert PseudoHuber().each(small, torch.zeros(1)).item() == pytest.approx(5e-9, rel=1e-5)


def test_scaled():
    out, y = torch.tensor([[2.0], [0.5]]), torch.tensor([1.0, 1.0])
    assert Scaled(Hinge(), 3.0).each(out, y).tolist() == [0.0, 1.5]
    assert Scaled(Hinge(), 3.0).report(out, y) == {"loss": 0.75, "accuracy": 1.0}
