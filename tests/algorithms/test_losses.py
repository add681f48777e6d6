import pytest
import torch

from beyondkernels.algorithms import Hinge, Squared


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


def test_labels_may_be_a_column():
    out = torch.tensor([[2.0], [-1.0]])
    assert Hinge().each(out, torch.tensor([[1.0], [1.0]])).tolist() == [0.0, 2.0]
    assert Hinge().report(out, torch.tensor([[1.0], [-1.0]]))["accuracy"] == 1.0
