"""Single-index models: a function of one hidden direction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.activations import Activation, Polynomial
from beyondkernels.core import Sample, Stream, require
from beyondkernels.core.constraints import not_negative, size
from beyondkernels.core.contracts import ScalarProblem

_NONE = 1e-12
"""Hermite coefficients below this share of the link's size count as zero: quadrature leaves about 1e-15."""


@dataclass(frozen=True)
class SingleIndex(ScalarProblem):
    r"""A function of one hidden direction of Gaussian points.

    .. math:: y = g(\langle w, x \rangle) + \xi, \qquad x \sim N(0, I_d), \quad \|w\| = 1, \quad \xi \sim N(0, \tau^2)

    Let :math:`g = \sum_k a_k h_k` in Hermite polynomials :math:`h_k = He_k / \sqrt{k!}`. Two numbers matter:

    - The *information exponent*, the first k ≥ 1 with :math:`a_k \ne 0`, decides for stochastic gradient descent
      from a random start. It needs about :math:`d^{\max(1, k - 1)}` steps of one point each, up to logarithms.
    - The tail of the coefficients decides for kernels of inner products. With more than :math:`d^p` and fewer than
      :math:`d^{p + 1}` points they learn the part of g up to degree p and nothing beyond (:meth:`polynomial_risk`).

    Arguments:
        dim: d.
        link: g; :func:`hermite_link` makes one of any information exponent.
        noise_std: τ.
        instance: selects the draw of w.

    >>> SingleIndex(50, hermite_link(3)).information_exponent
    3
    >>> from beyondkernels.activations import ReLU
    >>> relu = SingleIndex(50, ReLU())
    >>> relu.information_exponent, round(relu.polynomial_risk(1), 4)  # 1/2 - 1/(2 pi) - 1/4
    (1, 0.0908)

    Reference: Ben Arous, Gheissari & Jagannath (2021), Online stochastic gradient descent on non-convex losses, Theorem
    1.3; Ghorbani, Mei, Misiakiewicz & Montanari (2021), Linearized two-layers neural networks in high dimension,
    Theorem 4.
    """

    dim: Annotated[int, size]
    link: Activation
    noise_std: Annotated[float, not_negative] = 0.0
    instance: int = 0

    @property
    def direction(self) -> torch.Tensor:
        """w, (d,) float64, uniform on the unit sphere."""
        w = Stream(self.instance).child("direction").normal(self.dim, dtype=torch.float64)
        return w / w.norm()

    def hermite(self, degree: int) -> torch.Tensor:
        """The Hermite coefficients a_0, …, a_degree of the link, float64.

        Arguments:
            degree: the last one.
        """
        return self.link.hermite(torch.ones((), dtype=torch.float64), degree)

    @property
    def information_exponent(self) -> int:
        """The first k ≥ 1 with a_k ≠ 0, among the first 40."""
        a = self.hermite(40)
        present = (a[1:].abs() > _NONE * max(1.0, math.sqrt(self._second_moment))).nonzero()
        require(len(present) > 0, "link must not be constant for an information exponent")
        return int(present[0]) + 1

    @property
    def variance(self) -> float:
        """The variance of the target, and so the risk of the best constant, without the noise."""
        return self.polynomial_risk(0)

    def polynomial_risk(self, degree: int) -> float:
        r"""The risk of the best polynomial of a degree in x, :math:`\sum_{k > p} a_k^2`, without the noise.

        Arguments:
            degree: p; 1 for the best linear predictor.
        """
        return max(0.0, self._second_moment - float(self.hermite(degree).square().sum()))

    def target(self, x: torch.Tensor) -> torch.Tensor:
        """g(⟨w, x⟩), (n,) float64 at points (n, d)."""
        return self.link.value(x.double() @ self.direction)

    def sample(self, n: int, stream: Stream) -> Sample:
        """Draw n points: x (n, d) and y (n,), float32; ``hidden["index"]`` is ⟨w, x⟩."""
        x = stream.child("inputs").normal(n, self.dim, dtype=torch.float64)
        index = x @ self.direction
        noise = self.noise_std * stream.child("noise").normal(n, dtype=torch.float64)
        return Sample(x.float(), (self.link.value(index) + noise).float(), {"index": index.float()})

    @property
    def _second_moment(self) -> float:
        return float(self.link.moments(torch.ones((), dtype=torch.float64))[1])


def hermite_link(exponent: int) -> Polynomial:
    r"""The Hermite polynomial :math:`h_k = He_k / \sqrt{k!}`, a link of information exponent k and variance 1.

    .. math:: He_k(z) = \sum_{j \le k/2} \frac{(-1)^j\, k!}{2^j\, j!\, (k - 2j)!} z^{k - 2j}

    Arguments:
        exponent: k, at least 1.

    >>> [round(a, 3) for a in hermite_link(3).coefficients]  # (z³ - 3z)/√6
    [0.0, -1.225, 0.0, 0.408]
    """
    require(
        isinstance(exponent, int) and exponent >= 1, f"exponent must be a whole number of at least 1, got {exponent}"
    )
    a = [0.0] * (exponent + 1)
    for j in range(exponent // 2 + 1):
        whole = math.factorial(exponent) // (2**j * math.factorial(j) * math.factorial(exponent - 2 * j))
        a[exponent - 2 * j] = (-1) ** j * whole / math.sqrt(math.factorial(exponent))
    return Polynomial(tuple(a))
