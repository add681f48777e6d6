import math

import numpy as np
import pytest

import beyondkernels.papers.features as bp

CASES = {
    "parity": bp.DictionaryParity(8, 6, 3),
    "sparse": bp.DictionaryParity(8, 6, 3, background=0.2),
    "one background pattern": bp.DictionaryParity(8, 4, 3, background=0.2),
    "one relevant, one background": bp.DictionaryParity(8, 2, 1, background=0.2),
    "one relevant, two background": bp.DictionaryParity(8, 3, 1, background=0.2),
    "no background": bp.DictionaryParity(8, 3, 3, background=0.2),
    "uniform": bp.DictionaryParity(8, 6, 3).without_structure(),
    "even": bp.DictionaryParity(8, 6, 4),
    "independent": bp.DictionaryProblem(8, 6, 3, bp.Threshold(), bp.IndependentPatterns(0.5, 0.3)),
    "different backgrounds": bp.DictionaryProblem(8, 4, 2, bp.Counts((2,)), bp.IndependentPatterns(0.5, (0.3, 0.4))),
    "different relevant": bp.DictionaryProblem(8, 4, 2, bp.Counts((2,)), bp.IndependentPatterns((0.5, 0.6), 0.3)),
    "class ratio": bp.DictionaryParity(8, 6, 3, background=0.2, negative_ratio=0.8),
    "class ratio, independent": bp.DictionaryParity(8, 6, 3, negative_ratio=0.8),
    "one coin": bp.DictionaryParity(8, 3, 1, background=0.5),
    "incoherent": bp.DictionaryParity(9, 6, 3, dictionary=bp.Incoherent(0.5)),
}


def factorises(phi, p, some, others):
    """Whether two groups of bits are independent, cell by cell of their joint table."""
    joint: dict = {}
    for row, probability in zip(phi, p, strict=True):
        cell = (tuple(row[some]), tuple(row[others]))
        joint[cell] = joint.get(cell, 0.0) + probability
    left, right = {}, {}
    for (a, b), probability in joint.items():
        left[a] = left.get(a, 0.0) + probability
        right[b] = right.get(b, 0.0) + probability
    return all(abs(joint[a, b] - left[a] * right[b]) < 1e-12 for a in left for b in right)


@pytest.mark.parametrize("problem", CASES.values(), ids=CASES.keys())
def test_against_enumeration(problem, enumerated):
    found = {assumption.name: assumption for assumption in problem.assumptions()}
    phi, p, y = enumerated(problem)
    D, A = problem.patterns, list(problem.relevant_set)
    background = [j for j in range(D) if j not in A]
    means = p @ phi
    covariance = (phi * p[:, None]).T @ phi - np.outer(means, means)

    assert found["A0"].measured == pytest.approx(p[y == 1].sum(), abs=1e-13)
    assert found["A0"].holds == (abs(p[y == 1].sum() - 0.5) < 1e-9)

    gammas = [(p * y) @ phi[:, i] - (p @ y) * means[i] for i in A]
    assert found["A1"].measured == pytest.approx(min(gammas), abs=1e-13)
    assert found["A1"].holds == (min(gammas) > 1e-9 and max(gammas) - min(gammas) < 1e-9)

    worst = max((abs(covariance[j, i]) for j in background for i in range(D) if i != j), default=0.0)
    alone = all(factorises(phi, p, [j], [i for i in range(D) if i != j]) for j in background)
    identical = all(abs(means[j] - means[background[0]]) < 1e-9 for j in background)
    assert found["A2"].measured == pytest.approx(worst, abs=1e-13)
    assert found["A2"].holds == (alone and identical)

    size = phi[:, A].sum(1)
    coins = [abs(p[size == s].sum() - math.comb(len(A), s) / 2 ** len(A)) for s in range(len(A) + 1)]
    away = max(np.abs(means - 0.5).max(), np.abs(covariance - np.diag(np.diag(covariance))).max(), *coins)
    assert found["A1'"].measured == pytest.approx(away, abs=1e-13)
    assert found["A1'"].holds == bool(np.abs(p - 0.5**D).max() < 1e-12)

    half = [((phi[y == 1, i] @ p[y == 1]) / p[y == 1].sum() - (phi[y == -1, i] @ p[y == -1]) / p[y == -1].sum()) / 2
            for i in A]  # fmt: skip
    assert found["A1 of App. F"].measured == pytest.approx(min(half), abs=1e-13)
    assert found["A1 of App. F"].holds == (min(half) > 1e-9)

    count = phi[:, A].sum(1)
    by_count = [
        abs((phi[:, j] * (count == s)) @ p - means[j] * p[count == s].sum())
        for j in background
        for s in range(len(A) + 1)
    ]
    assert found["A2 of App. F"].measured == pytest.approx(max(by_count, default=0.0), abs=1e-13)
    assert found["A2 of App. F"].holds == factorises(phi, p, background, A)

    gram = problem.matrix.T @ problem.matrix
    mu = max(abs(float(gram[i, j])) for i in range(D) for j in range(i)) * problem.dim**0.5
    assert found["D"].measured == pytest.approx(mu, abs=1e-12)
    assert found["D"].holds


def test_mixture_below_one_half_breaks_a2():
    p_o = 0.2
    found = {a.name: a for a in bp.DictionaryParity(40, 20, 5, background=p_o).assumptions()}
    assert not found["A2"].holds
    assert found["A2"].measured == pytest.approx(p_o * (1 - 2 * p_o) ** 2 / (4 * (1 - p_o)), abs=1e-15)
    assert all(found[name].holds for name in ("A0", "A1", "D"))


def test_paper_settings():
    def holding(problem):
        return {a.name for a in problem.assumptions() if a.holds}

    table1 = bp.DictionaryParity(dim=500, patterns=100, relevant=5)
    assert holding(table1) == {"A0", "A1", "A2", "D", "A1 of App. F", "A2 of App. F"}
    assert holding(table1.without_structure()) == {"A0", "A2", "A1'", "D", "A2 of App. F"}
    assert holding(bp.IntervalLabelling()) == {"A1", "A2", "D", "A1 of App. F", "A2 of App. F"}


def test_classes_drawn_by_a_ratio_are_not_without_structure():
    problem = bp.DictionaryParity(20, 20, 5, negative_ratio=0.8).without_structure()
    (found,) = [assumption for assumption in problem.assumptions() if assumption.name == "A1'"]
    assert not found.holds
    assert found.measured > 0.1
