"""Lemma 6: exact expectations against an enumeration of all patterns, and against the training rule itself."""

import itertools
import math
from dataclasses import replace

import pytest
import torch

import beyondkernels as bk
from beyondkernels.activations import activation
from beyondkernels.algorithms import Batch, FeatureLearning
from beyondkernels.core import InputError, Stream
from beyondkernels.networks import TwoLayer
from beyondkernels.papers.features.problems import (
    Counts,
    DictionaryParity,
    DictionaryProblem,
    Incoherent,
    IndependentPatterns,
    Threshold,
    UniformPatterns,
)
from beyondkernels.papers.features.theory import (
    ExactSteps,
    activation_shares,
    first_error,
    pattern_gradients,
    theorem26,
)
from beyondkernels.papers.resnet.problems import Monomial

CASES = {
    "threshold": DictionaryProblem(7, 7, 3, Threshold(), IndependentPatterns(0.5, 0.2)),
    "mixture": DictionaryParity(7, 7, 3, 0.3, instance=1),
    "unequal": DictionaryProblem(9, 7, 4, Counts((1, 4)), IndependentPatterns((0.2, 0.4, 0.5, 0.9), 0.3)),
    "no background": DictionaryProblem(4, 3, 3, Counts((2,)), IndependentPatterns(0.4)),
}


def cdf(z: float) -> float:
    return 0.5 * (1 + math.erf(z / math.sqrt(2)))


def enumerated(problem, q, b, xi):
    """T, T_b and β of one neuron, by a sum over all 2^D patterns in plain Python."""
    exact, A, D = problem.moments, problem.relevant_set, problem.patterns
    T, T_b, share = [0.0] * D, 0.0, 0.0
    for part in problem.hidden.products(D, A):
        for bits in itertools.product((0, 1), repeat=D):
            probability = part.weight
            for bit, p in zip(bits, part.probabilities.tolist(), strict=True):
                probability *= p if bit else 1 - p
            phi = [(bit - mean) / exact.scale for bit, mean in zip(bits, exact.means.tolist(), strict=True)]
            y = 1 if sum(bits[j] for j in A) in problem.labels.counts(len(A)) else -1
            z = b + sum(one * other for one, other in zip(phi, q, strict=True))
            active = cdf(z / xi) - cdf((z - 1) / xi)
            T_b += probability * y * active
            T = [old + probability * y * active * value for old, value in zip(T, phi, strict=True)]
            z = b + sum(phi[j] * q[j] for j in range(D) if j not in A)
            share += probability * (cdf(z / xi) - cdf((z - 1) / xi))
    return T, T_b, share


