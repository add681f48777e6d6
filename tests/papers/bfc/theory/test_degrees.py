"""Coefficients degree by degree: against values at points, and with learners whose errors are put in by hand."""

import math
from dataclasses import replace

import pytest
import torch

from beyondkernels.core import InputError, Stream
from beyondkernels.papers.bfc.networks import QuadraticDenseNet
from beyondkernels.papers.bfc.problems import QuadraticTarget
from beyondkernels.papers.bfc.theory import QuadraticWeights, compared, layer_agreement, star, sym, turns

GRAPH = ((1,), (2, 0), (3, 1))
PROBLEM = QuadraticTarget(dim=4, widths=(2, 2, 1), graph=GRAPH, alphas=(1.0, 0.3, 0.1), kappa=1.5)
TARGET = QuadraticWeights.of_problem(PROBLEM)


def normal(name: str, *shape: int) -> torch.Tensor:
    return Stream(5).child(name).normal(*shape, dtype=torch.float64)


def unitary(rows: int, columns: int) -> torch.Tensor:
    return torch.linalg.qr(normal(f"unitary{rows},{columns}", rows, columns)).Q


X = normal("points", 30, 4)


def rotation(angle: float) -> torch.Tensor:
    """Unlike a reflection of the plane, it is not its own inverse."""
    c, s = math.cos(angle), math.sin(angle)
    return torch.tensor([[c, -s], [s, c]], dtype=torch.float64)


U = {2: rotation(0.7), 3: rotation(-1.1), 4: torch.ones(1, 1, dtype=torch.float64)}


def perfect() -> QuadraticWeights:
    """A learner with other features, other bases and more rows, that computes the target: V* of (G.1), distilled."""
    R = {2: normal("R2", 3, 2), 3: normal("R3", 3, 2), 4: normal("R4", 1, 1)}
    wide, small = {}, {}
    for (layer, j), W in PROBLEM.weights.items():
        V = W if j < 2 else W @ star(torch.eye(2).double()) @ torch.linalg.inv(star(R[j] @ U[j]))
        small[layer, j] = U[layer] @ V
        wide[layer, j] = unitary(7, len(W)) @ V
    return QuadraticWeights(GRAPH, PROBLEM.second_moments, wide, small, R)


def hidden(weights: QuadraticWeights, x: torch.Tensor) -> tuple[dict, dict]:
    """S_ℓ and Sum(F_ℓ) at points, by the formulas (2.1) and (2.2)."""
    below, S, sums = {0: x, 1: x**2 - torch.tensor(weights.second_moments)}, {}, {}
    for layer, sources in enumerate(weights.graph, 2):
        small = torch.stack([below[j] @ weights.small[layer, j].T for j in sources])
        wide = torch.stack([below[j] @ weights.wide[layer, j].T for j in sources])
        S[layer], sums[layer] = small.sum(0), (wide.sum(0) ** 2).sum(1)
        R = weights.spread.get(layer)
        below[layer] = S[layer] ** 2 if R is None else (S[layer] @ R.T) ** 2
    return S, sums


def agreement(learner: QuadraticWeights):
    return layer_agreement(TARGET, learner, turns(PROBLEM.features(X), hidden(learner, X)[0]))


@pytest.mark.parametrize("weights", [TARGET, perfect()], ids=["target", "learner"])
def test_polynomials_are_what_the_network_computes(weights):
    polynomials, sums = weights.polynomials()
    values, totals = hidden(weights, X)
    for layer in (2, 3, 4):
        torch.testing.assert_close(polynomials[layer](X), values[layer], rtol=1e-8, atol=1e-8)
        torch.testing.assert_close(sums[layer](X)[:, 0], totals[layer], rtol=1e-8, atol=1e-8)
        assert sums[layer].degree == 2 * polynomials[layer].degree == 2**layer


def test_the_target_is_that_of_the_problem():
    for layer, values in hidden(TARGET, X)[0].items():
        torch.testing.assert_close(values, PROBLEM.features(X)[layer])


def test_a_bar_is_what_a_block_does_to_symmetric_tensors():
    learner, z, V = perfect(), normal("z", 2), normal("V", 2, 2)
    for turn, moved in ((None, z), (V, V @ z)):
        expected = learner.wide[3, 2] @ (learner.spread[2] @ moved) ** 2
        torch.testing.assert_close(learner.bar(3, 2, turn) @ star(z), expected)
    assert learner.bar(3, 0) is learner.wide[3, 0]


def test_a_learner_in_another_basis_agrees_in_everything():
    learner = perfect()
    torch.testing.assert_close(hidden(learner, X)[1][4], hidden(TARGET, X)[1][4])
    found = agreement(learner)
    assert found.keys() == {2, 3, 4}
    for layer, part in found.items():
        assert max(part.top, part.symmetric, part.whole, *part.cross.values(), 0) < 1e-7
        assert part.cross.keys() == {2: set(), 3: {0}, 4: {1}}[layer]
        sizes = [size for _, size in part.degrees.values()]
        assert max(difference for difference, _ in part.degrees.values()) < 1e-7 * max(sizes)
        assert sizes[-1] > 0


