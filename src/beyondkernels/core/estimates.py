"""A number that is known exactly or from a sample."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A number that is exact, or the mean over a sample with its standard error.

    Arguments:
        value: the number.
        error: the standard error of ``value``; zero if it is exact.
        exact: whether it is exact up to rounding.

    >>> print(Estimate(4.0, 0.0, exact=True), Estimate(3.97, 0.02, exact=False))
    4 (exact) 3.97 ± 0.02
    """

    value: float
    error: float
    exact: bool

    def __str__(self) -> str:
        return f"{self.value:.6g} (exact)" if self.exact else f"{self.value:.6g} ± {self.error:.2g}"
