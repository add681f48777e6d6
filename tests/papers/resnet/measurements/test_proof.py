"""Claim C.6 and App. C.4 over a whole run, against sums and ratios written out."""

import math

import numpy as np
import pytest

from beyondkernels.core import Outcome
from beyondkernels.papers.resnet.measurements import error_along, regret_along, regret_ratio

STEPS = np.array([0, 4, 10])
RUN = Outcome(
    "finished",
    {"first_witness": 1.5, "second_witness": 0.3},
    {
        "coupling/step": STEPS,
        "coupling/first_radius": np.array([0.0, 1.0, 2.0]),
        "coupling/second_radius": np.array([0.0, 0.5, 0.4]),
        "regret/step": STEPS,
        "regret/risk": np.array([1.2, 0.7, 0.1]),
        "regret/error": np.array([0.4, 1.5, 0.05]),
        "regret/error_max": np.array([1.0, 2.0, 3.0]),
        "regret/regret": np.array([1.0, 0.5, -0.1]),
        "regret/first_gradient": np.array([2.0, 1.0, 0.5]),
        "regret/second_gradient": np.array([0.3, 0.2, 0.1]),
    },
)


def test_the_sum_of_regrets_step_by_step() -> None:
    """Trapezoids are the integral of the straight lines between snapshots, here by a fine sum."""
    regret, risk = {0: 1.0, 3: 0.5, 10: 0.2, 40: -0.01}, {0: 1.2, 3: 0.7, 10: 0.3, 40: 0.02}
    ratios = []
    for end in (3, 10, 40):
        t = (np.arange(end * 1000) + 0.5) / 1000
        left = np.interp(t, list(regret), list(regret.values())).mean()
        drift = 0.1 * np.interp(t, list(risk), list(risk.values())).mean()
        ratios.append(left / (1.5**2 / (2 * 0.5 * end) + 0.3**2 / (2 * 0.25 * end) + drift))
    start = 1.5**2 / 0.5 + 0.3**2 / 0.25
    found = regret_ratio(tuple(regret), list(regret.values()), list(risk.values()), start)
    assert found == pytest.approx(max(ratios), rel=1e-6)


def test_the_error_where_it_is_worst() -> None:
    """α = 0.1, L_G = 2, B_F = 3, α̃ = 0.2; τ_v is the witness's norm at the start and the run's own later."""
    sides = []
    for tau, risk in ((0.3, 1.2), (0.5, 0.7), (0.4, 0.1)):
        sides.append((tau + 0.2) ** 2 * risk + (0.04 + 4 * tau**2 + 0.1 * tau * 2 * 4) ** 2)
    found = error_along(RUN, alpha=0.1, lipschitz=2.0, base_norm=3.0, accuracy=0.2)
    assert (found["error"], found["error_step"]) == (1.5, 4)
    assert found["error_bound"] == pytest.approx(sides[1], rel=1e-12)
    assert found["error_ratio"] == pytest.approx(max(0.4 / sides[0], 1.5 / sides[1], 0.05 / sides[2]), rel=1e-12)
    assert found["error_size"] == pytest.approx(math.sqrt(2) / 1.5)  # not √3/2, where the run's own norm is larger


def test_regret_and_gradients() -> None:
    found = regret_along(RUN, first_rate=0.05, second_rate=0.01)
    start = (1.5**2 / 0.05 + 0.3**2 / 0.01) / 2
    sums = [(3.0, 3.8), (3.0 + 1.2, 3.8 + 2.4)]  # of Ξ and of the risk, up to steps 4 and 10
    assert found["regret_ratio"] == pytest.approx(max(left / (start + 0.1 * risk) for left, risk in sums))
    assert found["gradient_share"] == pytest.approx((0.05 * 0.5 + 0.01 * 0.1) / (2 * 0.1))