def test_the_polynomial_leaves_the_matrix_open_but_not_its_symmetric_version():
    """W̄ᵀW̄ moves along z₁²z₂² = z₁z₂ · z₁z₂, which no polynomial sees."""
    learner = perfect()
    V = turns(PROBLEM.features(X), hidden(learner, X)[0])[2]
    bar = learner.bar(3, 2, V)
    hidden_direction = torch.tensor([[0.0, 0.0, 1.0], [0.0, -1.0, 0.0], [1.0, 0.0, 0.0]], dtype=torch.float64)
    M = bar.T @ bar + 0.5 * torch.eye(3).double()  # away from the edge of the cone
    rows = []
    for t in (0.0, 0.3):
        values, vectors = torch.linalg.eigh(M + t * hidden_direction)
        assert values.min() > 0
        root = vectors @ torch.diag(values.sqrt()) @ vectors.T
        W = root @ torch.linalg.inv(star(learner.spread[2] @ V))
        wide = {**learner.wide, (3, 2): W, (3, 0): torch.zeros(3, 4).double()}
        rows.append(agreement(replace(learner, wide=wide))[3])
    still, moved = rows
    assert moved.top == pytest.approx(still.top, rel=1e-7)
    assert moved.symmetric == pytest.approx(still.symmetric, rel=1e-7)
    assert abs(moved.whole - still.whole) > 0.005


def test_an_error_in_a_skip_connection_is_seen_at_its_own_degree():
    learner = perfect()
    for layer, j, degree in ((3, 0, 5), (4, 1, 10)):
        wide = {**learner.wide, (layer, j): 1.1 * learner.wide[layer, j]}
        part = agreement(replace(learner, wide=wide))[layer]
        assert part.cross[j] == pytest.approx(0.1, rel=1e-6)
        assert max(part.top, part.symmetric) < 1e-7
        largest = max(size for _, size in part.degrees.values())
        errors = {degree: difference / largest for degree, (difference, _) in part.degrees.items()}
        assert errors[degree] > 1e-5
        assert max(error for above, error in errors.items() if above > degree) < 1e-9


def test_an_error_in_the_layer_below_is_seen_at_the_top():
    learner = perfect()
    wide = {**learner.wide, (3, 2): 1.1 * learner.wide[3, 2]}
    part = agreement(replace(learner, wide=wide))[3]
    assert part.top == pytest.approx(0.21, rel=1e-6)  # squares
    assert part.symmetric == pytest.approx(0.21, rel=1e-6)
    assert part.cross[0] == pytest.approx(0.1, rel=1e-6)


def test_a_network_with_some_of_its_layers():
    network = QuadraticDenseNet(GRAPH, (3, 2, 1), (1.0, 0.3, 0.1))
    params, buffers = network.init(4, 1, Stream(0))
    weights = QuadraticWeights.of_network(network, params, buffers, 4)
    assert weights.layers == (2, 3, 4)
    parts = network.contributions(params, buffers, X)
    for layer, polynomial in weights.polynomials()[1].items():
        torch.testing.assert_close(network.alphas[layer - 2] * polynomial(X)[:, 0], parts[layer])
    part = {name: value for name, value in params.items() if name.startswith(("M2", "M3"))}
    joined = QuadraticWeights.of_network(network, part, buffers, 4)
    assert joined.layers == (2, 3)
    assert agreement_of(network, part, joined).keys() == {2, 3}
    with pytest.raises(InputError, match=r"^network must not add a leading coordinate"):
        QuadraticWeights.of_network(replace(network, leading=True), params, buffers, 4)


def agreement_of(network, params, weights):
    return layer_agreement(TARGET, weights, turns(PROBLEM.features(X), network.hidden(params, {}, X)))


def test_all_degrees_are_compared():
    one, other = (
        weights.polynomials()[1][2] for weights in (TARGET, QuadraticWeights.of_problem(replace(PROBLEM, instance=1)))
    )
    found = compared(one, other)
    total = one.plus(replace(other, coefficients=-other.coefficients)).coefficients.square().sum().item()
    assert sum(difference**2 for difference, _ in found.values()) == pytest.approx(total)
    assert list(found) == [0, 1, 2, 3, 4]
    assert found[1] == found[3] == (0.0, 0.0)


def test_what_the_polynomial_determines_and_why_a_layer_skips_two():
    """Lemma E.1 by ranks: M ↦ zᵀMz' loses what Sym loses for equal layers, nothing for layers two apart."""
    x = normal("many", 400, 4)
    top = {0: x, 1: x**2}
    for layer in (2, 3):
        top[layer] = (top[layer - 1] if layer == 2 else top[layer - 1] ** 2) @ PROBLEM.weights[layer, layer - 1].T

    def rank(one: int, other: int) -> tuple[int, int]:
        """Of the functions z_p z'_q at many points, and how many there are."""
        z, w = (top[j] if j < 2 else star(top[j]) for j in (one, other))
        products = (z[:, :, None] * w[:, None, :]).flatten(1)
        values = torch.linalg.svdvals(products / products.norm(dim=0))
        return int((values > 1e-9 * values[0]).sum()), products.shape[1]

    entries = torch.eye(9, dtype=torch.float64).view(9, 3, 3)
    kept = torch.linalg.matrix_rank(torch.stack([sym(entry).flatten() for entry in entries]))
    assert rank(2, 2) == (5, 9)  # as many as there are quartics in two variables
    assert int(kept) == 5
    assert rank(3, 3) == (5, 9)
    assert rank(3, 0) == (12, 12)
    assert rank(3, 1) == (12, 12)
    assert rank(2, 0) == (12, 12)
    # layers one apart, which the graphs of §2 rule out: (w₁u)(w₂u)·(w₁u) is (w₁u)²·(w₂u)
    assert rank(2, 1) == (10, 12)
