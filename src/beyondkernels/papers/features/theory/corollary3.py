"""Corollary 3 of the feature-learning paper: kernels, with the constants that the paper leaves open."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch

from beyondkernels.certificates.certificate import Numbers, Verification
from beyondkernels.certificates.coefficients import degree_coefficients
from beyondkernels.core import InputError, Stream, require_whole
from beyondkernels.data.inputs import corners
from beyondkernels.kernels import Kernel
from beyondkernels.papers.features.theory.fixed_feature_bound import (
    FixedFeatureBound,
    counting_share,
    every_parity,
    require_norm,
    telescoped_log,
)

MOST_DEGREES = 400
"""The most patterns for which a kernel's coefficient of degree k is computed in extended precision."""

_TRIED = 8
"""Up to so many patterns, :meth:`KernelBallCertificate.verify` takes kernels of its own on the whole cube."""

_ENUMERATED = 14
"""Up to so many patterns, it computes a given kernel's coefficient as a mean over the cube."""


@dataclass(frozen=True)
class KernelBallCertificate(FixedFeatureBound):
    r"""Corollary 3 with explicit constants, for functions in a ball of a kernel.

    The paper says that the loss is at least :math:`p_o(1 - \mathrm{poly}(d, L)/2^k) - 1/\mathrm{poly}(d, L)` and leaves
    the polynomials open, because it replaces the kernel by random Fourier features. No such features are needed. The
    function :math:`\mu_A = E_x[K(\cdot, x)\chi_A(x)]` has
    :math:`E[f\chi_A] = \langle f, \mu_A\rangle`, and the parities are orthonormal, so

    .. math:: \sum_A \|\mu_A\|^2 \le E\,K(x, x) \le \kappa, \qquad
              E\,\ell(f, y) \ge p_o\,(1 - L\,\|\mu_A\|) \quad\text{for}\ \|f\|_K \le L

    The mean over A of the best loss is at least :math:`p_o(1 - L\sqrt{\kappa/C})`. For
    :math:`f = \sum_{i \le n} \alpha_i K(z_i, \cdot)` with :math:`|\alpha| \le L` the functions :math:`K(z_i, \cdot)`
    are n features bounded by κ, and Theorem 2's argument gives :math:`p_o(1 - \kappa L\sqrt{n/C})`. If the kernel
    depends on :math:`\langle z, z'\rangle` alone, then :math:`\|\mu_A\|^2` is its coefficient :math:`\lambda_k` for
    every A. All this is ours. The kernel need not be shift-invariant.

    Arguments:
        patterns: D.
        relevant: k.
        background: :math:`p_o`.
        norm: L.
        diagonal: κ, a bound on K(x, x).
        points: n, the number of data points; None for the ball of the Hilbert space.
        kernel: a rotation-invariant kernel on :math:`z/\sqrt D`, z being signs, for which the bound is exact; None for
            all kernels.

    >>> from beyondkernels.kernels import Gaussian
    >>> certificate = KernelBallCertificate(80, 5, 0.5, norm=100.0, kernel=Gaussian(1.0))
    >>> round(certificate.bound, 3), round(certificate.exact, 3), certificate.verify().agrees
    (0.49, 0.498, True)

    Reference: Shi, Wei & Liang (features), Corollary 3 (Corollary 30 in App. C).
    """

    predictors: ClassVar[str] = "functions of a kernel"

    norm: float
    diagonal: float = 1.0
    points: int | None = None
    kernel: Kernel | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_norm("norm", self.norm)
        require_norm("diagonal", self.diagonal)
        if self.points is not None:
            require_whole("points", self.points)
        if self.kernel is None:
            return
        if not isinstance(self.kernel, Kernel) or not self.kernel.rotation_invariant:
            raise InputError(f"kernel must be rotation-invariant, or None for all kernels, got {self.kernel}")
        if self.patterns > MOST_DEGREES:
            raise InputError(f"patterns must be at most {MOST_DEGREES} for a given kernel, got {self.patterns}")
        one = torch.full((1, self.patterns), self.patterns**-0.5, dtype=torch.float64)
        found = float(self.kernel.diagonal(one))
        if found > self.diagonal * (1 + 1e-12):
            raise InputError(f"diagonal must be at least {found:.6g}, the kernel's K(x, x), got {self.diagonal}")

    @property
    def share(self) -> float:
        """L√(κ/C), or κL√(n/C) for n points."""
        return counting_share(self._size, self.patterns, self.relevant)

    @property
    def exact(self) -> float | None:
        """p_o(1 − L√λ_k), or p_o(1 − Lλ_k√n) for n points of the cube; None without a kernel."""
        return None if self.kernel is None else self._by(self.coefficient(self.kernel))

    def coefficient(self, kernel: Kernel) -> float:
        """λ_k; where it is too small for the kernel's digits, the error of these digits."""
        found = degree_coefficients(kernel, self.patterns)
        return max(float(found.values[self.relevant]), float(found.error))

    @property
    def title(self) -> str:
        return "Corollary 3 of Shi, Wei & Liang (features), with explicit constants"

    @property
    def setting(self) -> dict[str, str]:
        ball = f"‖f‖ ≤ L in the Hilbert space, L = {self.norm:g}"
        if self.points is not None:
            ball = f"f = Σ α_i K(z_i, ·) over n = {self.points} points, ‖α‖ ≤ L = {self.norm:g}"
        which = "any kernel" if self.kernel is None else str(self.kernel)
        return super().setting | {"predictors": ball, "kernel": f"{which}, K(x, x) ≤ κ = {self.diagonal:g}"}

    @property
    def claim(self) -> str:
        ours = "p_o(1 − L√(κ/C))" if self.points is None else "p_o(1 − κL√(n/C))"
        own = (
            "" if self.kernel is None else " For this kernel the bound with its own coefficient λ_k holds for every A."
        )
        return (
            "some A leaves every such function a hinge loss of at least p_o(1 − poly(d, L)/2^k) − 1/poly(d, L) (the "
            "paper, which leaves the polynomials open). The mean over all A of the best hinge loss is at least "
            f"{ours}, where C is the number of sets A (ours).{own}"
        )

    @property
    def numbers(self) -> Numbers:
        found = {
            "targets C": self.targets,
            "mean hinge loss over A, at least (ours)": self.bound,
            "its distance from p_o": self.background * self.share,
        }
        if self.kernel is None:
            return found
        own = self.coefficient(self.kernel)
        return found | {"coefficient λ_k": own, "hinge loss for every A, at least (this kernel)": self._by(own)}

    @property
    def verdict(self) -> str:
        failing = f" The paper's corollary does not apply, because this fails: {self.failing}." if self.failing else ""
        if not self.holds:
            return f"Counting says nothing, because the ball is too large for the number of targets.{failing}"
        return f"{self.counted}{failing}"

    def verify(self) -> Verification:
        """Count the targets by their factors; enumerate a small cube.

        There, a given kernel's coefficient is a mean of kernel times parity. The ball of a random kernel must not fall
        below the bound for the Hilbert space, and that of a kernel with all parities as features attains it.
        """
        log = math.log(self._size) - telescoped_log(self.patterns, self.relevant) / 2
        difference = abs(self.background * (1 - math.exp(log)) - self.bound)
        route = "the factors of the binomial coefficient"
        if self.kernel is not None:
            difference = max(difference, self.bound - self._by(self.coefficient(self.kernel)))
            if self.patterns <= _ENUMERATED:
                z = corners(self.patterns)
                row = self.kernel(z[-1:] / self.patterns**0.5, z / self.patterns**0.5)[0]
                second = float((row * z[:, : self.relevant].prod(1)).mean())
                difference = max(difference, abs(self._by(max(second, 0.0)) - self._by(self.coefficient(self.kernel))))
                route += ", and the mean of kernel times parity over the cube"
        if self.patterns <= _TRIED and self.points is None:
            random, extremal = (self._mean_loss(gram) for gram in (_random_gram(self), _extremal_gram(self)))
            difference = max(difference, self.bound - random, abs(self.bound - extremal))
            route += ", and a random and an extremal kernel on the whole cube"
        scale = max(1.0, self.background * self.share)
        return Verification(route, difference, 1e-6 * scale if self.kernel is not None else 1e-11 * scale).require()

    @property
    def _size(self) -> float:
        if self.points is None:
            return self.norm * math.sqrt(self.diagonal)
        return self.norm * self.diagonal * math.sqrt(self.points)

    def _mean_loss(self, gram: torch.Tensor) -> float:
        """The mean over A of p_o(1 − L‖µ_A‖), for a kernel on the whole cube."""
        parities = every_parity(self.patterns, self.relevant)
        squares = (parities * (gram @ parities)).sum(0) / len(gram) ** 2
        return float((self.background * (1 - self.norm * squares.clamp(min=0).sqrt())).mean())

    def _by(self, coefficient: float) -> float:
        size = math.sqrt(coefficient) if self.points is None else coefficient * math.sqrt(self.points)
        return self.background * (1 - self.norm * size)


def _random_gram(certificate: KernelBallCertificate) -> torch.Tensor:
    """A random kernel with K(x, x) = κ."""
    size = 2**certificate.patterns
    roots = Stream(0).child("certificate").normal(size, size, dtype=torch.float64)
    roots /= roots.norm(dim=1, keepdim=True)
    return certificate.diagonal * (roots @ roots.T)


def _extremal_gram(certificate: KernelBallCertificate) -> torch.Tensor:
    """The kernel whose features are all parities: K(x, x) = κ, and every µ_A has the same norm."""
    parities = every_parity(certificate.patterns, certificate.relevant)
    return certificate.diagonal / parities.shape[1] * (parities @ parities.T)
