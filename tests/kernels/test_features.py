"""Products of feature operators against matrices formed entry by entry."""

import pytest
import torch

from beyondkernels.core import Case, Sample, Stream
from beyondkernels.kernels import DenseFeatures, FeatureOperator, InputFeatures, random_feature_map, tangent_feature_map
from beyondkernels.kernels.features import CentredFeatures, random_feature_operator
from beyondkernels.kernels.reduction import span_basis
from beyondkernels.kernels.tangent import TangentFeatures, tangent_feature_operator

F64 = torch.float64


def sigmoid_prime(z):
    return torch.sigmoid(z) * (1 - torch.sigmoid(z))


def network(neurons=4, in_dim=3, seed=0):
    stream = Stream(seed)
    W = stream.child("W").normal(neurons, in_dim, dtype=F64)
    return W, stream.child("b").normal(neurons, dtype=F64), stream.child("a").normal(neurons, dtype=F64)


def points(n=7, in_dim=3):
    return Stream(1).child("x").normal(n, in_dim, dtype=F64)


def explicit(operator: FeatureOperator) -> torch.Tensor:
    """The matrix, column by column."""
    return torch.stack([operator.forward(e) for e in torch.eye(operator.dim, dtype=operator.dtype)], 1)


def operators():
    W, b, a = network()
    x = points()
    tangent = tangent_feature_operator(W, b, a, torch.sigmoid, sigmoid_prime, x)
    return {
        "dense": DenseFeatures(x),
        "random": random_feature_operator(W, b, torch.sigmoid, x),
        "tangent": tangent,
        "tangent, nothing kept": tangent_feature_operator(W, b, a, torch.sigmoid, sigmoid_prime, x, memory=1),
        "centred": CentredFeatures(tangent, tangent.mean()),
        "centred dense": DenseFeatures(x).centred(),
    }


@pytest.mark.parametrize("name", list(operators()))
def test_adjoint_and_norms_fit_forward(name):
    phi = operators()[name]
    v, r = Stream(2).normal(phi.dim, dtype=F64), Stream(3).normal(phi.n, dtype=F64)
    torch.testing.assert_close(phi.forward(v) @ r, v @ phi.adjoint(r), rtol=1e-12, atol=1e-12)
    matrix = explicit(phi)
    torch.testing.assert_close(matrix.T @ r, phi.adjoint(r))
    torch.testing.assert_close(matrix.square().sum(1), phi.square_norms())
    torch.testing.assert_close(matrix.mean(0), phi.mean())
    torch.testing.assert_close(matrix - matrix.mean(0), explicit(phi.centred()))
    if phi.matrix() is not None:
        torch.testing.assert_close(matrix, phi.matrix())


def test_tangent_features_are_the_jacobian():
    W, b, a = network()
    x = points()

    def g(W, b, a):
        return torch.sigmoid(x @ W.T + b) @ a

    J_W, J_b, J_a = torch.func.jacrev(g, argnums=(0, 1, 2))(W, b, a)
    phi = tangent_feature_operator(W, b, a, torch.sigmoid, sigmoid_prime, x, merge=False)
    matrix = explicit(phi)
    m, d = W.shape
    assert phi.dim == m * (d + 2)
    for i in range(m):
        torch.testing.assert_close(matrix[:, i], J_a[:, i])
        start = m + i * (d + 1)
        for j in range(d):
            torch.testing.assert_close(matrix[:, start + j], J_W[:, i, j])
        torch.testing.assert_close(matrix[:, start + d], J_b[:, i])


def test_blocks_do_not_change_products():
    W, b, a = network(neurons=5000, in_dim=2)  # 64 points a block
    x = points(n=150, in_dim=2)
    v = Stream(4).normal(5000 * 4, dtype=F64)
    phi = tangent_feature_operator(W, b, a, torch.sigmoid, sigmoid_prime, x, merge=False)
    assert len(phi._blocks) == 3
    rows = [
        tangent_feature_operator(W, b, a, torch.sigmoid, sigmoid_prime, x[i : i + 1], merge=False) for i in range(150)
    ]
    torch.testing.assert_close(phi.forward(v), torch.cat([row.forward(v) for row in rows]))
    r = Stream(5).normal(150, dtype=F64)
    torch.testing.assert_close(phi.adjoint(r), torch.stack([row.adjoint(r[[i]]) for i, row in enumerate(rows)]).sum(0))


