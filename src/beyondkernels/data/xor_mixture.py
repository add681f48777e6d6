"""Four Gaussians in XOR position: classes with equal means, which no linear classifier tells apart well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from scipy.optimize import minimize_scalar
from scipy.special import ndtr

from beyondkernels.core import Sample, Stream, require
from beyondkernels.core.constraints import positive, size
from beyondkernels.core.contracts import ScalarProblem
from beyondkernels.data.inputs import signs


@dataclass(frozen=True)
class XorMixture(ScalarProblem):
    r"""Gaussians around ±r u and ±r v for two orthonormal directions u, v; the label says which direction it is.

    .. math:: x = \pm r u + g \text{ and } y = 1, \quad\text{or}\quad x = \pm r v + g \text{ and } y = -1, \qquad
              g \sim N(0, I_d)

    All four are equally likely. Both classes have mean zero, and so have x and yx: the label shows in products of two
    coordinates only. A network has to find two directions. A kernel of inner products needs about d² points at a
    fixed separation r, because the label is of degree two.

    Arguments:
        dim: d, at least 2.
        separation: r, the length of a centre in standard deviations of the noise.
        instance: selects the draw of u and v.

    >>> problem = XorMixture(dim=20, separation=3.0)
    >>> round(problem.best_accuracy, 3), round(problem.linear_accuracy, 3)
    (0.967, 0.704)

    Reference: Refinetti, Goldt, Krzakala & Zdeborová (2021), Classifying high-dimensional Gaussian mixtures: where
    kernel methods fail and neural networks succeed, Figure 1; Ben Arous, Gheissari & Jagannath (2022),
    High-dimensional limit theorems for SGD, §4.
    """

    dim: Annotated[int, size]
    separation: Annotated[float, positive] = 3.0
    instance: int = 0

    def __post_init__(self) -> None:
        require(self.dim >= 2, f"dim must be at least 2, for two directions, got {self.dim}")

    @property
    def directions(self) -> torch.Tensor:
        """U and v, (d, 2) float64, orthonormal and otherwise uniformly random."""
        drawn = Stream(self.instance).child("directions").normal(self.dim, 2, dtype=torch.float64)
        Q, R = torch.linalg.qr(drawn)
        return Q * R.diagonal().sign()

    @property
    def best_accuracy(self) -> float:
        r"""The accuracy of the best classifier, the sign of :math:`|\langle u, x \rangle| - |\langle v, x \rangle|`.

        That sign is the product of the signs of :math:`\langle u \pm v, x \rangle`, which are independent. Both are
        right or both are wrong: :math:`p^2 + (1 - p)^2` with :math:`p = \Phi(r/\sqrt2)`.
        """
        p = float(ndtr(self.separation / 2**0.5))
        return p**2 + (1 - p) ** 2

    @property
    def linear_accuracy(self) -> float:
        r"""The accuracy of the best linear classifier; at most 3/4, however far apart the Gaussians are.

        A unit vector has the parts a and b along u and v. Along it, the two classes pass a threshold t > 0 with the
        probabilities f(a)/2 and f(b)/2, where :math:`f(a) = \Phi(ra - t) + \Phi(-ra - t)` grows with the size of a. So
        a = 1 and b = 0 are best:

        .. math:: \max_t\ \frac12 + \frac14 \bigl(\Phi(r - t) + \Phi(-r - t) - 2 \Phi(-t)\bigr).
        """
        r = self.separation

        def lost(t: float) -> float:
            return -float(ndtr(r - t) + ndtr(-r - t) - 2 * ndtr(-t))

        found = minimize_scalar(lost, bounds=(0, r + 5), method="bounded", options={"xatol": 1e-10})
        return 0.5 - float(found.fun) / 4

    def classify(self, x: torch.Tensor) -> torch.Tensor:
        """The best prediction ±1, (n,) float64 at points (n, d)."""
        along = (x.double() @ self.directions).abs()
        return torch.where(along[:, 0] >= along[:, 1], 1.0, -1.0).double()

    def sample(self, n: int, stream: Stream) -> Sample:
        """Draw n points: x (n, d) and y (n,) of ±1, float32; ``hidden["centre"]`` is ±1 for ±u and ±2 for ±v."""
        y, side = (signs(n, 1, stream.child(name))[:, 0] for name in ("labels", "sides"))
        own = torch.where(y[:, None] > 0, self.directions[:, 0], self.directions[:, 1])
        x = self.separation * side[:, None] * own + stream.child("noise").normal(n, self.dim, dtype=torch.float64)
        return Sample(x.float(), y.float(), {"centre": (side * torch.where(y > 0, 1, 2)).to(torch.int8)})
