"""Features up to rotation, against the nuclear norm, a sweep over all plane rotations, and features turned by hand."""

import math

import pytest
import torch

from beyondkernels.core import Stream
from beyondkernels.papers.bfc.theory import aligned, distilled, linear_error, procrustes
from refusals import refused

STREAM = Stream(0)


def normal(name: str, *shape: int) -> torch.Tensor:
    return STREAM.child(name).normal(*shape, dtype=torch.float64)


def rotation(n: int) -> torch.Tensor:
    return torch.linalg.qr(normal("rotation", n, n)).Q


@pytest.mark.parametrize(("k", "m"), [(2, 2), (3, 3), (2, 5), (4, 1)])
def test_it_is_the_formula_with_the_nuclear_norm(k, m):
    S_star, S = normal("target", 50, k), normal("found", 50, m)
    nuclear = torch.linalg.matrix_norm(S_star.T @ S / 50, ord="nuc")
    sizes = S_star.square().sum(1).mean() + S.square().sum(1).mean()
    assert procrustes(S_star, S) == pytest.approx((sizes - 2 * nuclear).item(), rel=1e-12)


def test_no_rotation_or_reflection_of_the_plane_does_better():
    S_star, S = normal("target", 50, 2), normal("found", 50, 2)
    errors = []
    for i in range(2000):
        c, s = math.cos(2 * math.pi * i / 2000), math.sin(2 * math.pi * i / 2000)
        turns = torch.tensor([[[c, -s], [s, c]], [[c, s], [s, -c]]], dtype=torch.float64)
        errors += (S_star - S @ turns.mT).square().sum(2).mean(1).tolist()
    least = procrustes(S_star, S)
    assert least <= min(errors)
    assert least == pytest.approx(min(errors), rel=1e-6)


def test_turned_features_are_found_again_to_the_last_digits():
    S_star, Q = normal("target", 50, 4), rotation(4)
    U, moved = aligned(S_star, S_star @ Q)  # S = Qᵀ S*, so U = Q
    torch.testing.assert_close(U, Q)
    torch.testing.assert_close(moved, S_star)
    assert procrustes(S_star, S_star @ Q) < 1e-28
    near = S_star @ Q + 1e-9 * normal("noise", 50, 4)
    assert 1e-19 < procrustes(S_star, near) < 1e-17  # the subtraction of the formula would leave 1e-16


def test_more_units_than_features():
    S_star, R = normal("target", 50, 2), rotation(5)[:, :2]
    assert procrustes(S_star, S_star @ R.T) < 1e-28  # an isometry into more dimensions is a rotation of padded ones
    twice = torch.cat([S_star, S_star], 1)
    assert procrustes(S_star, twice) == pytest.approx((2**0.5 - 1) ** 2 * S_star.square().sum(1).mean().item())
    assert linear_error(S_star, twice) < 1e-28


def test_the_linear_error_is_what_the_normal_equations_leave():
    S_star, S = normal("target", 50, 3), normal("found", 50, 2)
    A = S_star.T @ S @ torch.linalg.inv(S.T @ S)
    assert linear_error(S_star, S) == pytest.approx((S_star - S @ A.T).square().sum(1).mean().item(), rel=1e-12)
    assert linear_error(S_star, S_star @ normal("map", 3, 4)) < 1e-26


def test_distilled_features_are_the_projection_that_loses_least():
    S = torch.tensor([[3.0, 0.0, 0.1], [0.0, 2.0, 0.1], [1.0, 1.0, -0.2], [0.5, -2.0, 0.0]], dtype=torch.float64)
    kept = distilled(S, 2)
    lost = S.square().sum() - kept.square().sum()
    assert lost == pytest.approx(torch.linalg.svdvals(S)[2].item() ** 2, rel=1e-12)  # Eckart and Young
    for seed in range(20):
        V = torch.linalg.qr(torch.randn(3, 2, generator=torch.Generator().manual_seed(seed)).double()).Q
        assert (S @ V).square().sum() <= kept.square().sum()
    assert distilled(S, 3) is S
    assert distilled(S, 5) is S
    refused("size must be at least 1, got 0", distilled, S, 0)