def test_equal_neurons_merge_without_changing_the_kernel():
    W, b, a = network()
    W, b = torch.cat([W, W, W[:1]]), torch.cat([b, b, b[:1]])
    a = torch.cat([a, -a, 3 * a[:1]])
    x = points()
    merged = explicit(tangent_feature_operator(W, b, a, torch.sigmoid, sigmoid_prime, x))
    whole = explicit(tangent_feature_operator(W, b, a, torch.sigmoid, sigmoid_prime, x, merge=False))
    assert merged.shape[1] == 4 * 5
    assert whole.shape[1] == 9 * 5
    torch.testing.assert_close(merged @ merged.T, whole @ whole.T)
    h = random_feature_operator(W, b, torch.sigmoid, x).matrix()
    literal = torch.stack([torch.sigmoid(x @ w + c) for w, c in zip(W, b, strict=True)], 1)
    assert h.shape[1] == 4
    torch.testing.assert_close(h @ h.T, literal @ literal.T)


def test_span_is_found_and_keeps_inner_products():
    M = torch.linalg.qr(Stream(6).normal(10, 3, dtype=F64))[0]
    x = (points(n=20, in_dim=3) @ M.T).to(torch.float32)  # float32 rounding leaves the span by 1e-7
    Q = span_basis(x)
    assert Q.shape == (10, 3)
    torch.testing.assert_close(Q.T @ Q, torch.eye(3, dtype=F64))
    torch.testing.assert_close((x.to(F64) @ Q) @ (x.to(F64) @ Q).T, (x @ x.T).to(F64), rtol=1e-5, atol=1e-5)
    for whole in (points(n=20, in_dim=3), torch.zeros(4, 3)):
        assert span_basis(whole).equal(torch.eye(3, dtype=F64))


def test_a_rare_direction_is_kept():
    x = torch.zeros(10_000, 3, dtype=F64)
    x[:, 0] = 1e3
    x[0] = torch.tensor([0.0, 1e-1, 0.0])  # a tenth of 1e-3 of the others' length, in one of 10,000 rows
    Q = span_basis(x, tolerance=1e-5)
    assert Q.shape == (3, 3)  # below the eigenvalue threshold, yet a row would leave the span: no reduction


def test_tangent_map_reduced_to_the_span_has_the_same_kernel_everywhere():
    W, b, a = network(in_dim=10)
    M = torch.linalg.qr(Stream(6).normal(10, 3, dtype=F64))[0]
    x, other = points(n=20) @ M.T, points(n=5, in_dim=10)  # the other points lie outside the span
    reduced = tangent_feature_map(W, b, a, torch.sigmoid, sigmoid_prime, x)
    assert reduced(x).dim == 4 * (3 + 2)
    full = [explicit(tangent_feature_operator(W, b, a, torch.sigmoid, sigmoid_prime, p)) for p in (x, other)]
    small = [explicit(reduced(p)) for p in (x, other)]
    torch.testing.assert_close(small[0] @ small[0].T, full[0] @ full[0].T)
    torch.testing.assert_close(small[1] @ small[0].T, full[1] @ full[0].T)


def test_input_features_are_the_inputs_up_to_rotation():
    x = points(n=6) @ torch.tensor([[1.0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]], dtype=F64)
    case = Case(None, Sample(x, torch.ones(6)), Sample(x, torch.ones(6)), Stream(0))  # pyright: ignore[reportArgumentType]
    phi = InputFeatures().feature_map(case)(x)
    assert phi.dim == 3
    torch.testing.assert_close(explicit(phi) @ explicit(phi).T, x @ x.T)


def test_float32_products_follow_the_dtype():
    W, b, a = network()
    phi = tangent_feature_operator(W, b, a, torch.sigmoid, sigmoid_prime, points(), dtype=torch.float32)
    assert isinstance(phi, TangentFeatures)
    v = torch.ones(phi.dim, dtype=torch.float32)
    assert phi.forward(v).dtype == phi.adjoint(phi.forward(v)).dtype == torch.float32
    exact = tangent_feature_operator(W, b, a, torch.sigmoid, sigmoid_prime, points())
    torch.testing.assert_close(phi.forward(v).to(F64), exact.forward(v.to(F64)), rtol=1e-5, atol=1e-5)


def test_centring_shows_what_hides_behind_a_constant():
    u = torch.tensor([-1.0, 0.5, 2.0], dtype=F64)
    phi = random_feature_map(torch.tensor([[1e-9]]), torch.tensor([0.7]), torch.sigmoid)(u[:, None]).centred()
    slope = sigmoid_prime(torch.tensor(0.7)).to(F64) * 1e-9
    torch.testing.assert_close(phi.square_norms().sqrt(), (slope * (u - 0.5)).abs(), rtol=1e-5, atol=1e-15)
