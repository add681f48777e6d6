"""Theorems I.1 and I.3 in their finite version: coefficients by enumeration, and spaces that can be listed."""

import itertools
import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings, strategies as st

from beyondkernels.certificates import DisagreementError, from_json
from beyondkernels.core import Stream
from beyondkernels.data.inputs import corners
from beyondkernels.papers.bfc.certificates import (
    SparseTargetCertificate,
    sparse_targets as sparse_certificate,
    top_coefficient,
)
from beyondkernels.papers.bfc.problems import sparse_target
from beyondkernels.papers.bfc.problems.polynomials import Polynomials
from refusals import refused


def expanded(target) -> Polynomials:
    """G* in orthonormal Hermite polynomials."""
    parts = [
        p.squared_norm().mixed(torch.tensor([[a]], dtype=torch.float64))
        for p, a in zip(target.polynomials().values(), target.scales, strict=True)
    ]
    return parts[0].plus(*parts[1:]).expanded("normal")


def every_target(dim: int, seed: int) -> tuple[list[tuple[int, ...]], torch.Tensor]:
    """Hermite terms, and the coefficients of a target for each place S, L = 2."""
    places = itertools.combinations(range(dim), 2)
    targets = [expanded(sparse_target(dim, 2, (0.7,), instance=seed + i, chosen=S)) for i, S in enumerate(places)]
    terms = sorted({tuple(e) for t in targets for e in t.exponents.tolist()})
    G = torch.zeros(len(terms), len(targets), dtype=torch.float64)
    for j, t in enumerate(targets):
        for exponents, value in zip(t.exponents.tolist(), t.coefficients[:, 0].tolist(), strict=True):
            G[terms.index(tuple(exponents)), j] = value
    return terms, G


def best_risks(functions: torch.Tensor, G: torch.Tensor) -> torch.Tensor:
    """Squared distances to a span."""
    Q = torch.linalg.qr(functions).Q
    return (G - Q @ (Q.T @ G)).square().sum(0)


@pytest.mark.parametrize(("dim", "depth"), [(4, 2), (6, 3), (9, 4)])
def test_the_top_boolean_coefficient_by_enumeration_of_signs(dim, depth):
    alphas, p = (1.0, 0.5, 0.25)[: depth - 1], 2 ** (depth - 1)
    target = sparse_target(dim, depth, alphas, instance=3)
    S = target.weights[2, 0][0].nonzero()[:, 0].tolist()
    sizes, signs = Stream(7).normal(dim, dtype=torch.float64).abs(), corners(dim)
    values = target.target(sizes * signs)
    for T in itertools.combinations(range(dim), p):
        found = float((values * signs[:, list(T)].prod(1)).mean())
        wanted = top_coefficient(depth, alphas[-1]) * float(sizes[S].prod()) if list(T) == S else 0.0
        assert found == pytest.approx(wanted, abs=1e-12 * float(values.abs().max()), rel=1e-9)


@pytest.mark.parametrize(("dim", "depth"), [(4, 2), (5, 3)])
def test_the_correlation_with_products_of_coordinates(dim, depth):
    # the integral of the Boolean coefficient over |x|: E G* x_T is c at T = S and zero at other places
    alphas, p = (1.0, 0.5)[: depth - 1], 2 ** (depth - 1)
    target = sparse_target(dim, depth, alphas, instance=4)
    S = tuple(target.weights[2, 0][0].nonzero()[:, 0].tolist())
    found = expanded(target)
    products = dict.fromkeys(itertools.combinations(range(dim), p), 0.0)
    for exponents, value in zip(found.exponents.tolist(), found.coefficients[:, 0].tolist(), strict=True):
        places = tuple(i for i, e in enumerate(exponents) if e)
        if sum(exponents) == p and places in products:
            products[places] = value
    wanted = {T: top_coefficient(depth, alphas[-1]) if T == S else 0.0 for T in products}
    assert products == pytest.approx(wanted, abs=1e-9)


def test_numbers():
    certificate = SparseTargetCertificate(50, 12, 3, 0.05)
    c = 0.05 * 24 / 16
    assert certificate.targets == 495
    assert certificate.top == pytest.approx(c)
    assert certificate.mean_risk == pytest.approx(c**2 * (1 - 50 / 495), rel=1e-14)
    assert certificate.learnable_share == pytest.approx(16 * 50 / (15 * 495), rel=1e-14)
    assert certificate.paper_risk == pytest.approx(0.05**2 * math.log(12) ** -32)
    assert certificate.holds and not SparseTargetCertificate(495, 12, 3, 0.05).holds
    assert top_coefficient(4, 2.0) == 2 * math.factorial(8) / 8**4


