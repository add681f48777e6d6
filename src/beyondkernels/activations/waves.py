"""Shared by the sine and the cosine."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import torch

from beyondkernels.activations.base import Activation, Moments, require_degree
from beyondkernels.core import require_positive
from beyondkernels.core.constraints import positive


@dataclass(frozen=True)
class Wave(Activation):
    """A wave of one frequency.

    Arguments:
        frequency: ω.
        amplitude: A.
    """

    frequency: Annotated[float, positive] = 1.0
    amplitude: Annotated[float, positive] = 1.0
    closed_form = True
    first: ClassVar[int]
    """The degree of the first power in the series: 1 for the sine, 0 for the cosine."""

    def smoothed(self, std: float) -> Self:
        r"""The same wave with amplitude :math:`A e^{-\omega^2 s^2/2}`."""
        require_positive("std", std)
        return type(self)(self.frequency, self.amplitude * math.exp(-((self.frequency * std) ** 2) / 2))

    def exponentials(self, q1: torch.Tensor, q2: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        r"""The sum and the difference of :math:`e_-` and :math:`e_+`, accurate also where both are close to one.

        .. math:: e_\pm = e^{-\omega^2 (q_1 + q_2 \pm 2c)/2}
        """
        omega = self.frequency
        near = (q1 + q2).mul_(-0.5 * omega**2).add(c.abs(), alpha=omega**2).exp_()
        apart = torch.expm1(c.abs().mul_(-2 * omega**2))  # e₊/e₋ − 1 for positive c
        return near.mul(apart + 2), near.mul_(apart.neg_()).mul_(c.sign())

    @abstractmethod
    def mean(self, q: torch.Tensor) -> torch.Tensor:
        """E[σ(u)] for a centred Gaussian u of variance q."""

    def dual(
        self, q1: torch.Tensor, q2: torch.Tensor, c: torch.Tensor, slope: bool = True
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Sums and differences of exponentials: sums for the even wave of the two, itself or its derivative."""
        total, difference = self.exponentials(q1, q2, c)
        own, slopes = (difference, total) if self.first else (total, difference)
        value = own.mul_(self.amplitude**2 / 2)
        return value, slopes.mul_((self.amplitude * self.frequency) ** 2 / 2) if slope else None

    def closed_moments(self, q: torch.Tensor) -> Moments:
        value, slope = self.dual(q, q, q)
        assert slope is not None
        return self.mean(q), value, slope

    def taylor(self, degree: int) -> torch.Tensor:
        """Every second coefficient is zero; the others have alternating signs."""
        require_degree(degree)
        a = torch.zeros(degree + 1, dtype=torch.float64)
        for k in range(self.first, degree + 1, 2):
            a[k] = self.amplitude * (-1) ** (k // 2) * self.frequency**k / math.factorial(k)
        return a