@pytest.mark.parametrize("problem", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("xi", [0.08, 0.4])
def test_expectations_are_those_of_an_enumeration(problem, xi):
    q = 0.6 * Stream(1).child("q").normal(2, problem.patterns, dtype=torch.float64)
    b = 0.3 * Stream(1).child("b").normal(2, dtype=torch.float64)
    T, T_b = pattern_gradients(problem, q, b, xi)
    shares = activation_shares(problem, q, b, xi)
    for i in range(2):
        expected, bias, share = enumerated(problem, q[i].tolist(), float(b[i]), xi)
        assert T[i].tolist() == pytest.approx(expected, rel=0, abs=1e-14)
        assert float(T_b[i]) == pytest.approx(bias, rel=0, abs=1e-14)
        assert float(shares[i]) == pytest.approx(share, rel=0, abs=1e-14)
    assert float(T.abs().max()) > 1e-2


def test_both_steps_are_those_of_the_training_rule():
    """Fair coins: a sample that has every one of the 2^D inputs once gives the exact gradient."""
    problem, m = DictionaryProblem(6, 6, 3, Threshold(), UniformPatterns()), 4
    exact, k = problem.moments, problem.relevant
    process = theorem26(problem, TwoLayer(m), steps=2)
    process = replace(
        process, first=replace(process.first, noise_std=k**-1.5), second=replace(process.second, noise_std=k**-1.5)
    )
    rule, network, M = FeatureLearning(process), TwoLayer(m), problem.matrix
    bits = torch.tensor(list(itertools.product((0, 1), repeat=6)))
    x = (bits.double() - exact.means) / exact.scale @ M.T
    batch = Batch(x, problem.label_of({"patterns": bits}).double())
    stream = Stream(5).child("learner")
    params = {name: v.double() for name, v in process.initial.draw(m, 6, 1, stream).items()}
    params["hidden.weight"] = params["hidden.weight"] @ M.T  # components along the patterns become weights
    expected = {}
    for step, stage in enumerate(rule.stages(), start=1):
        numbers = {name: torch.tensor(v, dtype=torch.float64) for name, v in rule.hyper(stage, step).items()}
        before = params["output.weight"][0, :m]
        params = rule.step(stage, network, params, {}, {}, batch, {}, numbers).params
        components = params["hidden.weight"][:m] @ M / (numbers["hidden_rate"] * before[:, None])
        expected[step] = components * exact.scale / exact.gamma
    run = bk.fit(ExactSteps(m), problem, n=1, test=1, seed=5, progress=False)
    for step in (1, 2):
        found = torch.from_numpy(run.outcome.arrays[f"T{step}"])
        torch.testing.assert_close(found, expected[step], rtol=1e-9, atol=1e-12)
    assert run.largest_output < 1


def test_what_is_found_is_set_beside_the_lemmas():
    """Every number of the outcome a second time, from T and a loop over neurons."""
    problem, m, failure = CASES["threshold"], 5, 0.2
    run = bk.fit(ExactSteps(m, failure), problem, n=1, test=1, seed=3, progress=False)
    exact, k, A = problem.moments, problem.relevant, list(problem.relevant_set)
    gamma, scale, D, p_o, xi = exact.gamma, exact.scale, problem.patterns, 0.2, k**-1.5
    eta = gamma**2 * scale**2 / (k * m**3)
    start = theorem26(problem, TwoLayer(m)).initial.draw(m, D, 1, Stream(3).child("learner"))
    size = math.log(D * m / failure)
    epsilon = (k * math.sqrt(size) + size * math.sqrt(size)) / math.sqrt(p_o * (1 - p_o) * (D - k))
    assert run.epsilon == pytest.approx(epsilon) == pytest.approx(first_error(problem, m, failure))
    rest = [j for j in range(D) if j not in A]
    for step in (1, 2):
        T = run.outcome.arrays[f"T{step}"] * gamma
        worst = dict.fromkeys(("relevant", "relevant_share", "background", "background_share", "ratio"), 0.0)
        shares, signals = [], []
        for i in range(m):
            a, b = abs(float(start["output.weight"][0, i])), float(start["hidden.bias"][i])
            q = start["hidden.weight"][i].double().tolist() if step == 1 else [0.0] * D
            beta = enumerated(problem, q, b, xi)[2]
            second = eta * a * k * (gamma + epsilon) / (scale**2 * xi)
            error = epsilon if step == 1 else second
            bound = epsilon if step == 1 else second + eta * scale / xi + eta * a * epsilon / xi
            off = max(abs(T[i, j] - beta * gamma) for j in A)
            left = max(abs(T[i, j]) for j in rest)
            signal = sum(T[i, j] for j in A) / k
            found = (off, off / bound, left, left / (p_o * (1 - p_o) * error), left / abs(signal))
            worst = {name: max(old, new) for (name, old), new in zip(worst.items(), found, strict=True)}
            shares.append(beta)
            signals.append(signal / gamma)
        for name, value in worst.items():
            assert getattr(run, f"{name}_{step}") == pytest.approx(value, rel=1e-6, abs=1e-15)
        assert getattr(run, f"least_beta_{step}") == pytest.approx(min(shares))
        assert getattr(run, f"signal_{step}") == pytest.approx(sum(signals) / m)


def test_the_bound_on_the_output_holds_at_every_input():
    """|g⁽¹⁾(x)| over all inputs, with T_a at most one."""
    problem, m = CASES["threshold"], 6
    run = bk.fit(ExactSteps(m), problem, n=1, test=1, seed=8, progress=False)
    exact = problem.moments
    start = theorem26(problem, TwoLayer(m)).initial.draw(m, 7, 1, Stream(8).child("learner"))
    q, b = start["hidden.weight"][:m].double(), start["hidden.bias"][:m].double()
    a = start["output.weight"][0, :m].double()
    eta, xi = exact.gamma**2 * exact.scale**2 / (3 * m**3), 3**-1.5
    T, T_b = pattern_gradients(problem, q, b, xi)
    phi = (torch.tensor(list(itertools.product((0.0, 1.0), repeat=7)), dtype=torch.float64) - exact.means) / exact.scale
    shift = eta * a * (phi @ T.T + T_b)
    smooth = activation(TwoLayer(1).activation).smoothed(xi)
    up, down = smooth.value(b + shift), smooth.value(b - shift)
    reached = (a * (up - down)).sum(1).abs() + eta * (up + down).sum(1)
    assert float(reached.max()) <= run.largest_output
    assert float(reached.max()) > 0.05 * run.largest_output  # and the bound is not empty


@pytest.mark.parametrize(
    "problem",
    [
        DictionaryParity(9, 6, 3, noise_std=0.1),
        DictionaryParity(9, 6, 3, dictionary=Incoherent(1.0)),
        DictionaryParity(9, 6, 3, negative_ratio=0.8),
    ],
)
def test_outside_the_lemma(problem):
    with pytest.raises(InputError, match=r"^problem must have an Orthonormal dictionary, no noise and no class ratio"):
        pattern_gradients(problem, torch.zeros(1, 6), torch.zeros(1), 0.1)


def test_bad_input():
    with pytest.raises(InputError, match="problem must have background patterns, got 3 relevant of 3 patterns"):
        first_error(CASES["no background"], 5, 0.1)
    with pytest.raises(InputError, match="problem must be a DictionaryProblem, got Monomial"):
        bk.fit(ExactSteps(2), Monomial(8), n=1, test=1, progress=False)
