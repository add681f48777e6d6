"""Theorem 2's bound and ours, against features for which every loss can be computed."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings, strategies as st

from beyondkernels.certificates import DisagreementError, from_json
from beyondkernels.core import Stream
from beyondkernels.data.inputs import corners
from beyondkernels.papers.features.theory import (
    FixedFeatureCertificate,
    least_hinge_loss,
    theorem2 as module,
    theorem2_bound,
)
from refusals import refused


def parities(z: torch.Tensor, k: int) -> torch.Tensor:
    return torch.stack([z[:, list(A)].prod(1) for A in itertools.combinations(range(z.shape[1]), k)], 1)


def mixture(z: torch.Tensor, A: tuple[int, ...], background: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Labels and probabilities of all sign vectors, as App. C writes them."""
    present = background / (2 - 2 * background)
    outside = [j for j in range(z.shape[1]) if j not in A]
    rest = torch.where(z[:, outside] > 0, present, 1 - present).prod(1)
    equal = z[:, list(A)].sum(1).abs() == len(A)
    p = background / len(z) + (1 - background) * torch.where(equal, rest / 2, 0.0)
    return z[:, list(A)].prod(1), p


def test_numbers_by_hand():
    # √(2·200)·10/2048 = 200/2048
    certificate = FixedFeatureCertificate(176, 11, 0.5, 200, 10.0)
    assert certificate.paper == pytest.approx(0.5 * (1 - 200 / 2048), rel=1e-15)
    assert certificate.bound == pytest.approx(0.5 * (1 - 10 * math.sqrt(200 / math.comb(176, 11))), rel=1e-15)
    assert all(hypothesis.holds for hypothesis in certificate.hypotheses)
    assert "applies and gives 0.4512" in certificate.verdict
    assert certificate.numbers["its distance from p_o"] == pytest.approx(0.5 - certificate.bound, rel=1e-9)


@pytest.mark.parametrize("k", [1, 3, 11, 512])
def test_where_the_papers_bound_is_zero(k):
    certificate = FixedFeatureCertificate(600, k, 0.3, 7, 2.0)
    nb2 = certificate.numbers["N·B² at which the paper's bound is 0"]
    assert isinstance(nb2, float) and theorem2_bound(1, nb2**0.5, k, 0.3) == pytest.approx(0, abs=1e-9)


def test_a_bound_of_exactly_zero_says_nothing():
    silent = FixedFeatureCertificate(176, 5, 0.5, 512, 1.0)  # √(2·512)·1/2⁵ = 1
    assert silent.paper == 0 and "applies and says nothing" in silent.verdict
    assert "Counting says nothing" not in silent.verdict
    assert "Counting says nothing" in FixedFeatureCertificate(6, 3, 0.5, 20, 1.0).verdict  # N·B² = C


def test_above_512_patterns_the_size_is_infinite():
    numbers = FixedFeatureCertificate(520, 513, 0.3, 7, 2.0).numbers
    assert numbers["N·B² at which the paper's bound is 0"] == math.inf


def test_on_a_small_cube_two_maps_are_tried():
    routes = [FixedFeatureCertificate(D, 3, 0.3, 5, 1.0).verify().route for D in (10, 11)]
    assert ["all parities as features" in route for route in routes] == [True, False]
    routes = [FixedFeatureCertificate(4, 3, 0.3, n, 1.0).verify().route for n in (2000, 2001)]
    assert ["random signs" in route for route in routes] == [True, False]


@settings(max_examples=100)
@given(k=st.integers(1, 30), more=st.integers(0, 300), n=st.integers(1, 10_000), norm=st.floats(1e-3, 1e6))
def test_ours_is_the_larger_one_in_the_papers_domain(k, more, n, norm):
    certificate = FixedFeatureCertificate(16 * k + more, k, 0.4, n, norm)
    assert certificate.targets >= 16**k
    assert certificate.bound >= certificate.paper


def test_all_parities_attain_our_bound():
    z, k, norm = corners(6), 3, 0.7
    features = parities(z, k)
    certificate = FixedFeatureCertificate(6, k, 0.5, features.shape[1], norm)
    for A in (0, 7):  # whichever parity is the label
        best = least_hinge_loss(features, features[:, A], norm, tolerance=1e-7)
        assert best.upper == pytest.approx(certificate.bound / 0.5, abs=1e-6)


