"""Ranks of features, on features whose ranks are known."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch

from beyondkernels.core import Outcome
from beyondkernels.engine import Predictor
from beyondkernels.papers.bfc.measurements import FoundRanks
from bfc_cases import Net, Target
from measuring import measured


@dataclass(frozen=True)
class Shown(Net):
    """Shows S₂ = A x and no S₃, or an S₃ of zeros."""

    third: bool = True

    def hidden(self, params, buffers, x):
        zeros = {3: torch.zeros(len(x), 4, dtype=torch.float64)} if self.third else {}
        return {2: x @ params["A"].T} | zeros


def ranks(A: torch.Tensor, least: float = 1e-3, third: bool = True) -> dict[str, float]:
    predictor = Predictor(Shown(third=third), {"A": A}, {})
    return dict(measured(FoundRanks(200, least=least), Outcome(predictor=predictor), Target()).scalars)


def test_ranks_of_known_features():
    first = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]], dtype=torch.float64)
    found = ranks(first)
    assert found["ranks/layer2"] == 2
    assert found["ranks/units2"] == 3
    assert found["ranks/target2"] == 2
    assert (found["ranks/layer3"], found["ranks/units3"], found["ranks/target3"]) == (0, 4, 1)
    missing = ranks(first, third=False)
    assert (missing["ranks/layer3"], missing["ranks/units3"]) == (0, 0)


@pytest.mark.parametrize(("least", "rank"), [(1e-3, 1), (1e-5, 2)])
def test_what_is_small_does_not_count(least, rank):
    A = torch.diag(torch.tensor([1.0, 0.01, 0.0], dtype=torch.float64))  # second moments 1 and 1e-4
    assert ranks(A, least)["ranks/layer2"] == rank
