"""Checks that a kernel is positive semi-definite while its Gram matrix is never formed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import torch

from beyondkernels.core import Stream, require
from beyondkernels.kernels.base import Kernel
from beyondkernels.kernels.solvers.spectrum import PSD_TOLERANCE, require_not_negative

PART = 1000
"""Points whose Gram matrix is decomposed to see whether it is a kernel's: a second of work."""

INDEFINITE = 1e-8
"""Eigenvalues this far below zero, relative to the largest K(x, x), are no rounding of what a Nyström factor leaves."""

_COPIES = 6  # of the part's matrix: the kernel's own and the decomposition's


def trace_rounding(trace: float) -> float:
    """An estimate of the curvature below which products with a matrix of this trace are rounding."""
    return 16 * torch.finfo(torch.float64).eps * trace


def require_above_rounding(ridge: float, enough: float, sound: bool) -> None:
    """Ask for a ridge that rounding does not outweigh."""
    require(
        sound,
        f"ridge must be above the rounding of the Gram matrix, got {ridge:g}: K + ridge is not positive definite in "
        f"float64; a ridge of {enough:.2g} would do",
    )


@dataclass(frozen=True)
class Definiteness:
    r"""What is known of the eigenvalues of a kernel's Gram matrix K, and checks during a solve.

    Arguments:
        ridge: λ.
        size: the largest K(x, x).
        trace: of K.
        largest: the largest eigenvalue seen; that of K is no smaller.
        accuracy: the kernel's.
        checked: how many points had the eigenvalues of their Gram matrix computed.
    """

    ridge: float
    size: float
    trace: float
    largest: float
    accuracy: float
    checked: int

    @staticmethod
    def of(kernel: Kernel, x: torch.Tensor, ridge: float, stream: Stream, memory: int) -> Definiteness:
        r"""Decompose the Gram matrix of some of the points, drawn at random, and ask that it is a kernel's.

        The eigenvalues of a part of a matrix lie between those of the whole (Cauchy), so that a negative one is proof;
        and since eigenvalues grow in proportion to the sample, negative ones of the whole rarely leave no trace.

        Arguments:
            kernel: K.
            x: points, float64, shape (n, in_dim).
            ridge: λ.
            stream: draws the part.
            memory: bytes that may be taken.
        """
        n, diagonal = len(x), kernel.diagonal(x)
        m = min(n, PART, math.isqrt(memory // (8 * _COPIES)))
        part = x if m == n else x[stream.child("part").permutation(n)[:m].sort().values]
        s = torch.linalg.eigvalsh(kernel.square(part))
        largest, trace = s.abs().max().item(), diagonal.sum().item()
        # entries off by the kernel's accuracy can move an eigenvalue by that times the trace
        rounding = kernel.accuracy * trace * m / n / largest if largest > 0 else 0.0
        require_not_negative(f"kernel (at {m} of the {n} points)", s, max(PSD_TOLERANCE, rounding))
        return Definiteness(ridge, diagonal.max().item(), trace, largest, kernel.accuracy, m)

    def require_directions(self, p: torch.Tensor, pq: torch.Tensor, moving: torch.Tensor) -> None:
        """Ask that K + λ is positive along directions p, where q = (K + λ)p, in the columns that move, or say why not.

        Where it is, :meth:`require_krylov` sees all that K does along p, and more.
        """
        if bool(((pq > 0) | ~moving).all()):
            return
        curvature = (pq / p.square().sum(0))[moving].min().item()
        self._require("its Gram matrix", curvature - self.ridge, max(self.accuracy * self.trace, self._least))
        enough = max(trace_rounding(self.trace), 2 * (self.ridge - curvature))
        require_above_rounding(self.ridge, enough, sound=False)

    def require_krylov(self, steps: Sequence[torch.Tensor], ratios: Sequence[torch.Tensor]) -> None:
        r"""Ask that K is nowhere below its Nyström factor, on the spaces that conjugate gradients have seen.

        .. math:: K \succeq F F^\top \ \Longrightarrow\ (F F^\top + \lambda)^{-1} (K + \lambda) \succeq 1

        for every kernel. The steps and ratios of conjugate gradients are the entries of that matrix on their Krylov
        space (Lanczos); a θ below 1 among its eigenvalues means that :math:`K - F F^\top`, a Schur complement in K, has
        an eigenvalue of at most :math:`-(1 - \theta) \lambda`.

        Arguments:
            steps: lengths of the steps, one tensor an iteration, an entry for each output; 0 where one has ended.
            ratios: of the squared residuals after and before, likewise.
        """
        least = math.inf
        for step, ratio in zip(_columns(steps), _columns(ratios), strict=True):
            m = int(np.argmin(np.append(step > 0, False)))  # the iterations before the first without a step
            a, b = step[:m], ratio[:m].clip(0)
            if m > 0:
                diagonal = 1 / a + np.append(0.0, b[:-1] / a[:-1])
                least = min(least, _smallest(diagonal, np.sqrt(b[:-1]) / a[:-1]))
        limit = max(INDEFINITE * self.size, self.accuracy * self.trace, self._least)
        self._require("what the centres leave of its Gram matrix", min(0.0, (least - 1) * self.ridge), limit)

    @property
    def _least(self) -> float:
        return PSD_TOLERANCE * self.largest

    def _require(self, whose: str, eigenvalue: float, limit: float) -> None:
        require(
            eigenvalue >= -limit,
            f"kernel is indefinite: {whose} has an eigenvalue of at most −{-eigenvalue:.3g}, "
            f"{-eigenvalue / self.largest if self.largest else math.inf:.3g} of the largest seen ({self.largest:.3g}) "
            f"in size; a kernel's must not lie below −{limit:.3g}, which would still count as rounding",
        )


def _columns(rows: Sequence[torch.Tensor]) -> np.ndarray:
    return torch.stack(list(rows)).T.numpy() if rows else np.empty((0, 0))


def _smallest(diagonal: np.ndarray, beside: np.ndarray) -> float:
    """The smallest eigenvalue of a symmetric tridiagonal matrix."""
    return float(scipy.linalg.eigvalsh_tridiagonal(diagonal, beside, select="i", select_range=(0, 0))[0])
