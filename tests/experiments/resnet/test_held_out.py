"""What a search may see: seeds of its own, validation points apart from test points, every seed before a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from beyondkernels.experiments.resnet.held_out import require_unseen, search_errors, search_of, search_seeds
from beyondkernels.experiments.resnet.search import Axis

from beyondkernels.core import InputError


@dataclass(frozen=True)
class Numbers:
    search_seeds: int = 2
    validation_samples: int = 10
    test_samples: int = 30


NUMBERS = Numbers()
AXES = Axis((0.1, 0.2, 0.5), (0.1, 0.5)), Axis((0.01, 0.02, 0.05), (0.01, 0.05))


def outcome(test: float, validation: float, status: str = "finished") -> Any:
    """A run whose test sample begins with the validation points."""
    n, v = 40, 10
    whole = (v * validation + (n - v) * test) / n
    return SimpleNamespace(
        status=status, scalars={"test_loss": whole}, series={"test_loss": np.array([9.0, validation])}
    )


def finished(test, validation) -> Any:
    """Every run of the grid, its errors functions of rate, decay and seed."""
    return {
        (rate, decay, seed): SimpleNamespace(outcome=outcome(test(rate, decay, seed), validation(rate, decay, seed)))
        for rate in AXES[0].values
        for decay in AXES[1].values
        for seed in search_seeds(NUMBERS)
    }


def label(point, seed):
    return (*point, seed)


def test_errors_are_of_disjoint_points():
    assert search_errors(outcome(0.7, 0.2), NUMBERS) == pytest.approx((0.7, 0.2))
    assert search_errors(outcome(0.7, 0.2, "diverged"), NUMBERS) == (float("inf"), float("inf"))


def test_the_mean_over_seeds_decides_and_each_criterion_for_itself():
    def on_test(rate, decay, seed):
        if (rate, decay) == (0.1, 0.01):
            return 0.0 if seed == 1000 else 10.0  # one lucky seed
        return abs(rate - 0.2) + abs(decay - 0.02)

    def on_validation(rate, decay, seed):
        return abs(rate - 0.5) + abs(decay - 0.05)

    found = search_of(AXES, label, finished(on_test, on_validation), NUMBERS).found
    assert found is not None
    assert [each.point for each in found] == [(0.2, 0.02), (0.5, 0.05)]
    assert [each.on_edge for each in found] == [False, True]


def test_a_missing_seed_leaves_the_search_open():
    runs = finished(lambda *_: 1.0, lambda *_: 1.0)
    assert search_of(AXES, label, runs, NUMBERS).found is not None
    del runs[0.2, 0.02, 1001]
    assert search_of(AXES, label, runs, NUMBERS).found is None


def test_reported_seeds_are_not_those_of_the_search():
    require_unseen([0, 1, 999, 1002], NUMBERS)
    with pytest.raises(InputError, match=r"seeds must not be those of the search, got \[1001\]"):
        require_unseen([0, 1001], NUMBERS)
