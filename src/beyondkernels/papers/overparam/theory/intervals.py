"""Lemma A.4: sets of a Gaussian variable that all have one probability, and signs with a given mean on them."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.special import ndtr, ndtri

from beyondkernels.activations.taylor import Array
from beyondkernels.core import Checked, require
from beyondkernels.core.constraints import between

_HALVINGS = 60


@dataclass(frozen=True)
class IntervalPartition(Checked):
    r"""The sets I(y) and the signs 𝔰(y, g) of Lemma A.4, for y in [−1, 1].

    For every y, a standard normal g lies in I(y) with probability τ, 𝔰 is 1 and −1 there with equal probability, and
    :math:`E[\mathfrak s(y, g)\,g \mid g \in I(y)] = y`. Outside of I(y) the sign is zero.

    Where |y| is small, the proof takes :math:`E[|g| \mid |g| \le e] = y`, which makes the last mean
    :math:`y \Pr[|g| \le e]/\tau`. Here e solves :math:`E[|g|\,1_{|g| \le e}] = \tau y`, which gives y.

    Arguments:
        probability: τ, at most 1/100.

    >>> partition = IntervalPartition(0.01)
    >>> partition.signs(np.array([0.5, 0.5, 0.5]), np.array([0.5, -0.5, 2.0])).tolist()
    [1.0, -1.0, 0.0]

    Reference: Allen-Zhu, Li & Liang (overparam), Lemma A.4.
    """

    probability: Annotated[float, between(0, 0.01, "(]")] = 0.01

    @functools.cached_property
    def edge(self) -> float:
        """The end c of the set [−c, c] that has probability τ; it is I(y) for all small y."""
        return float(ndtri(0.5 + self.probability / 2))

    @functools.cached_property
    def turning(self) -> float:
        """The mean of g on [0, c], from which on I(y) consists of two intervals."""
        return float((_density(0.0) - _density(self.edge)) * 2 / self.probability)

    def signs(self, y: Array, g: Array) -> Array:
        """The sign 𝔰(y, g): −1, 0 or 1.

        Arguments:
            y: means in [−1, 1].
            g: standard normal numbers.
        """
        y, g = np.broadcast_arrays(np.asarray(y, dtype=float), np.asarray(g, dtype=float))
        require(
            bool((np.abs(y) <= 1).all()), f"y must lie in [−1, 1], got {np.abs(y).max(initial=0):.4g} without its sign"
        )
        size = np.abs(y)
        found = np.zeros(y.shape)
        apart = size >= self.turning
        # no I(y) reaches further from ±y than c: everything else is zero
        near = apart & (np.abs(np.abs(g) - size) <= 2 * self.edge)
        low, high = self._ends(size[near])
        found[near] = np.where((low <= np.abs(g[near])) & (np.abs(g[near]) <= high), np.sign(g[near]), 0.0)
        together = ~apart & (np.abs(g) <= self.edge)
        inner = np.sqrt(-2 * np.log1p(-self.probability * size[together] * math.sqrt(2 * math.pi) / 2))
        middle = ndtri((ndtr(inner) + ndtr(self.edge)) / 2)
        at = np.abs(g[together])
        found[together] = np.where(at <= inner, np.sign(g[together]), np.where(at <= middle, 1.0, -1.0))
        return found * np.where(y < 0, -1.0, 1.0)

    def _ends(self, y: Array) -> tuple[Array, Array]:
        """The interval of probability τ/2 on which g has the mean y, by bisection."""
        half = self.probability / 2
        low, high = np.zeros_like(y), y.copy()
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            end = ndtri(ndtr(middle) + half)
            above = (_density(middle) - _density(end)) / half > y
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return low, ndtri(ndtr(low) + half)


def _density(t: Array | float) -> Array | float:
    return np.exp(-np.square(t) / 2) / math.sqrt(2 * math.pi)
