"""Appendix C of the paper, identity by identity: which hold, which do not, and what holds instead."""

import itertools
import math

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.papers.bfc.theory import induced, pairs, quartic, star, sym
from beyondkernels.papers.bfc.theory.symmetric import weights
from refusals import refused


def normal(name: str, *shape: int) -> torch.Tensor:
    return Stream(1).child(name).normal(*shape, dtype=torch.float64)


def unitary(n: int) -> torch.Tensor:
    return torch.linalg.qr(normal("unitary", n, n)).Q


def a(i: int, j: int) -> float:
    return 1.0 if i == j else math.sqrt(2)


def literal_sym(M: torch.Tensor, n: int) -> torch.Tensor:
    """Definition C.3 read word by word."""
    at = pairs(n)
    result = torch.zeros_like(M)
    for (row, ij), (column, kl) in itertools.product(enumerate(at), repeat=2):
        terms = [
            a(*pq) * a(*rs) * M[p, r]
            for (p, pq), (r, rs) in itertools.product(enumerate(at), repeat=2)
            if sorted(pq + rs) == sorted(ij + kl)
        ]
        result[row, column] = sum(terms) / (a(*ij) * a(*kl) * len(terms))
    return result


def value(M: torch.Tensor, z: torch.Tensor) -> float:
    return float(star(z) @ M @ star(z))


def squares_of_coefficients(M: torch.Tensor) -> float:
    return sum(c * c for c in quartic(M).values())


@pytest.mark.parametrize("n", [1, 2, 5])
def test_star_entry_by_entry(n):
    x, y = normal("x", n), normal("y", n)
    expected = [a(i, j) * (x[i] * y[j] + x[j] * y[i]) / 2 for i, j in pairs(n)]
    assert star(x, y).tolist() == pytest.approx([float(v) for v in expected])
    assert float(star(x) @ star(y)) == pytest.approx(float(x @ y) ** 2)
    # the symmetric part of the tensor product, in an orthonormal basis: norms are those of matrices
    symmetric = (torch.outer(x, y) + torch.outer(y, x)) / 2
    assert float(star(x, y).norm()) == pytest.approx(float(symmetric.norm()))
    assert len(star(x)) == n * (n + 1) // 2


def test_star_of_matrices_is_row_by_row():
    X, Y = normal("X", 4, 3), normal("Y", 4, 3)
    torch.testing.assert_close(star(X, Y), torch.stack([star(x, y) for x, y in zip(X, Y, strict=True)]))
    refused(r"^x and y must have one shape, got \(4, 3\) and \(3, 4\)$", star, X, Y.T)


def test_what_a_layer_does_to_symmetric_tensors():
    W, R, z = normal("W", 5, 6), normal("R", 6, 3), normal("z", 3)
    torch.testing.assert_close(star(R) @ star(z), (R @ z).square())
    torch.testing.assert_close(W @ star(R) @ star(z), W @ (R @ z).square())
    # App. C.2 writes W(R ∗ R) = WR ∗ WR, which is quadratic in W on one side and linear on the other
    assert (W @ star(R) - star(W @ R)).norm() > 1
    torch.testing.assert_close(2 * W @ star(R), (2 * W) @ star(R))
    torch.testing.assert_close(star(2 * W @ R), 4 * star(W @ R))
    # and W(I ∗ I) = W ∗ W, where the left side is W itself beside zeros
    V, I = normal("V", 2, 3), torch.eye(3, dtype=torch.float64)  # noqa: E741
    assert (V @ star(I) - star(V)).norm() > 0.5
    diagonal = [i == j for i, j in pairs(3)]
    torch.testing.assert_close((V @ star(I))[:, diagonal], V)
    assert not (V @ star(I))[:, [not same for same in diagonal]].any()
    torch.testing.assert_close(star(I) @ star(I).T, I)  # so singular values stay as they are: Fact C.7


