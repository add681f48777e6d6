"""What this paper's parts refuse: a sentence for each kind of error, with the names and numbers in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

import beyondkernels as bk
from beyondkernels import kernels
from beyondkernels.activations import identity, quadratic
from beyondkernels.core import Stream
from beyondkernels.data import CircleMap, FunctionBackground, GivenMap, absorbed
from beyondkernels.lab import changed, find
from beyondkernels.networks import ThreeLayerResNet, theorem_network
from beyondkernels.papers.resnet import BestRisk, ClosedForm, ConceptSizes, certify_correlation, least_witness, theorem1
from beyondkernels.papers.resnet.problems import (
    CompositeParity,
    DrawnGeneralMap,
    HardInstance,
    LinearThenPolynomial,
    Monomial,
)
from beyondkernels.papers.resnet.theory.minimal_norm import parity_norm
from refusals import refused

LARGE, SMALL = HardInstance(dim=40, outputs=3, alpha=0.3), HardInstance(dim=8, outputs=2, alpha=0.3)
GAUSS, RANDOM = kernels.Gaussian(1.0), kernels.RandomFeatureKernel(kernels.GaussianFeatures(count=20))
SIZES = ConceptSizes(3, 0.02, 2, 4, base_complexity=1.5, composite_complexity=0.7, best_risk=0.0)
NETWORK, WRONG = theorem_network(10, 0.5, 1.0), ThreeLayerResNet(10)


certify: Any = bk.certify


def setting(name: str, **changes: Any) -> tuple[Any, ...]:
    """The call that changes settings of an experiment."""
    return changed, find(f"resnet/{name}").settings("laptop"), changes


def wrong(n: int, width: int, stream: Stream) -> torch.Tensor:
    return torch.zeros(n, width)


CASES: list[tuple[Any, ...]] = [
    (r"at most 16 varying coordinates", BestRisk(GAUSS, route="enumeration").check, LARGE, 9, 0),
    (r"problem must be a HardInstance", BestRisk(GAUSS).check, CompositeParity(), 9, 0),
    (
        r"route must be enumeration for a feature map",
        lambda: BestRisk(kernels.GaussianFeatures(5), route="closed form"),
    ),
    (r"rotation-invariant", lambda: certify_correlation(RANDOM, SMALL, n=5)),
    (r"uniform must be dim = 8", lambda: certify_correlation(GAUSS, replace(SMALL, uniform=6), n=3)),
    (r"this would take .* GiB and about .* is not rotation-invariant", lambda: certify(RANDOM, LARGE, n=50)),
    (r"takes at most 2048 functions, got .* minutes", lambda: certify(RANDOM, replace(LARGE, dim=16), n=5000)),
    (r"off the cube .*; route='enumeration'", lambda: certify(GAUSS, SMALL, torch.zeros(2, 8), route="closed form")),
    (
        r"route must be 'closed form', 'enumeration' or None, got 'magic'",
        lambda: certify(GAUSS, SMALL, n=3, route="magic"),
    ),
    (r"dim must be at least twice outputs, got 29 for 15 outputs", lambda: CompositeParity(dim=29)),
    (r"n must be a whole number of at least 0, got -1", CompositeParity().sample, -1, Stream(0)),
    (r"uniform must lie between outputs = 4 and dim = 5, got 3", lambda: HardInstance(5, 4, 0.1, uniform=3)),
    (r"indices must be 2 distinct numbers from 0 to 4", lambda: HardInstance(5, 2, 0.1, indices=(1, 1))),
    (r"correlation must lie in \(-1, 1\), got 1.0", lambda: LinearThenPolynomial(3, 0.1, correlation=1.0)),
    (r"dim must be at least the degree 6, got 5", Monomial, 5),
    (
        r"signs of shape \(4, 2\), each 1 or −1",
        HardInstance(5, 2, 0.1, 3, FunctionBackground(wrong)).sample,
        4,
        Stream(0),
    ),
    (r"weights must hold numbers in 3 axes", GivenMap, [[[1.0], [1.0, 2.0]]], [[1.0]], identity),
    (r"readout must hold a number for each direction", GivenMap, [[[1.0]]], [[1.0, 2.0]], identity),
    (r"function must be one function or one for", GivenMap, [[[1.0]]], [[1.0]], ((identity, identity),)),
    (r"positive length", lambda: absorbed(GivenMap([[[0.0]]], [[1.0]], identity))),  # pyright: ignore
    (r"outputs must be even, got 3", CircleMap, 3, 3),
    (r"Taylor terms of order 0 and odd orders only, got Polynomial", DrawnGeneralMap, 3, 3, 1, quadratic),
    (r"^problem must be a Monomial, got a", lambda: bk.fit(ClosedForm(64, 0.1), SMALL, n=64, test=64)),
    (r"^width must be even and at least 64, got 62$", lambda: bk.fit(ClosedForm(62, 0.1), Monomial(8), n=1, test=1)),
    (r"^degree must be an even number of at least 2, got 3$", parity_norm, 3),
    (r"^degree must be an even number of at least 2, got 2.0$", parity_norm, 2.0),
    (r"risk must be positive, got 0", lambda: theorem1(SIZES, NETWORK, risk=0)),
    (r"^network must be a ThreeLayerResNet in the bottleneck form, got ThreeLayer", theorem1, SIZES, WRONG),
    (r"^risk must be given where α and OPT leave none, got None$", theorem1, replace(SIZES, alpha=0.0), NETWORK),
    (r"^width must be at least 2 for its logarithm to be p", theorem1, SIZES, theorem_network(1, 0.5, 1.0)),
    (r"^sizes must leave .* in the range of floats", theorem1, replace(SIZES, composite_complexity=1e200), NETWORK),
    (
        r"^shapes must fit as \(k, m\), .* got \(2, 40\), \(40, 4\), \(9, 3\), \(9, 1\)$",
        *(least_witness, torch.ones(2, 40), torch.ones(40, 4), torch.ones(9, 3), torch.ones(9, 1)),
    ),
    (r"^frequency must ", *setting("coupling", frequency=6.0)),
    (r"^first_power must ", *setting("coupling", first_power=-0.5)),
    (r"^fit_from must leave at least two widths", *setting("coupling", fit_from=10**6)),
    (r"^snapshots must begin with 0", *setting("coupling", snapshots=(5, 10))),
    (r"at most 5000 points or features, got 34220; a smaller dimension would do", *setting("theorem2", dim=60)),
    (r"at most 5000 points or features, got 11440", *setting("theorem3", outputs=7, dim=16)),
    (r"outputs must not exceed the dimension 20, got 21", *setting("theorem2", outputs=21)),
    (r"shares must hold one of at least 0.1", *setting("theorem2", shares=(0.001, 0.05))),
    (r"batch must not exceed samples \(500\), got 600", *setting("fig2a", batch=600)),
    (r"1, 2 or 5 times a power of ten, got 0.03", *setting("fig2a", learning_rates=(0.03,))),
    (r"decay_epoch must lie in", *setting("fig2a", decay_epoch=900)),
    (r"samples, more_samples and kernel_samples must increase in this order", *setting("fig3", more_samples=(400,))),
    (r"widths must be even, got 501", *setting("fig4a", widths=(200, 501))),
    (r"dims3 must hold at least two numbers, all above 3, got", *setting("scaling", dims3=(3, 5))),
    (r"start must be at most 20, the largest N, got 64", *setting("scaling", most=20)),
    (r"alphas must hold at least two numbers", *setting("theorem1", alphas=(0.3,))),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_refusals(case):
    refused(*case)
