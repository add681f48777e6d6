"""The bounds from counting alone, against spaces for which everything can be listed."""

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings, strategies as st

from beyondkernels.certificates import (
    DisagreementError,
    EnumeratedSpan,
    UniversalCertificate,
    from_json,
    threshold_share,
)
from beyondkernels.core import Stream
from beyondkernels.data.inputs import corners
from beyondkernels.papers.resnet import HardClass, HardInstance
from refusals import refused


def test_the_numbers_of_the_issue():
    d, k, n, alpha = 30, 4, 500, 0.2
    certificate = UniversalCertificate(n, d, k, alpha)
    C = 27405
    assert certificate.targets == C
    assert certificate.mean_risk == pytest.approx(4 * 0.04 * (1 - 500 / C), rel=1e-14)
    assert certificate.learnable_share == pytest.approx(16 * 500 / (15 * C), rel=1e-14)
    assert [hypothesis.holds for hypothesis in certificate.hypotheses] == [True, True, False, True]
    assert all(hypothesis.holds for hypothesis in UniversalCertificate(27, d, k, alpha).hypotheses)


@pytest.mark.parametrize(("d", "k", "alpha", "beta"), [(6, 3, 0.3, 1.0), (5, 4, 0.7, 1.3), (6, 2, 0.9, 0.4)])
def test_the_smallest_mean_of_all_spaces_is_a_sum_of_eigenvalues(d, k, alpha, beta):
    among = HardClass(HardInstance(dim=d, outputs=k, alpha=alpha, beta=beta))
    sets, x = among.every(), corners(d)
    C, r, mu = len(sets), math.comb(d - 1, k - 1), math.comb(d - 2, k - 1)
    outputs = torch.zeros(C * k, d + C, dtype=torch.float64)
    for row, (place, i) in enumerate((place, i) for place, S in enumerate(sets) for i in S):
        outputs[row, i], outputs[row, d + place] = beta, alpha
    values, vectors = torch.linalg.eigh(outputs.T @ outputs)
    mixed = alpha * beta * mu**0.5
    block = torch.tensor([[beta**2 * r, mixed], [mixed, k * alpha**2]], dtype=torch.float64)
    closed = [beta**2 * r + k * alpha**2, 0.0, *torch.linalg.eigvalsh(block).tolist() * (d - 1)]
    closed = sorted([*closed, *[k * alpha**2] * (C - d)], reverse=True)
    torch.testing.assert_close(values.flip(0), torch.tensor(closed, dtype=torch.float64), rtol=0, atol=1e-11)
    functions = torch.cat([x, torch.stack([x[:, list(S)].prod(1) for S in sets], 1)], 1)
    for n in (1, d, C):
        best = among.risks(EnumeratedSpan(x, functions @ vectors.flip(1)[:, :n]), sets)
        smallest = sum(closed[n:]) / C
        assert float(best.mean()) == pytest.approx(smallest, abs=1e-11)
        assert smallest >= UniversalCertificate(n, d, k, alpha).mean_risk - 1e-12
        drawn = functions @ Stream(0).normal(d + C, n, dtype=torch.float64)
        assert float(among.risks(EnumeratedSpan(x, drawn), sets).mean()) >= smallest


@settings(max_examples=25)
@given(
    d=st.integers(3, 6),
    k=st.integers(2, 4),
    n=st.integers(1, 12),
    alpha=st.floats(0.05, 2.0),
    beta=st.sampled_from([0.0, 1.0, 3.0]),
    seed=st.integers(0, 10_000),
    sparse=st.booleans(),
)
def test_no_space_falls_below_the_bound(d, k, n, alpha, beta, seed, sparse):
    k = min(k, d)
    problem = HardInstance(dim=d, outputs=k, alpha=alpha, beta=beta)
    among, x = HardClass(problem), corners(d)
    if sparse:  # cunning: a target itself, linear part and all
        S = [among.every()[i % among.size] for i in range(n)]
        values = torch.stack([beta * x[:, T[0]] + alpha * x[:, list(T)].prod(1) for T in S], 1)
    else:
        values = Stream(seed).normal(len(x), n, dtype=torch.float64)
    risks = among.risks(EnumeratedSpan(x, values), among.every())
    universal = UniversalCertificate(n, d, k, alpha)
    assert float(risks.mean()) >= universal.mean_risk - 1e-9
    assert float((risks <= alpha**2 / 16 - 1e-9).double().mean()) <= universal.learnable_share + 1e-12


@pytest.mark.parametrize(("functions", "targets", "theta"), [(3, 10, 0), (3, 10, Fraction(1, 2)), (50, 10, 0)])
def test_shares_by_filling_one_target_after_the_other(functions, targets, theta):
    # the most targets that can reach 1 − θ when there is N to distribute
    most = min(targets, functions / (1 - theta))
    assert threshold_share(functions, targets, Fraction(theta)) == Fraction(most) / targets


@pytest.mark.parametrize(
    "arguments", [(4, 30, 3, 0.3), (7, 8, 3, 0.5), (30, 8, 2, 0.5), (3, 40, 5, 0.1, 12, "features")]
)
def test_verify_and_json(arguments):
    certificate = UniversalCertificate(*arguments)
    assert certificate.verify().agrees
    assert from_json(certificate.to_json()) == certificate
    assert certificate.holds == (
        certificate.functions < math.comb(certificate.uniform or certificate.dim, arguments[2])
    )


def test_verify_can_fail(monkeypatch):
    certificate = UniversalCertificate(7, 8, 3, 0.5)
    monkeypatch.setattr(UniversalCertificate, "mean_risk", 0.5)
    with pytest.raises(DisagreementError, match="the certificate disagrees by"):
        certificate.verify()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((0, 10, 3, 0.3), r"the number of training points \(N\) must be at least 1, got 0"),
        ((5, 10, 1, 0.3), r"outputs \(k\) must be at least 2"),
        ((5, 10, 11, 0.3), r"outputs \(k\) must not exceed the 10 uniform coordinates"),
        ((5, 10, 5, 0.3, 11), r"uniform \(d₁\) must not exceed dim = 10, got 11"),
        ((5, 10, 5, 0.0), r"alpha must lie in \[1e-100, 1e\+100\], got 0.0"),
        ((5, 2000, 1000, 0.3), "number of targets must be below 1e300, got about 1e600"),
    ],
)
def test_bad_input(arguments, sentence):
    refused(sentence, UniversalCertificate, *arguments)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"certificate": "Nope", "fields": {}, "schema": 1}', '{"certificate": 1, "fields": 1}']
)
def test_json_of_something_else(text):
    refused("certificate must", from_json, text)
    wrong = UniversalCertificate(4, 30, 3, 0.3).to_json().replace('"dim"', '"dam"')
    refused("do not fit", from_json, wrong)
