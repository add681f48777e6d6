"""The least weights that write given values, against a pseudo-inverse of all features written out."""

import torch

from beyondkernels.core import Stream
from beyondkernels.papers.resnet.theory import least_witness

M, P, K, N = 40, 3, 2, 9
STREAM = Stream(0)
A = STREAM.child("A").normal(K, M, dtype=torch.float64) / M**0.5
M0 = STREAM.child("M").normal(M, P + 1, dtype=torch.float64)
Z = STREAM.child("z").normal(N, P, dtype=torch.float64)
VALUES = STREAM.child("v").normal(N, K, dtype=torch.float64)


def written(weights, z):
    """A D M (z, 1), neuron by neuron."""
    rows = []
    for point in z.tolist():
        z1 = [*point, 1.0]
        total = [0.0] * K
        for j in range(M):
            gate = sum(w * v for w, v in zip(M0[j].tolist(), z1, strict=True)) >= 0
            value = sum(w * v for w, v in zip(weights[j].tolist(), z1, strict=True))
            for r in range(K):
                total[r] += float(A[r, j]) * gate * value
        rows.append(total)
    return torch.tensor(rows, dtype=torch.float64)


def features():
    """A row for each point and output: the coefficient of every weight."""
    rows = []
    for z in Z:
        z1 = torch.cat([z, torch.ones(1, dtype=torch.float64)])
        rows += [torch.cat([A[r, j] * float(M0[j] @ z1 >= 0) * z1 for j in range(M)]) for r in range(K)]
    return torch.stack(rows)


def test_it_writes_the_values_with_the_least_norm():
    found = least_witness(A, M0, Z, VALUES, ridge=0.0)
    torch.testing.assert_close(written(found, Z), VALUES, rtol=1e-9, atol=1e-10)
    expected = (torch.linalg.pinv(features()) @ VALUES.reshape(-1)).reshape(M, P + 1)
    torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-10)


def test_ridge_is_ridge_regression_on_the_features():
    phi = features()
    strength = 0.3 * float((phi @ phi.T).diagonal().mean())
    expected = torch.linalg.solve(phi.T @ phi + strength * torch.eye(phi.shape[1]).double(), phi.T @ VALUES.reshape(-1))
    found = least_witness(A, M0, Z, VALUES, ridge=0.3)
    torch.testing.assert_close(found.reshape(-1), expected, rtol=1e-8, atol=1e-10)