@pytest.mark.parametrize("rows", [1, 4, 9])  # Lemma C.5 asks for at least six; it holds for any
def test_a_rotation_of_vectors_is_one_of_symmetric_tensors(rows):
    U, R, z = unitary(3), normal("R", rows, 3), normal("z", 3)
    P, Q = induced(U), induced(U.T).T
    torch.testing.assert_close(star(U @ z), P @ star(z))
    torch.testing.assert_close(star(R @ U), star(R) @ Q)
    for matrix in (P, Q):
        torch.testing.assert_close(matrix.T @ matrix, torch.eye(6, dtype=torch.float64))
    V = normal("V", 4, 3)  # any matrix moves tensors, unitary or not
    torch.testing.assert_close(star(V @ z), induced(V) @ star(z))


@pytest.mark.parametrize("n", [1, 2, 4])
def test_sym_is_the_definition_and_keeps_the_polynomial(n):
    P = n * (n + 1) // 2
    M = normal("M", P, P)
    torch.testing.assert_close(sym(M), literal_sym(M, n))
    torch.testing.assert_close(sym(sym(M)), sym(M))
    torch.testing.assert_close(sym(M), sym(M).T)
    for i in range(3):
        z = normal(f"z{i}", n)
        assert value(sym(M), z) == pytest.approx(value(M, z))


def test_sym_is_one_exactly_where_the_polynomial_is():
    M = normal("M", 10, 10)
    other, at = M.clone(), {pair: i for i, pair in enumerate(pairs(4))}
    other[at[0, 1], at[2, 3]] += 1e10  # the example of §6.2
    other[at[0, 2], at[1, 3]] -= 1e10
    assert value(other, normal("z", 4)) == pytest.approx(value(M, normal("z", 4)), rel=1e-4)
    torch.testing.assert_close(sym(other), sym(M), atol=1e-5, rtol=0)
    other[at[0, 1], at[0, 1]] += 1
    assert (sym(other) - sym(M)).norm() > 0.1


def test_the_polynomial_is_the_one_that_is_evaluated():
    M, z = normal("M", 6, 6), normal("z", 3)
    at_z = sum(c * math.prod(z[list(indices)].tolist()) for indices, c in quartic(M).items())
    assert at_z == pytest.approx(value(M, z))


def test_norms_of_matrices_and_coefficients():
    """The third property of Fact C.4, with the constant that it leaves open: 24, and no less."""
    for i in range(5):
        M = normal(f"M{i}", 10, 10)
        assert float(sym(M).norm()) ** 2 <= squares_of_coefficients(M) <= 24 * float(M.norm()) ** 2
    at = {pair: i for i, pair in enumerate(pairs(4))}
    M = torch.zeros(10, 10, dtype=torch.float64)
    for one, other in (((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2))):
        M[at[one], at[other]] = M[at[other], at[one]] = 1
    assert squares_of_coefficients(M) == pytest.approx(24 * float(M.norm()) ** 2)
    first = torch.zeros(10, 10, dtype=torch.float64)
    first[0, 0] = 1
    assert squares_of_coefficients(first) == float(sym(first).norm()) ** 2 == 1