def test_the_papers_formula_is_false_outside_its_domain():
    z, k, norm = corners(8), 7, 0.9
    features = parities(z, k)  # eight of them
    best = least_hinge_loss(features, features[:, 0], norm, tolerance=1e-7)
    assert best.upper == pytest.approx(0.1, abs=1e-6)
    assert theorem2_bound(8, norm, k, 1.0) > 0.9
    assert not FixedFeatureCertificate(8, k, 0.5, 8, norm).hypotheses[1].holds


@settings(max_examples=8)
@given(
    D=st.integers(4, 6),
    n=st.integers(1, 12),
    norm=st.floats(0.1, 3.0),
    background=st.sampled_from([0.5, 0.2]),
    seed=st.integers(0, 10_000),
    cunning=st.booleans(),
)
def test_no_map_falls_below_the_bound(D, n, norm, background, seed, cunning):
    k = 3
    z = corners(D)
    features = Stream(seed).uniform(len(z), n, dtype=torch.float64) * 2 - 1
    if cunning:
        features = parities(z, k)[:, [i % math.comb(D, k) for i in range(n)]]
    found = []
    for A in itertools.combinations(range(D), k):
        y, p = mixture(z, A, background)
        found.append(least_hinge_loss(features, y, norm, probabilities=p, tolerance=1e-2).upper)
    bound = FixedFeatureCertificate(D, k, background, n, norm).bound
    assert sum(found) / len(found) >= bound - 1e-12
    assert max(found) >= bound - 1e-12


def test_margins_of_the_hypotheses():
    found = FixedFeatureCertificate(100, 8, 0.25, 10, 1.0).hypotheses
    assert [hypothesis.holds for hypothesis in found] == [True, False, False, True, False]
    assert found[1].factor == pytest.approx(100 / 16 / 8)
    assert found[4].measured == pytest.approx(0.25 * 0.25 / 3)  # p_o(1 − 2p_o)²/(4(1 − p_o))
    assert [h.holds for h in FixedFeatureCertificate(100, 3, 0.5, 10, 1.0).hypotheses][:3] == [False, True, True]
    assert not FixedFeatureCertificate(100, 3, 0.7, 10, 1.0).hypotheses[3].holds


@pytest.mark.parametrize(
    "sizes", [(176, 11, 0.5, 352, 30.0), (8, 3, 0.3, 20, 0.7), (900, 600, 0.5, 1, 1e100), (12, 6, 0.5, 4, 1e60)]
)
def test_verifies_and_serialises(sizes):
    certificate = FixedFeatureCertificate(*sizes)
    assert certificate.verify().agrees
    assert from_json(certificate.to_json()) == certificate
    assert "Hypotheses of the paper's theorem" in str(certificate)


@pytest.mark.parametrize("sizes", [(176, 11, 0.5, 352, 1e6), (8, 3, 0.3, 20, 1.0)])
def test_a_wrong_bound_is_found(sizes, monkeypatch):
    # twice too few targets in the denominator of the bound
    right = module.counting_share
    monkeypatch.setattr(module, "counting_share", lambda size, *rest: right(size / math.sqrt(2), *rest))
    with pytest.raises(DisagreementError):
        FixedFeatureCertificate(*sizes).verify()


@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_a_count_that_is_wrong_on_both_routes_is_found(factor, monkeypatch):
    # all parities as features have a loss below the bound, or above: the bound is attained by them
    bound, log = module.counting_share, module.telescoped_log
    monkeypatch.setattr(module, "counting_share", lambda size, *rest: bound(size / math.sqrt(factor), *rest))
    monkeypatch.setattr(module, "telescoped_log", lambda *sizes: log(*sizes) + math.log(factor))
    with pytest.raises(DisagreementError):
        FixedFeatureCertificate(8, 3, 0.3, 20, 1.0).verify()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"relevant": 9}, "relevant must not exceed patterns"),
        ({"patterns": 10_001}, "patterns must be at most 10000"),
        ({"patterns": 10_000, "relevant": 5000}, "the number of sets A must be below 1e300, got about 1e3008"),
        ({"background": math.nan}, "background must"),
        ({"norm": 1e200}, "norm must"),
    ],
)
def test_nonsense_is_refused(change, words):
    given = {"patterns": 8, "relevant": 3, "background": 0.5, "features": 4, "norm": 1.0}
    refused(words, FixedFeatureCertificate, **(given | change))
