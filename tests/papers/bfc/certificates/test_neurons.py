"""Theorems I.6 and I.7 in their finite version: ranks and weights against listed monomials and exact risks."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings, strategies as st

from beyondkernels.certificates import (
    DisagreementError,
    catalecticant,
    from_json,
    sphere_spectrum,
    uniform_tail,
    weighted_tails,
)
from beyondkernels.certificates.catalecticant import indices, monomial_weight, nearest, sphere_entry
from beyondkernels.core import Stream
from beyondkernels.papers.bfc.certificates import NeuronCertificate, neurons as neuron_certificate
from beyondkernels.papers.bfc.problems import even_target
from beyondkernels.papers.bfc.problems.polynomials import Polynomials
from refusals import refused

CASES = [(5, 1, True), (3, 2, True), (4, 2, True), (4, 2, False), (3, 4, False), (2, 4, True), (1, 2, True)]


@pytest.mark.parametrize(("dim", "half", "squares"), CASES)
def test_the_closed_form_of_the_spectrum(dim, half, squares):
    rows = indices(dim, half)
    sizes = [math.sqrt(math.factorial(half) / catalecticant.factorial(K)) for K in rows]
    entries = [[float(sphere_entry(catalecticant.added(a, b))) for b in rows] for a in rows]
    root, matrix = torch.tensor(sizes, dtype=torch.float64), torch.tensor(entries, dtype=torch.float64)
    found = torch.linalg.eigvalsh(root[:, None] * matrix * root).flip(0).tolist()
    wanted = [float(value) for value, many in sphere_spectrum(dim, half) for _ in range(many)]
    assert found == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(("dim", "half"), [(3, 2), (2, 3), (4, 1)])
def test_the_entries_are_those_of_the_power(dim, half):
    u = Stream(0).normal(5, dim, dtype=torch.float64)
    total = torch.zeros(5, dtype=torch.float64)
    for J in indices(dim, 2 * half):
        many = math.factorial(2 * half) / catalecticant.factorial(J)
        total += many * float(sphere_entry(J)) * (u ** torch.tensor(J)).prod(1)
    torch.testing.assert_close(total, u.square().sum(1) ** half)


@pytest.mark.parametrize("squares", [True, False])
def test_the_weight_of_a_monomial_is_its_share_of_the_mean_square(squares):
    for J in [(4, 0), (3, 1), (2, 2), (1, 1)]:
        exponents = torch.tensor([[2 * j if squares else j for j in J]], dtype=torch.uint8)
        many = math.factorial(sum(J)) / catalecticant.factorial(J)
        monomial = Polynomials(exponents, torch.tensor([[many]], dtype=torch.float64))
        top = monomial.expanded("normal").of_degree(sum(exponents[0].tolist()))
        assert float(top.coefficients.square().sum()) == pytest.approx(monomial_weight(J, squares))


@pytest.mark.parametrize(("dim", "half", "squares"), CASES)
def test_weights_are_allowed_and_better_than_equal_ones(dim, half, squares):
    tails = weighted_tails(dim, half, squares)
    for r in range(len(tails)):
        assert float(tails[r]) >= float(uniform_tail(dim, half, squares, r)) * (1 - 1e-9)
    rows = indices(dim, half)
    for tilt in (0.0, 0.5, 3.0):  # the norm with the weights stays below the mean square, for every tensor
        D = torch.tensor([catalecticant._weight(K, tilt) for K in rows], dtype=torch.float64)
        used: dict[tuple[int, ...], float] = {}
        for (a, K), (b, M) in itertools.product(enumerate(rows), repeat=2):
            J = catalecticant.added(K, M)
            used[J] = used.get(J, 0.0) + float(D[a] * D[b])
        scale = min(monomial_weight(J, squares) / used[J] for J in used)
        t = dict(zip(used, Stream(1).normal(len(used)).tolist(), strict=True))
        norm = sum(scale * used[J] * t[J] ** 2 for J in used)
        assert norm <= sum(monomial_weight(J, squares) * t[J] ** 2 for J in used) * (1 + 1e-12)


@settings(max_examples=20)
@given(
    case=st.sampled_from([case for case in CASES if case[0] > 1]),
    r=st.integers(1, 8),
    seed=st.integers(0, 10_000),
    whole=st.booleans(),
)
def test_no_sum_of_powers_falls_below_the_bound(case, r, seed, whole):
    dim, half, squares = case
    w = Stream(seed).normal(r, dim, dtype=torch.float64)
    w = w.round() if whole else w
    tails = weighted_tails(dim, half, squares)
    left = nearest(dim, half, squares, w)
    assert left >= float(tails[min(r, len(tails) - 1)]) - 1e-9 * float(tails[0])


def test_enough_neurons_leave_nothing():
    for dim, half, squares in ((3, 2, True), (4, 1, True), (3, 2, False)):
        rank = math.comb(dim + half - 1, half)
        w = Stream(0).normal(2 * rank + 8, dim, dtype=torch.float64)
        assert nearest(dim, half, squares, w) < 1e-9 * nearest(dim, half, squares, w[:1] * 0)
        assert float(weighted_tails(dim, half, squares)[rank]) == 0
        assert float(weighted_tails(dim, half, squares)[rank - 1]) > 0


def test_numbers():
    assert NeuronCertificate(3, 5, 2, 0.5).risk == pytest.approx(8 * 0.25 * 2)  # 8α²(d − r)
    certificate = NeuronCertificate(7, 4, 3, 0.1)
    assert certificate.rank == 10
    assert certificate.risk == pytest.approx(512 / 3 * 0.01 / 16 * 3)  # (512/3)(α²/d²)(rank − r) for r ≥ d
    shallow = NeuronCertificate(4, 4, 2, 1.0, "I.7")
    assert shallow.rank == 10 and shallow.risk == pytest.approx(32 / 3 / 16 * 6)  # (32/3)(α²/d²)(rank − r)
    assert not NeuronCertificate(10, 4, 3, 0.1).holds
    assert NeuronCertificate(1, 2, 7, 0.1, "I.7").verify().agrees  # degree 128: weights near the ends of float64
    assert NeuronCertificate(1, 40, 6, 0.1).risk > 0  # a rank beyond any matrix: the closed form


def test_lemma_i5_is_false_as_printed():
    # p = 1, f = ‖x‖₄⁴/d and the constant 3: the lemma states a risk of at least 1 for r = d/C neurons
    for d in (2, 5):
        power = Polynomials(4 * torch.eye(d, dtype=torch.uint8), torch.full((d, 1), 1 / d, dtype=torch.float64))
        found = power.expanded("normal")
        constant = found.of_degree(0).coefficients
        assert float(constant) == pytest.approx(3)
        assert float(found.coefficients.square().sum() - constant.square()) == pytest.approx(96 / d)


@pytest.mark.parametrize(("theorem", "depth"), [("I.6", 2), ("I.6", 3), ("I.6", 4), ("I.7", 2), ("I.7", 3)])
def test_with_the_weights_of_the_paper_the_bound_keeps_its_order(theorem, depth):
    sizes = [NeuronCertificate(1, d, depth, 1.0, theorem) for d in (100, 1000, 10_000)]
    halves = [replace(one, neurons=one.rank // 2).risk for one in sizes]
    assert all(risk > 1 for risk in halves)


def test_the_bound_holds_for_whole_networks():
    # the exact risk of a network: polynomials of x, in Hermite coefficients; L = 2, Theorem I.6
    d, r = 3, 2
    target = even_target(d, 2, (1.0,))
    wanted = target.polynomials()[2].squared_norm()
    x = Polynomials.variables(d)
    z = x.mixed(torch.eye(2 * d)[:, :d].double()).plus(x.squared().mixed(torch.eye(2 * d)[:, d:].double()))
    for seed in range(5):
        w = Stream(seed).normal(r, 2 * d, dtype=torch.float64)
        w[:, d:] = torch.eye(d, dtype=torch.float64)[:r]  # the best that two neurons can do with the squares
        squares = z.mixed(w).squared().mixed(torch.ones(1, r).double())
        left = wanted.plus(squares.mixed(-torch.ones(1, 1).double())).expanded("normal")
        risk = float(left.coefficients.square().sum())
        assert risk >= NeuronCertificate(r, d, 2, 1.0).risk


@pytest.mark.parametrize("theorem", ["I.6", "I.7"])
@pytest.mark.parametrize(("r", "dim", "depth"), [(3, 5, 2), (4, 4, 3), (20, 3, 3), (5, 50, 5), (1, 1, 2)])
def test_verification_and_json(theorem, r, dim, depth):
    certificate = NeuronCertificate(r, dim, depth, 0.1, theorem)
    assert certificate.verify().agrees
    assert from_json(certificate.to_json()) == certificate
    assert theorem in str(certificate)


def test_verification_finds_a_bound_that_is_too_high(monkeypatch):
    true = neuron_certificate.weighted_tails
    monkeypatch.setattr(neuron_certificate, "weighted_tails", lambda *case: 4 * true(*case))
    with pytest.raises(DisagreementError):
        NeuronCertificate(4, 5, 2, 1.0).verify()


@pytest.mark.parametrize(("theorem", "dim", "depth"), [("I.6", 4, 3), ("I.7", 4, 2), ("I.6", 50, 5), ("I.7", 50, 5)])
def test_verification_finds_a_wrong_factor_of_the_target(monkeypatch, theorem, dim, depth):
    # the paper's slip: d^(−q) in the place of d^(−q/2)
    slipped = property(lambda self: Fraction(self.alpha) ** 2 / self.dim ** (2 * self.half))
    monkeypatch.setattr(NeuronCertificate, "_factor", slipped)
    with pytest.raises(DisagreementError, match="coefficient of a target"):
        NeuronCertificate(4, dim, depth, 0.1, theorem).verify()


@pytest.mark.parametrize(("dim", "depth"), [(5, 2), (4, 3), (50, 5)])
@pytest.mark.parametrize("theorem", ["I.6", "I.7"])
def test_verification_finds_a_constant_that_is_too_high(monkeypatch, theorem, dim, depth):
    true = neuron_certificate.uniform_factor
    monkeypatch.setattr(neuron_certificate, "uniform_factor", lambda *case: 2 * true(*case))
    with pytest.raises(DisagreementError):
        NeuronCertificate(1, dim, depth, 0.1, theorem).verify()


def test_verification_finds_a_sum_that_lacks_a_value(monkeypatch):
    true = neuron_certificate.uniform_tail
    monkeypatch.setattr(neuron_certificate, "uniform_tail", lambda d, q, squares, r: true(d, q, squares, r + 1))
    with pytest.raises(DisagreementError):
        NeuronCertificate(1, 30, 3, 0.1).verify()  # too many rows for a matrix: the closed form alone


def test_bad_input_is_told():
    refused(r"depth \(L\) must be from 2 to 7.*got 1", NeuronCertificate, 1, 4, 1, 0.1)
    refused("alpha must give risks below 1e300, got 1e\\+100", NeuronCertificate, 1, 10**5, 7, 1e100, "I.7")
