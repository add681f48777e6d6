"""Theorems 2 and 3 as experiments: sizes, runs, and claims on outcomes made by hand."""

import math
from dataclasses import replace
from typing import Any

import pytest

import beyondkernels as bk
from beyondkernels.certificates import universal
from beyondkernels.core import Outcome, Stream
from beyondkernels.lab import At, Reading, specs_of
from beyondkernels.papers.resnet.certificates import BestRisk
from beyondkernels.papers.resnet.experiments import exact_risks, theorem2, theorem3
from beyondkernels.papers.resnet.experiments.composite import network_of
from beyondkernels.papers.resnet.experiments.hard_targets import BOTH, KERNELS, NARROW, THRESHOLD, kernel_of
from papers.judging import check_figures, failing, finish, refuted

KERNEL, FEATURE = theorem2.Theorem2(), theorem3.Theorem3()
SEEDS = (0, 1)
SHORT = {
    KERNEL.id: replace(KERNEL.settings("laptop"), shares=(0.001, 0.1, 1.0), large_samples=(2000,)),
    FEATURE.id: replace(FEATURE.settings("laptop"), shares=(0.0005, 0.1, 1.0), widths=(10, 20)),
}
"""The laptop scale with fewer places."""


def reading(experiment: Any, **wrong: float) -> Reading:
    """Outcomes on the good side of every claim, except for numbers that are given."""

    def outcome(at: At, spec: Any) -> Outcome:
        if at.learner == exact_risks.NETWORK:
            return Outcome(scalars={"test_loss": wrong.get("network", 0.001) + 1e-5 * at.seed})
        dim, k = SHORT[experiment.id].cases[at.case]
        bound = k * 0.09 * max(0.0, 1 - at.functions / math.comb(dim, k))
        risk = bound + wrong.get("room", 0.001)
        risk += wrong.get("route", 0.0) if at.learner == BOTH[1] else 0.0
        scalars = {"risk": risk, "own_risk": 0.1, "smallest_risk": wrong.get("smallest", 0.1), "dimension": 1.0}
        share = wrong.get("share", 0.0)
        left_out = wrong.get("left_out", 0.0)
        return Outcome(scalars={**scalars, "learnt_share": share, "numerical_error": 1e-14, "left_out": left_out})

    return finish(experiment, SHORT[experiment.id], SEEDS, outcome)


def test_constants_are_the_certificates():
    assert exact_risks.PAPER_SHARE == universal.PAPER_SHARE
    assert exact_risks.PAPER_TARGETS == universal.PAPER_TARGETS
    assert THRESHOLD == universal.THRESHOLD


@pytest.mark.parametrize("experiment", [KERNEL, FEATURE], ids=["kernels", "features"])
def test_every_claim_can_hold_and_fail(experiment):
    assert refuted(reading(experiment)) == []
    assert failing(reading(experiment, room=-1e-6)) == ["bound"]
    assert failing(reading(experiment, share=0.02)) == ["share", "theorem"]
    assert failing(reading(experiment, network=0.0057)) == ["network-large", "network"]
    last = {"theorem2": "all-points", "theorem3": "usual-maps"}[experiment.id.partition("/")[2]]
    assert failing(reading(experiment, smallest=0.005)) == [last]


def test_claims_of_one_experiment_alone():
    assert failing(reading(KERNEL, route=2e-9)) == ["routes"]
    assert failing(reading(FEATURE, room=0.0051)) == ["tight"]  # kα²d/C = 0.36 · 14/1001 = 0.005035
    assert failing(reading(FEATURE, room=0.0050)) == []


@pytest.mark.parametrize("experiment", [KERNEL, FEATURE], ids=["kernels", "features"])
def test_the_table_shows_directions_left_out(experiment):
    shown, lines = reading(experiment, left_out=7.0).table
    assert "left_out" in [column.key for column in shown]
    found = {line["learner"] == exact_risks.NETWORK: line["left_out"] for line in lines}
    assert (found[True], found[False]) == (None, 7.0)


def test_numbers_of_points():
    s = KERNEL.settings("laptop")
    assert s.samples(theorem2.CUBE) == (1, 3, 11, 34, 114, 228, 342, 570, 1140)
    assert s.samples(exact_risks.SMALL) == (1, 3, 10, 36, 72, 109, 182, 364)
    assert s.tenth == 114
    assert all(1000 * n <= math.comb(100, 4) for n in s.samples(exact_risks.LARGE))
    specs = specs_of(KERNEL, s, SEEDS, {})
    kernels: list[Any] = [each for each in specs.values() if isinstance(each.learner, BestRisk)]
    networks = [each for each in specs.values() if not isinstance(each.learner, BestRisk)]
    assert len(kernels) == len(SEEDS) * (6 * 9 + 5 * 8 + 6 * 4)
    assert len(networks) == len(SEEDS) * (6 + 5 + 4)
    assert all(each.samples >= each.problem.in_dim for each in networks)  # nobody knows F from fewer points
    routes = {each.learner.route for each in kernels if each.problem.in_dim == 14}
    assert routes == {None, "enumeration"}


@pytest.mark.parametrize("name", [*KERNELS, *NARROW, *BOTH])
def test_kernels_by_name(name):
    assert kernel_of(name, 6, 3, 1).rotation_invariant == (name not in NARROW)


def test_networks_have_as_many_parameters_as_features_stand_beside_them():
    s = FEATURE.settings("laptop")
    for case in (exact_risks.SMALL, exact_risks.LARGE):
        dim, outputs = s.cases[case]
        for parameters, width in s.parameters(case).items():
            tensors, _ = network_of("3resnet", width).init(dim, outputs, Stream(0))
            assert sum(value.numel() for value in tensors.values()) == parameters
    assert all(1000 * count <= math.comb(100, 4) for count in s.parameters(exact_risks.LARGE))


@pytest.mark.parametrize("name", theorem3.MAPS)
def test_feature_maps_have_the_number_asked_for(name):
    x = bk.resnet.HardInstance(6, 3, 0.3).sample(4, Stream(0)).x.double()
    assert theorem3.features_of(name, 9, 3).features(x, Stream(1)).shape == (4, 9)


def test_figures():
    names = [f"{what}-{case}" for case in ("closed-form", "large-d", "enumeration") for what in ("risk", "share")]
    check_figures(reading(KERNEL), names)
    check_figures(reading(FEATURE), ["risk-enumeration", "share-enumeration", "risk-large-d", "share-large-d"])
