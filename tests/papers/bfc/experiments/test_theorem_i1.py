from typing import Any

import pytest

from beyondkernels.core import Outcome
from beyondkernels.lab import At
from beyondkernels.papers.bfc.certificates import SparseTargetCertificate
from beyondkernels.papers.bfc.experiments.theorem_i1 import (
    GROWING,
    KERNELS,
    NETWORK,
    TheoremI1,
    TheoremI1Settings,
)
from papers.judging import check_figures, finish, refuse, undecided

EXPERIMENT = TheoremI1()
SETTINGS = EXPERIMENT.settings("smoke")
SEEDS = (0, 1, 2)


def test_figures_show_both_numbers_of_a_kernel() -> None:
    def outcome(at: At, _: Any) -> Outcome:
        if at.method in (NETWORK, GROWING):
            return Outcome(scalars={"test_loss": 1.0})
        return Outcome(scalars={"low": 2.0, "risk": 3.0, "error": 0.1, "low_top": 0.4, "top": 0.6, "dimension": 3.0})

    read = finish(EXPERIMENT, SETTINGS, SEEDS, outcome)
    check_figures(read, ["risk-2", "top-2", "risk-3", "top-3", "growth"])
    assert undecided(read) == []
    for figure in read.figures[:-1]:
        lines = {line.label: line for line in figure.lines}  # pyright: ignore[reportAttributeAccessIssue]
        _, _, low, high = lines["quartic kernel"].summary("range")
        wanted = (2.0, 3.0) if figure.name.startswith("risk") else (0.4, 0.6)
        assert {*zip(low, high, strict=True)} == {wanted}
        if NETWORK in lines:
            _, mean, low, high = lines[NETWORK].summary("range")
            assert list(low) == list(mean) == list(high)


def test_the_bound_is_that_of_the_certificate() -> None:
    s = TheoremI1Settings()
    for depth in (2, 3):
        n = s.compared(depth)
        certificate = SparseTargetCertificate(n, s.dim(depth), depth, s.alpha)
        assert certificate.targets == s.places(depth)
        assert s.bound(depth, n) * certificate.top**2 == pytest.approx(certificate.mean_risk)
    assert s.compared(2) == 150 and s.compared(3) == 600
    assert len(KERNELS) == 7


def test_bad_settings() -> None:
    refuse(TheoremI1Settings(), {"two_samples": (300, 400)}, "two_samples must begin with at most C/2 = 217 points")
