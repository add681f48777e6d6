"""Two Gaussians, and the network that fits labels without structure."""

import math
from dataclasses import replace
from typing import Any

import pytest

import beyondkernels as bk
from beyondkernels.lab import At
from beyondkernels.papers.features.experiments import two_gaussians, unstructured
from beyondkernels.papers.features.experiments.two_gaussians import PROOF, TwoGaussians, TwoGaussiansSettings
from beyondkernels.papers.features.experiments.unstructured import WITH, WITHOUT, Unstructured
from papers.judging import claims_of, refuse, refuted

SEEDS = (0, 1, 2)
GAUSSIANS = TwoGaussiansSettings()


def test_claims_of_two_gaussians() -> None:
    good = {"status": "finished", "test_accuracy": 99.0, "bayes": 100.0, "cosine": 0.995}
    rows = [{"share": share, "seed": seed} | good for share in GAUSSIANS.shares for seed in SEEDS]
    assert refuted(claims_of(TwoGaussians(), GAUSSIANS, rows)) == []


@pytest.mark.parametrize("dim", [10, 100, 1000])
def test_the_noise_meets_the_condition_of_theorem_34_with_equality(dim: int) -> None:
    s = replace(GAUSSIANS, dim=dim)
    problem = two_gaussians.problem_of(s, At(share=1.0, seed=0))
    scale = math.sqrt(0.25 + dim * s.noise**2)
    assert problem.moments.scale == pytest.approx(scale)
    assert s.noise == pytest.approx(1 / scale) and s.noise <= scale / math.sqrt(dim)
    listed = bk.features.theorem34(problem, bk.networks.TwoLayer(3)).hypotheses
    assert {found.text: found.holds for found in listed if found.text.startswith("k ≥")} == {
        "k ≥ Ω(log²(Dmd/(δγp_min)))": False
    }


def test_claims_of_unstructured() -> None:
    rows = [
        {"inputs": inputs, "seed": seed, "status": "finished", "train_accuracy": 100.0, "test_accuracy": accuracy}
        for inputs, accuracy in ((WITHOUT, 50.0), (WITH, 100.0))
        for seed in SEEDS
    ]
    assert refuted(claims_of(Unstructured(), Unstructured().settings("paper"), rows)) == []


def test_the_same_rule_with_structure_and_without() -> None:
    s = Unstructured().settings("smoke")
    with_it, without = (unstructured.spec(s, At(inputs=inputs, seed=1)) for inputs in (WITH, WITHOUT))
    problem: Any = with_it.problem
    assert with_it.learner == without.learner and without.problem == problem.without_structure() != problem


def test_bad_settings() -> None:
    refuse(GAUSSIANS, {"shares": (0.1, 1.0)}, "shares must begin at 1/16 or below, where claims speak, got 0.1")
    refuse(GAUSSIANS, {"batch": 20_000}, r"batch must not exceed samples \(10000\), got 20000")
    assert GAUSSIANS.shares[0] == PROOF
