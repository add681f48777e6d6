"""A product as a sum of powers of linear forms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import torch

from beyondkernels.activations import Polynomial
from beyondkernels.core import require
from beyondkernels.data.maps import LENGTH, GivenMap, nested


def product_as_powers(factors: int) -> tuple[torch.Tensor, torch.Tensor]:
    r"""Signs and coefficients of the polarisation identity.

    .. math:: \prod_{j=1}^q z_j = \frac{1}{q!\,2^q} \sum_{s \in \{0,1\}^q} (-1)^{s_1 + \dots + s_q}
              \Bigl(\sum_{i=1}^q (-1)^{s_i} z_i\Bigr)^q

    Arguments:
        factors: q.

    Returns:
        The signs (2^q, q) and the coefficients (2^q,), float64.

    >>> signs, c = product_as_powers(3)
    >>> round(float(c @ (signs @ torch.tensor([2.0, 3.0, 5.0], dtype=torch.float64)) ** 3), 9)  # 2·3·5
    30.0

    Reference: Allen-Zhu & Li (resnet), proof of Corollary 7.1 (App. D.4).
    """
    require(1 <= factors <= 20, f"factors must lie between 1 and 20, as there are 2^factors terms, got {factors}")
    signs = torch.tensor(list(itertools.product((1.0, -1.0), repeat=factors)), dtype=torch.float64)
    return signs, signs.prod(1) / (math.factorial(factors) * 2**factors)


def product_map(dim: int, coordinates: Sequence[int], coefficients: Sequence[float]) -> GivenMap:
    r"""Multiples of one product of coordinates as a two-layer map of Concept 1's form with :math:`2^q` terms.

    .. math:: G_r(z) = c_r \prod_{j \in J} z_j
        = \sum_s \pm\, \frac{|c_r| (2q)^{q/2}}{q!\,2^q} \Bigl(\Bigl\langle \frac{(\pm 1)_{j \in J}}{\sqrt{2q}}, z
        \Bigr\rangle\Bigr)^q, \qquad q = |J|

    Arguments:
        dim: the dimension of z.
        coordinates: J, from 0.
        coefficients: c_r for each output, all different from zero.

    Reference: Allen-Zhu & Li (resnet), proof of Corollary 7.1 (App. D.4), where J holds all coordinates.
    """
    require(all(c != 0 for c in coefficients), "coefficients must be different from 0")
    q, k = len(coordinates), len(coefficients)
    signs, c = product_as_powers(q)
    w = torch.zeros(2**q, dim, dtype=torch.float64)
    w[:, list(coordinates)] = signs * (LENGTH / math.sqrt(q))
    scale = float(c.abs()[0]) * (2 * q) ** (q / 2)
    functions = tuple((Polynomial((*(0.0,) * q, abs(a) * scale)),) * 2**q for a in coefficients)
    readout = torch.stack([c.sign() * math.copysign(1, a) for a in coefficients])
    return GivenMap(nested(w.expand(k, -1, -1)), nested(readout), functions)