def test_the_papers_hypothesis_is_far_away():
    depth, few, small = SparseTargetCertificate(1, 10**6, 2, 0.05).hypotheses
    assert not depth.holds and depth.bound == pytest.approx(math.log(math.log(10**6)) / 100)
    assert depth.factor == pytest.approx(math.log(math.log(10**6)) / 200)
    assert few.holds and small.holds
    assert "10^86 digits" in SparseTargetCertificate(1, 10**6, 2, 0.05).verdict
    assert not SparseTargetCertificate(1, 2, 2, 0.05).hypotheses[0].holds  # log log 2 is negative


def test_the_papers_risk_is_shown_where_it_means_something():
    shown = {d: [name for name in SparseTargetCertificate(1, d, 2, 0.05).numbers if "paper" in name] for d in (2, 3)}
    assert shown == {2: [], 3: ["the paper's risk, its constant read as 1"]}


def test_only_the_theorem_on_features_allows_the_largest_alpha():
    for alpha, kernel, features in ((0.1, False, True), (0.0999, True, True), (0.1001, False, False)):
        assert SparseTargetCertificate(1, 20, 2, alpha).hypotheses[2].holds is kernel
        assert SparseTargetCertificate(1, 20, 2, alpha, "features").hypotheses[2].holds is features


@settings(max_examples=8)
@given(dim=st.integers(3, 4), n=st.integers(1, 8), seed=st.integers(0, 10_000), cunning=st.booleans())
def test_no_space_of_polynomials_falls_below_the_bound(dim, n, seed, cunning):
    # exact risks in Hermite coefficients: every function is a polynomial of degree 4, L = 2
    terms, G = every_target(dim, seed)
    functions = G[:, :n] if cunning else Stream(seed).normal(len(terms), n, dtype=torch.float64)
    risks = best_risks(functions, G)
    certificate = SparseTargetCertificate(functions.shape[1], dim, 2, 0.7, "features")
    assert float(risks.mean()) >= certificate.mean_risk - 1e-12
    share = float((risks <= certificate.top**2 / 16).double().mean())
    assert share <= certificate.learnable_share + 1e-12


def test_the_part_of_degree_p_alone_cannot_give_more():
    # N of the products leave exactly c²(1 − N/C) of the targets c·x_S
    dim, n = 4, 3
    terms, G = every_target(dim, 11)
    products = [i for i, term in enumerate(terms) if sorted(term) == [0] * (dim - 2) + [1, 1]]
    certificate = SparseTargetCertificate(n, dim, 2, 0.7)
    assert len(products) == certificate.targets
    risks = best_risks(torch.eye(len(products), dtype=torch.float64)[:, :n], G[products])
    assert float(risks.mean()) == pytest.approx(certificate.mean_risk)


@pytest.mark.parametrize(("n", "dim", "depth"), [(50, 20, 2), (10, 12, 3), (10**6, 30, 4), (600, 12, 3), (5, 70, 7)])
def test_verification_and_json(n, dim, depth):
    for kind in ("kernel", "features"):
        certificate = SparseTargetCertificate(n, dim, depth, 0.05, kind)
        assert certificate.verify().agrees
        assert from_json(certificate.to_json()) == certificate
        assert ("I.1" if kind == "kernel" else "I.3") in str(certificate)


def test_verification_finds_a_missing_factorial(monkeypatch):
    # the coefficient as the paper's text has it, without p!
    without = lambda depth, alpha: alpha * float(Fraction(1, (2 ** (depth - 1)) ** (2 ** (depth - 2))))  # noqa: E731
    monkeypatch.setattr(sparse_certificate, "top_coefficient", without)
    with pytest.raises(DisagreementError):
        SparseTargetCertificate(50, 20, 2, 0.05).verify()
    with pytest.raises(DisagreementError):
        SparseTargetCertificate(10**4, 12, 3, 0.05).verify()  # vacuous: the signs of one target alone tell


def test_bad_input_is_told():
    refused(r"training points \(N\) must be at least 1, got 0", SparseTargetCertificate, 0, 12, 3, 0.05)
    refused(r"dim \(d\) must be at least 2\^\(L−1\) = 8 .*got 7", SparseTargetCertificate, 5, 7, 4, 0.05)
    refused("number of targets must be below 1e300", SparseTargetCertificate, 5, 10**7, 7, 0.05)