def on_squares(B: torch.Tensor) -> torch.Tensor:
    """The matrix of Σ B_ik z_i² z_k², zero unless i = j and k = l."""
    n = len(B)
    M = torch.zeros(n * (n + 1) // 2, n * (n + 1) // 2, dtype=torch.float64)
    diagonal = torch.tensor([p for p, (i, j) in enumerate(pairs(n)) if i == j])
    M[diagonal[:, None], diagonal] = B
    return M


def test_matrices_on_squares_are_not_fixed_by_sym():
    """The second property of Fact C.4 is false as written; a constant takes its place."""
    B = normal("B", 3, 3)
    M = on_squares(B + B.T)
    assert (sym(M) - M).norm() > 0.5
    one = on_squares(torch.tensor([[0.0, 1.0], [1.0, 0.0]], dtype=torch.float64))
    assert sym(one)[0, 2].item() == pytest.approx(2 / 3)  # {1,1},{2,2}
    assert sym(one)[1, 1].item() == pytest.approx(1 / 3)  # {1,2},{1,2}
    assert float(sym(one).norm()) ** 2 == pytest.approx(float(one.norm()) ** 2 / 2)  # the constant is sharp
    for i in range(5):
        B = normal(f"B{i}", 4, 4)
        M = on_squares(B + B.T)
        assert float(M.norm()) ** 2 / 2 <= float(sym(M).norm()) ** 2 <= float(M.norm()) ** 2
    diagonal = on_squares(torch.diag(normal("b", 4)))
    torch.testing.assert_close(sym(diagonal), diagonal)  # without mixed squares it is true


def test_quadratic_forms_have_up_to_twice_the_norm_of_their_matrix():
    """The first case of Lemma E.1 says C(xᵀMx) = ‖M‖²; mixed terms count twice, antisymmetric ones vanish."""

    def coefficients(M):
        return sum(float(M[i, j] + (M[j, i] if i != j else 0)) ** 2 for i, j in pairs(len(M)))

    B = normal("B", 4, 4)
    M = B + B.T
    assert float(M.norm()) ** 2 < coefficients(M) < 2 * float(M.norm()) ** 2
    assert coefficients(torch.diag(B.diag())) == pytest.approx(float(B.diag().norm()) ** 2)
    assert coefficients(B - B.T) == 0


def test_random_matrices_have_well_conditioned_tensors():
    """Lemma C.6 says that R ∗ R has no singular value below 1/O(k⁴p²), but for a fraction p of the draws.

    A smaller p cannot give a larger bound: p² belongs into the numerator, as in the lemma's next sentence, where
    p = 1/(100 L) gives 1/O(k⁴L²).
    """
    for k in (2, 3, 4):
        rows, draws = k * (k + 1) // 2, 400
        R = Stream(3).child(str(k)).normal(draws * rows, k, dtype=torch.float64).view(draws, rows, k) / k
        values = torch.linalg.svdvals(star(R))
        for p in (0.5, 0.1, 0.02):
            assert values[:, -1].quantile(p) > p**2 / k**4
            assert values[:, 0].quantile(1 - p) < 2 * (1 + math.log(k / p) / k**2)
            assert torch.linalg.matrix_norm(R, ord=2).quantile(1 - p) < 2 * (1 + math.sqrt(math.log(1 / p)) / k)
        assert values[:, -1].max() < 1 / (k**4 * 0.02**2)  # as it is written


def test_concatenated_layers_are_well_conditioned():
    """Fact C.7, where a layer is no wider than those that it sees."""
    kappa, k = 2.0, 3
    blocks = []
    for width in (3, 4, 5):
        left, right = (
            torch.linalg.qr(normal(f"left{width}", k, k)).Q,
            torch.linalg.qr(normal(f"right{width}", width, k)).Q,
        )
        W = left @ torch.diag(torch.tensor([1 / kappa, 1.0, kappa], dtype=torch.float64)) @ right.T
        blocks.append(W @ star(torch.eye(width, dtype=torch.float64)))
        assert torch.linalg.svdvals(blocks[-1]).tolist() == pytest.approx([kappa, 1.0, 1 / kappa])
    values = torch.linalg.svdvals(torch.cat(blocks, 1))
    assert 1 / kappa <= float(values.min())
    assert float(values.max()) <= math.sqrt(3) * kappa


def test_weights():
    assert weights(2).tolist() == pytest.approx([1, math.sqrt(2), 1])


def test_the_footnote_on_four_different_indices():
    M, at = normal("M", 10, 10), {pair: i for i, pair in enumerate(pairs(4))}
    ways = [((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2))]
    six = [M[at[p], at[q]] for p, q in ways] + [M[at[q], at[p]] for p, q in ways]
    assert float(sym(M)[at[0, 1], at[2, 3]]) == pytest.approx(float(sum(six)) / 6)
