"""The least weights with which a two-layer network computes a parity, and why there are none smaller."""

from __future__ import annotations

import itertools
import math

import torch

from beyondkernels.core import require, require_between
from beyondkernels.core.errors import shown


def parity_norm(degree: int = 6) -> float:
    r"""A lower bound on :math:`\|W\|_F / \sqrt d` where :math:`a^\top \sigma(Wx)` equals a parity.

    .. math:: \kappa_q = \sqrt q\; 2^{q-1} \Big/ \binom{q-2}{q/2-1}

    for a readout :math:`a \in \{\pm 1/\sqrt m\}^m`, no biases, x uniform on :math:`\{\pm 1/\sqrt d\}^d`, and y the
    parity of q of its signs, q even. (Without biases no odd parity of three or more signs correlates with a neuron.)
    It is a bound at every width and dimension, and attained where :math:`2^q` divides the width.

    Why none is smaller: for a neuron with weights w, from :math:`|u| = \frac2\pi \int_0^\infty (1 - \cos tu)\,dt/t^2`,

    .. math:: |E[\sigma(w \cdot x)\, y]| = \frac{1}{\pi\sqrt d} \Big|\int_0^\infty
              \prod_{j \text{ relevant}} \sin(t w_j) \prod_{j \text{ not}} \cos(t w_j)\, \frac{dt}{t^2}\Big|
              \le \frac{\|w\|}{\kappa_q \sqrt d},

    by Hölder's inequality over the q sines and that of the geometric and quadratic mean over the :math:`|w_j|`. Summed
    over neurons, :math:`E[f(x)\,y] \le \|W\|_F / (\kappa_q \sqrt d)`. Equality: :func:`minimal_network`.

    Arguments:
        degree: q.

    >>> round(parity_norm(6), 3)
    13.064

    Reference: our own, for the construction of Allen-Zhu & Li (resnet), §8.2.
    """
    even = isinstance(degree, int) and degree >= 2 and degree % 2 == 0
    require(even, f"degree must be an even number of at least 2, got {shown(degree)}")
    return math.sqrt(degree) * 2 ** (degree - 1) / math.comb(degree - 2, degree // 2 - 1)


def least_norm(risk: float, degree: int = 6) -> float:
    r"""A lower bound on :math:`\|W\|_F / \sqrt d` of a network whose risk :math:`E|f(x) - y|^2` is no more than this.

    .. math:: \kappa_q\, (1 - \sqrt R), \qquad\text{since}\qquad E(f - y)^2 = E(1 - fy)^2 \ge (1 - E[fy])^2

    at every width and dimension. It is attained where :math:`2^q` divides the width: :func:`minimal_network` of fit
    :math:`1 - \sqrt R` has risk R.

    Arguments:
        risk: R, from 0 to 1.
        degree: q.

    >>> [round(least_norm(risk), 2) for risk in (0.12, 0.037, 0.011, 0.0)]  # 9.7, 12.5 and 13.8 in the paper
    [8.54, 10.55, 11.69, 13.06]
    """
    require_between("risk", risk, 0, 1)
    return parity_norm(degree) * (1 - math.sqrt(risk))


def minimal_network(degree: int = 6, fit: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    r"""A network that is ``fit`` times the parity of all its inputs, with the least weights: W (2^q, q) and a (2^q,).

    .. math:: W_j = c\,s_j, \qquad a_j = (-1)^{q/2+1} \prod_i s_{ji} / \sqrt m, \qquad s_j \text{ all of } \{\pm1\}^q,

    with c such that :math:`\|W\|_F / \sqrt q = \kappa_q \cdot \text{fit}`. For more inputs and neurons it is padded and
    its rows are repeated: ``Monomial.padded`` and ``widened``.

    Arguments:
        degree: q, even.
        fit: what it is times the parity, at least 0; its risk is (1 − fit)².

    >>> W, a = minimal_network(degree=2)
    >>> x = torch.tensor([[1.0, 1.0], [1.0, -1.0]]).double() / 2**0.5
    >>> torch.relu(x @ W.T) @ a
    tensor([ 1.0000, -1.0000], dtype=torch.float64)
    """
    # q is even, so negating W only permutes its rows: the sign of fit would be lost
    require(0 <= fit < math.inf, f"fit must be at least 0 and finite, got {fit}; for the opposite parity negate a")
    norm = fit * parity_norm(degree) * math.sqrt(degree)
    signs = torch.tensor(list(itertools.product((1.0, -1.0), repeat=degree)), dtype=torch.float64)
    W = signs * (norm / math.sqrt(signs.numel()))
    turn = -1.0 if degree % 4 == 0 else 1.0  # (−1)^(q/2+1)
    return W, turn * signs.prod(1) / math.sqrt(len(signs))
