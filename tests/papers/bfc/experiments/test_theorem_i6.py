from typing import Any

from beyondkernels.core import Outcome
from beyondkernels.lab import At, Reading
from beyondkernels.papers.bfc.experiments.theorem_i6 import DEEP, DEPTHS, NARROW, WIDE_2, WIDE_3, TheoremI6
from papers.judging import cases, check_figures, finish, refuted

EXPERIMENT = TheoremI6()
SETTINGS = EXPERIMENT.settings("laptop")
SEEDS = (0, 1, 2)


def reading(**made: Any) -> Reading:
    """Risks as multiples of the bound."""

    def outcome(at: At, _: Any) -> Outcome:
        given = {"over": 1.2, "deep": 1e-4} | made.get(
            {WIDE_2: "wide2", WIDE_3: "wide3", NARROW: "narrow"}[at.case], {}
        )
        bound = SETTINGS.certificate(at.case, at.neurons).risk
        risk = bound * (given["deep"] if at.method == DEEP else given["over"]) * (1 + 0.01 * at.seed)
        return Outcome(scalars={"test_loss": risk or 1e-9, "variance": 10.0, "iterations": 3.0})

    return finish(EXPERIMENT, SETTINGS, SEEDS, outcome)


@cases(
    ({}, []),
    ({"wide3": {"over": 0.98}}, ["never-wide-3"]),
    ({"wide2": {"over": 2.1}}, ["tight-wide-2"]),
    ({"wide3": {"over": 50.0}}, []),  # nothing is claimed of how near it is at degree 8
    ({"narrow": {"deep": 0.02}}, ["deep-narrow-2"]),
)
def test_claims(made: dict[str, Any], wanted: list[str]) -> None:
    read = reading(**made)
    assert refuted(read) == wanted
    check_figures(read, ["wide-3", "narrow-2", "wide-2"])


def test_ranks_are_those_of_the_certificates() -> None:
    for case in DEPTHS:
        certificate = SETTINGS.certificate(case, 1)
        assert certificate.rank == SETTINGS.rank(case)
        assert SETTINGS.certificate(case, SETTINGS.rank(case)).risk == 0


def test_the_deep_network_has_too_few_neurons_for_two_layers() -> None:
    assert SETTINGS.deep_neurons(WIDE_3) == SETTINGS.three_dim + 3 < SETTINGS.rank(WIDE_3)
    assert SETTINGS.deep_neurons(NARROW) == SETTINGS.narrow_dim + 1 < SETTINGS.rank(NARROW)  # with the squares
