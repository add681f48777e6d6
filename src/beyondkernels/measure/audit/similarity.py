"""How similar two kernels are, and two sets of features."""

from __future__ import annotations

import math

import torch


def centred(gram: torch.Tensor) -> torch.Tensor:
    r"""A Gram matrix of features whose mean over the points is subtracted.

    .. math:: H K H, \qquad H = I - \tfrac1n 1 1^\top

    Arguments:
        gram: K, shape (n, n).

    >>> centred(torch.tensor([[1.0, 0.0], [0.0, 3.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]], dtype=torch.float64)
    """
    K = gram.double()
    return K - K.mean(0) - K.mean(1, keepdim=True) + K.mean()


def centred_alignment(first: torch.Tensor, second: torch.Tensor) -> float:
    r"""The cosine of two centred Gram matrices. It is 1 for equal kernels and does not depend on their scale.

    .. math:: A(K, L) = \frac{\langle HKH, HLH \rangle_F}{\|HKH\|_F\, \|HLH\|_F}

    A kernel that is constant on the points has no direction; its alignment is 0.

    Arguments:
        first: K, shape (n, n).
        second: L, shape (n, n).

    >>> K = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
    >>> centred_alignment(K, 5 * K + 7), centred_alignment(K, torch.ones(2, 2))
    (1.0, 0.0)

    Reference: Cortes, Mohri & Rostamizadeh (2012), Algorithms for learning kernels based on centered alignment,
    JMLR 13.
    """
    K, L = centred(first), centred(second)
    # What remains of a constant matrix is rounding, which must not count as a direction.
    sizes = [part.norm().item() for part in (K, L)]
    floors = [1e-14 * whole.double().norm().item() for whole in (first, second)]
    if any(size <= floor for size, floor in zip(sizes, floors, strict=True)):
        return 0.0
    return ((K / sizes[0]) * (L / sizes[1])).sum().clamp(-1, 1).item()


def linear_similarity(first: torch.Tensor, second: torch.Tensor) -> float:
    r"""Linear CKA: the centred alignment of the Gram matrices of two sets of features at the same points.

    .. math:: \mathrm{CKA}(X, Y) = A(XX^\top, YY^\top)
              = \frac{\|Y_c^\top X_c\|_F^2}{\|X_c^\top X_c\|_F\, \|Y_c^\top Y_c\|_F}

    with columns centred on the right. It does not change if one set is rotated or scaled. The Gram form never holds a
    matrix of features by features, and a convolution has more features than there are points.

    Arguments:
        first: X, shape (n, …); a point's numbers are taken as one row.
        second: Y, shape (n, …).

    >>> X = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    >>> round(linear_similarity(X, 3 * X.flip(1)), 12)
    1.0

    Reference: Kornblith, Norouzi, Lee & Hinton (2019), Similarity of neural network representations revisited, ICML.
    """
    return centred_alignment(feature_gram(first), feature_gram(second))


def feature_gram(features: torch.Tensor) -> torch.Tensor:
    """The Gram matrix of centred features, shape (n, n). Centring first keeps the digits that a large mean would take.

    Arguments:
        features: shape (n, …).
    """
    rows = features.flatten(1).double()
    rows = rows - rows.mean(0)
    return rows @ rows.T


def relative_change(now: torch.Tensor, start: torch.Tensor) -> float:
    r"""How far a matrix has moved, relative to its size at the start.

    .. math:: \frac{\|K_t - K_0\|_F}{\|K_0\|_F}

    It is infinite where the start is zero and the matrix has moved.

    Arguments:
        now: :math:`K_t`.
        start: :math:`K_0`.

    >>> relative_change(torch.tensor([3.0, 4.0]), torch.tensor([3.0, 0.0]))
    1.3333...
    """
    moved, size = (now.double() - start.double()).norm().item(), start.double().norm().item()
    if size > 0:
        return moved / size
    return math.inf if moved > 0 else 0.0
