from typing import Any

from beyondkernels.core import Outcome
from beyondkernels.lab import At
from beyondkernels.papers.bfc.experiments.theorem_i6 import DEEP, DEPTHS, NARROW, WIDE_3, TheoremI6
from papers.judging import check_figures, finish, refuted

EXPERIMENT = TheoremI6()
SETTINGS = EXPERIMENT.settings("laptop")
SEEDS = (0, 1, 2)


def test_claims_and_figures() -> None:
    def outcome(at: At, _: Any) -> Outcome:
        over = 1e-4 if at.method == DEEP else 1.2
        bound = SETTINGS.certificate(at.case, at.neurons).risk
        return Outcome(scalars={"test_loss": bound * over or 1e-9, "variance": 10.0, "iterations": 3.0})

    read = finish(EXPERIMENT, SETTINGS, SEEDS, outcome)
    assert refuted(read) == []
    check_figures(read, ["wide-3", "narrow-2", "wide-2"])


def test_ranks_are_those_of_the_certificates() -> None:
    for case in DEPTHS:
        certificate = SETTINGS.certificate(case, 1)
        assert certificate.rank == SETTINGS.rank(case)
        assert SETTINGS.certificate(case, SETTINGS.rank(case)).risk == 0


def test_the_deep_network_has_too_few_neurons_for_two_layers() -> None:
    assert SETTINGS.deep_neurons(WIDE_3) == SETTINGS.three_dim + 3 < SETTINGS.rank(WIDE_3)
    assert SETTINGS.deep_neurons(NARROW) == SETTINGS.narrow_dim + 1 < SETTINGS.rank(NARROW)  # with the squares
