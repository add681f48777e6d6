"""Accuracy where classes are unequal, class by class."""

import pytest
import torch

import beyondkernels as bk
from beyondkernels.core import Case, Ended, Outcome, Sample


def test_each_class_counts_half() -> None:
    problem = bk.features.DictionaryParity(dim=6, patterns=5, relevant=3)
    y = torch.tensor([[-1.0], [-1.0], [-1.0], [-1.0], [1.0]])
    outputs = torch.tensor([[-1.0], [-1.0], [-1.0], [2.0], [0.0]])  # 3 of 4 right, and an output of 0 is half right

    def found(y: torch.Tensor, outputs: torch.Tensor) -> dict[str, float]:
        sample = Sample(torch.zeros(len(y), 6), y)
        case = Case(problem, sample, sample, bk.core.Stream(0))
        outcome = Outcome("finished", {}, predictor=lambda x: outputs)
        run = Ended(bk.kernels.ConstantClassifier(), case, outcome)
        return dict(bk.features.BalancedAccuracy().measure(run).scalars)

    assert found(y, outputs) == {"test_balanced_accuracy": pytest.approx((3 / 4 + 1 / 2) / 2)}
    assert found(y, -torch.ones(5, 1)) == {"test_balanced_accuracy": 0.5}
    assert found(-torch.ones(5, 1), outputs) == {}
