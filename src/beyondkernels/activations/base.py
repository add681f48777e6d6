"""The base of all activations: value, derivative, Gaussian-smoothed version and dual map, side by side."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch

from beyondkernels.activations.gaussian import hermite_coefficients, line_rule
from beyondkernels.activations.moments import ROUNDING, line_moments
from beyondkernels.core import Component, InputError, require

Moments = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""E σ, E σ², E σ′²."""


class Activation(Component, ABC):
    r"""A scalar function applied entry by entry, with its derivative.

    Networks call ``value``. Its automatic derivative equals ``derivative`` wherever that exists.

    The dual map of σ takes the covariance of a Gaussian pair (u, v) to :math:`E[\sigma(u)\,\sigma(v)]`; the dual map of
    σ′ does the same for σ′. The kernels of infinitely wide networks are made of both.
    """

    closed_form: ClassVar[bool] = False
    """Whether ``dual`` has a closed form. If not, use :func:`quadrature_dual`."""

    @property
    def kinks(self) -> tuple[float, ...]:
        """Where σ or σ′ is not smooth."""
        return ()

    @property
    def cuts(self) -> tuple[float, ...]:
        """Where integrals along a line are split: at the kinks, and on both sides of a smooth but sharp bend."""
        return self.kinks

    def unsmoothed(self) -> tuple[Activation, float]:
        """The activation and noise level of which this is the smoothed version: itself and zero by default.

        Independent noise adds to variances but not to covariances. So the dual maps of a smoothed activation are those
        of the original one at larger variances.
        """
        return self, 0.0

    @abstractmethod
    def value(self, z: torch.Tensor) -> torch.Tensor:
        """σ(z)."""

    @abstractmethod
    def derivative(self, z: torch.Tensor) -> torch.Tensor:
        """σ′(z)."""

    def smoothed(self, std: float) -> Activation:
        r"""The activation under Gaussian noise, :math:`\tilde\sigma(z) = E_\xi\,\sigma(z + \xi)`, ξ ~ N(0, std²)."""
        raise InputError(f"{self._label} has no closed form under noise of std {std}; draw the noise instead")

    def dual(
        self, q1: torch.Tensor, q2: torch.Tensor, c: torch.Tensor, slope: bool = True
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        r"""The dual maps of σ and σ′ in closed form.

        .. math:: E[\sigma(u)\,\sigma(v)],\ E[\sigma'(u)\,\sigma'(v)], \qquad
                  (u, v) \sim N\left(0, \begin{pmatrix} q_1 & c \\ c & q_2 \end{pmatrix}\right)

        Arguments:
            q1: variances of u: (n1, 1) for a Gram matrix; together with q2 it broadcasts to the shape of c.
            q2: variances of v: (1, n2) for a Gram matrix.
            c: covariances, shape (n1, n2), float64; not changed.
            slope: whether to compute the dual of σ′; if not, the second result is None.
        """
        raise InputError(
            f"{self._label} has no dual map in closed form; quadrature_dual(activation, ...) gives it with an error"
        )

    def moments(self, q: torch.Tensor) -> Moments:
        r"""The mean and the second moment of σ, and the second moment of σ′, under noise of variance q.

        .. math:: E\,\sigma(\sqrt q z),\ E\,\sigma(\sqrt q z)^2,\ E\,\sigma'(\sqrt q z)^2, \qquad z \sim N(0, 1)

        Arguments:
            q: variances, of any shape, float64.
        """
        require_variances("q", q)
        closed = self.closed_moments(q)
        if closed is not None:
            return closed
        mean, second, slope_second = line_moments(self.value, self.derivative, self.cuts, q)[0]
        return mean, second, slope_second

    def moments_error(self, q: torch.Tensor) -> Moments:
        """The error of each of ``moments(q)``: rounding for closed forms, otherwise the error that quadrature states.

        Arguments:
            q: variances, of any shape, float64.
        """
        require_variances("q", q)
        closed = self.closed_moments(q)
        if closed is None:
            closed, rounding = line_moments(self.value, self.derivative, self.cuts, q)[1], 1.0
        else:
            rounding = ROUNDING
        mean, second, slope_second = (rounding * moment.abs() for moment in closed)
        return mean, second, slope_second

    def closed_moments(self, q: torch.Tensor) -> Moments | None:
        """The moments in closed form, each to almost all digits; None if there is no closed form.

        Arguments:
            q: variances, of any shape, float64.
        """
        return None

    def hermite(self, q: torch.Tensor, degree: int) -> torch.Tensor:
        r"""The Hermite coefficients of σ(√q z), shape (\*q.shape, degree + 1).

        .. math:: a_k = E[\sigma(\sqrt q z)\, h_k(z)], \qquad \sigma(\sqrt q z) = \sum_k a_k h_k(z), \qquad
                  h_k = He_k / \sqrt{k!}

        Arguments:
            q: variances, of any shape, float64.
            degree: the last k.
        """
        require_variances("q", q)
        require_degree(degree)
        std = q.reshape(-1).sqrt()
        z, w = line_rule(std, self.cuts, hermite_order(degree))
        (a,) = hermite_coefficients(z, [w * self.value(std[:, None] * z)], degree)
        return a.view(*q.shape, degree + 1)

    def taylor(self, degree: int) -> torch.Tensor:
        r"""The Taylor coefficients at zero, :math:`\sigma(z) = \sum_k a_k z^k`, shape (degree + 1,)."""
        written = "" if 0.0 in self.kinks else " in closed form"
        raise InputError(f"{self._label} has no Taylor series at 0{written}")

    @property
    def _label(self) -> str:
        return type(self).__name__


def hermite_order(degree: int) -> int:
    """The number of nodes that resolve h_k, a wave of at most √k radians per unit, on a piece of length two."""
    return 24 + int(degree**0.5)


def require_degree(degree: int) -> None:
    """Ask for the degree of a polynomial."""
    require(degree >= 0, f"degree must not be negative, got {degree}")


def require_variances(name: str, q: torch.Tensor) -> None:
    """Ask for variances that are finite and not negative."""
    good = torch.isfinite(q) & (q >= 0)
    if not good.all():
        raise InputError(f"{name} must hold finite variances that are not negative, got {q[~good][0].item()}")
