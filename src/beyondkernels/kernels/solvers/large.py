"""Kernel ridge regression on samples whose Gram matrix does not fit, with a certified error."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass

import torch

from beyondkernels.core import Progress, Stream, require, require_between, require_positive
from beyondkernels.core.errors import shown
from beyondkernels.kernels.base import Kernel, points
from beyondkernels.kernels.checks import MEMORY
from beyondkernels.kernels.solvers.definiteness import Definiteness, trace_rounding
from beyondkernels.kernels.solvers.nystrom import Preconditioner, nystrom_factor, pivots_at_once
from beyondkernels.kernels.solvers.ridge import outputs

_COPIES = 6  # of a tile that a kernel may have at one time
_SMALLEST_TILE = 32
TILE = 512
"""The side of the tiles in which a Gram matrix is computed, unless memory is short."""

_VECTORS = 8  # of the size of y: the coefficients, the residual, the direction, …


@dataclass(frozen=True)
class LargeSolution:
    r"""An approximate solution of kernel ridge regression, and how far from the exact one it can be at most.

    .. math:: f = \sum_i \alpha_i K(\cdot, x_i), \qquad r = y - (K + \lambda I)\, \alpha

    The exact solution f* has r = 0. With :math:`\alpha - \alpha^* = -(K + \lambda)^{-1} r` and s, ρ the eigenvalues of
    K and the parts of r along its eigenvectors,

    .. math:: |f - f^*|_H^2 = r^\top (K + \lambda)^{-1} K (K + \lambda)^{-1} r
              = \sum_j \frac{s_j}{(s_j + \lambda)^2}\, \rho_j^2 \le \frac{|r|^2}{4\lambda},

    since :math:`(s + \lambda)^2 \ge 4 s \lambda`. The same sum is at most
    :math:`r^\top (K + \lambda)^{-1} r \le r^\top (F F^\top + \lambda)^{-1} r` for a Nyström factor
    :math:`F F^\top \preceq K`, which is the smaller where r lies along large eigenvalues. The lesser of the two bounds
    |f − f*|, hence every prediction, since :math:`|g(x)| \le \sqrt{K(x, x)}\, |g|_H` for every g of the kernel's space.
    At the training points :math:`f - f^* = -K (K + \lambda)^{-1} r`, which is no longer than r; and the objective
    :math:`\sum_i (y_i - f(x_i))^2 + \lambda |f|_H^2` exceeds its minimum by
    :math:`r^\top (K + \lambda)^{-1} K r \le |r|^2`. r is computed from α at the end, not updated on the way, and an
    estimate of its own rounding is added to every bound: it counts where λ is near the rounding of K.

    All this holds for kernels that are positive semi-definite; with an eigenvalue of K near −λ none of it would. What
    was checked of that: all eigenvalues of the Gram matrix of ``checked`` points, which are all of them up to 1000
    and a random part of larger samples; and, by the coefficients of conjugate gradients, that K is nowhere below
    :math:`F F^\top` on the spaces they have seen. Anything negative there beyond rounding is an error, so that what
    remains is a kernel that is indefinite only where neither the part nor the iterations go. Without iterations the
    part and the centres are all there is.

    Arguments:
        kernel: K.
        x: the fitted points, shape (n, in_dim).
        y: their labels, shape (n, k).
        ridge: λ.
        coefficients: α, shape (n, k).
        fitted: f at the fitted points, Kα, shape (n, k).
        residuals: |r| of each output, shape (k,).
        energies: :math:`r^\top (F F^\top + \lambda)^{-1} r` of each output, shape (k,).
        rounding: by how much |r| may be wrong in float64, of each output, shape (k,):
            16 eps :math:`\big(\sum_i K_{ii}\big)^{1/2} \sum_j K_{jj}^{1/2} |\alpha_j|`, an estimate.
        iterations: of conjugate gradients; 0 for the plain Nyström solution.
        converged: whether |r| is within the tolerance of |y| for every output.
        centres: the points behind F, by their index.
        trace_left: the trace of :math:`K - F F^\top` as a fraction of the trace of K.
        checked: how many points had their Gram matrix checked to be positive semi-definite.
        tile: the side of the tiles in which K is computed.
        memory: bytes that the plan takes, of those it was allowed.
    """

    kernel: Kernel
    x: torch.Tensor
    y: torch.Tensor
    ridge: float
    coefficients: torch.Tensor
    fitted: torch.Tensor
    residuals: torch.Tensor
    energies: torch.Tensor
    rounding: torch.Tensor
    iterations: int
    converged: bool
    centres: torch.Tensor
    trace_left: float
    checked: int
    tile: int
    memory: int

    @property
    def relative_residuals(self) -> torch.Tensor:
        """|r| over |y| for each output; 0 where y is."""
        return _relative(self.residuals, self.y)

    @property
    def function_errors(self) -> torch.Tensor:
        """The most that |f − f*| can be in the kernel's norm, for each output, shape (k,)."""
        root = math.sqrt(self.ridge)
        return torch.minimum((self.residuals + self.rounding) / (2 * root), self.energies.sqrt() + self.rounding / root)

    @property
    def training_errors(self) -> torch.Tensor:
        """The most that f and f* can differ at the training points, root mean square, for each output, shape (k,)."""
        return (self.residuals + self.rounding) / math.sqrt(len(self.x))

    def prediction_error(self, x: torch.Tensor) -> torch.Tensor:
        """The most that f and f* can differ at each point, for each output, shape (m, k).

        Arguments:
            x: points, shape (m, in_dim).
        """
        return self.kernel.diagonal(self._points(x)).sqrt()[:, None] * self.function_errors

    def predict(self, x: torch.Tensor) -> torch.Tensor:
        """Predictions f at each point, tile by tile, shape (m, k).

        Arguments:
            x: points, shape (m, in_dim).
        """
        z, b = self._points(x), self.tile
        f = torch.zeros(len(z), self.y.shape[1], dtype=torch.float64)
        for i in range(0, len(z), b):
            for j in range(0, len(self.x), b):
                f[i : i + b].addmm_(self.kernel.block(z[i : i + b], self.x[j : j + b]), self.coefficients[j : j + b])
        return f

    def _points(self, x: torch.Tensor) -> torch.Tensor:
        x, d = points("x", x), self.x.shape[1]
        require(x.shape[1] == d, f"x must have points of dimension {d} like the fitted ones, got {x.shape[1]}")
        return x


def solve_large(
    kernel: Kernel,
    x: torch.Tensor,
    y: torch.Tensor,
    ridge: float,
    *,
    stream: Stream,
    centres: int | None = None,
    memory: int = MEMORY,
    tolerance: float = 1e-3,
    max_iterations: int = 200,
    tile: int = TILE,
    progress: Progress = lambda _: None,
) -> LargeSolution:
    r"""Solve kernel ridge regression without ever storing the Gram matrix.

    .. math:: (K + \lambda I)\, \alpha = y

    by conjugate gradients, preconditioned with a Nyström approximation :math:`F F^\top + \lambda I` of the matrix
    (:func:`nystrom_factor`). Every iteration computes the upper half of K anew, in square tiles that stay in the
    processor's cache, once for all outputs. Without iterations the solution is the plain Nyström one,
    :math:`(F F^\top + \lambda I)\, \alpha = y`. Either way the error is stated: :class:`LargeSolution`.

    Arguments:
        kernel: K.
        x: points, shape (n, in_dim).
        y: labels, shape (n,) or (n, k).
        ridge: λ, absolute.
        stream: draws the centres.
        centres: how many points the preconditioner stands on; None for 10 √n, or as many as the memory allows.
        memory: bytes that may be taken beside x, y and what the kernel needs for itself beyond a few tiles.
        tolerance: stop when |y − (K + λ)α| is below this times |y| for every output; training predictions are then
            within this of the exact ones, relative to the size of y.
        max_iterations: each computes K once.
        tile: the side of the tiles at most; more for kernels with much work on each point, less when memory is short.
        progress: told the fraction done.

    >>> from beyondkernels.kernels.classical.gaussian import Gaussian
    >>> x = Stream(0).normal(300, 2)
    >>> solution = solve_large(Gaussian(2.0), x, torch.sin(x[:, 0]), ridge=0.1, stream=Stream(1), centres=40)
    >>> solution.converged, bool(solution.training_errors < 1e-3)
    (True, True)
    """
    x = points("x", x)
    n = len(x)
    require(n > 0, "x must hold at least one point, got none")
    y = outputs("y", y, n)
    require_between("ridge", ridge, 0, math.inf, "()")
    require_between("tolerance", tolerance, 0, 1, "()")
    _require_whole("max_iterations", max_iterations)
    require(max_iterations >= 0, f"max_iterations must not be negative, got {max_iterations}")
    _require_whole("tile", tile)
    require_positive("tile", tile)
    if centres is not None:
        _require_whole("centres", centres)
    plan = _plan(n, y.shape[1], centres, memory, tile)

    # Conjugate gradients give nonsense for a matrix that is not positive definite, and the stated error would be wrong.
    definite = Definiteness.of(kernel, x, ridge, stream, memory)
    nystrom = nystrom_factor(kernel, x, plan.centres, stream, tile=plan.tile)
    precondition = Preconditioner(nystrom.factor, ridge)
    problem = _Problem(kernel, x, y, ridge, plan.tile, tolerance, definite, progress)
    if max_iterations == 0:
        alpha, iterations = precondition(y), 0
        r = y - problem.apply(alpha)
    else:
        alpha, r, iterations = problem.conjugate_gradients(precondition, max_iterations)
    residuals = r.norm(dim=0)
    progress(1.0)
    return LargeSolution(
        kernel=kernel,
        x=x,
        y=y,
        ridge=float(ridge),
        coefficients=alpha,
        fitted=y - ridge * alpha - r,
        residuals=residuals,
        # A sum of squares in exact arithmetic; rounding may leave a tiny negative number, whose root would be NaN.
        energies=(r * precondition(r)).sum(0).clamp(min=0),
        rounding=_rounding(kernel.diagonal(x).sqrt(), alpha),
        iterations=iterations,
        converged=bool((_relative(residuals, y) <= tolerance).all()),
        centres=nystrom.centres,
        trace_left=nystrom.trace_left,
        checked=definite.checked,
        tile=plan.tile,
        memory=plan.memory,
    )


@dataclass(frozen=True)
class _Problem:
    kernel: Kernel
    x: torch.Tensor
    y: torch.Tensor
    lam: float
    tile: int
    tolerance: float
    definite: Definiteness
    progress: Progress

    def apply(self, V: torch.Tensor) -> torch.Tensor:
        """(K + λ) V, from the upper half of K."""
        out, b, n = self.lam * V, self.tile, len(self.x)
        for i in range(0, n, b):
            I = slice(i, i + b)  # noqa: E741
            out[I].addmm_(self.kernel.square(self.x[I]), V[I])
            # Each tile above the diagonal serves twice, as itself and as its mirror image: the kernel is what costs
            # time.
            for j in range(i + b, n, b):
                J = slice(j, j + b)
                K = self.kernel.block(self.x[I], self.x[J])
                out[I].addmm_(K, V[J])
                out[J].addmm_(K.T, V[I])
        return out

    def worst(self, r: torch.Tensor) -> float:
        return _relative(r.norm(dim=0), self.y).max().item()

    def conjugate_gradients(self, precondition: Preconditioner, most: int) -> tuple[torch.Tensor, torch.Tensor, int]:
        """The coefficients, their residual, and the iterations, for all outputs side by side."""
        alpha, r, iterations, before = torch.zeros_like(self.y), self.y.clone(), 0, math.inf
        while True:
            z = precondition(r)
            p, rz = z, (r * z).sum(0)
            steps, ratios = [], []
            while iterations < most and self.worst(r) > self.tolerance:
                q = self.apply(p)
                pq = (p * q).sum(0)
                self.definite.require_directions(p, pq, moving=rz > 0)
                # An output that is solved already has no direction left: it stays while the others go on.
                step = torch.where(pq > 0, rz / pq, 0.0)
                alpha, r = alpha + step * p, r - step * q
                iterations += 1
                z = precondition(r)
                rz, old = (r * z).sum(0), rz
                ratio = torch.where(old > 0, rz / old, 0.0)
                p = z + ratio * p
                steps.append(step)
                ratios.append(ratio)
                self.progress(_progress(self.worst(r), self.tolerance))
            self.definite.require_krylov(steps, ratios)
            r = self.y - self.apply(alpha)  # updates drift: what is reported stands on α itself
            now = self.worst(r)
            if now <= self.tolerance or iterations >= most or now > before / 2:  # the last: rounding allows no more
                return alpha, r, iterations
            before = now


@dataclass(frozen=True)
class _Plan:
    centres: int
    tile: int
    memory: int


def default_centres(n: int) -> int:
    """The default number of centres for n points: 10 √n, or all of them."""
    return min(n, math.ceil(10 * math.sqrt(n)))


def memory_needed(n: int, k: int, centres: int, tile: int = TILE) -> int:
    """Bytes that :func:`solve_large` plans with for n points, k outputs, and tiles of this side."""
    drawing, side = 2 * n * pivots_at_once(centres) if centres else 0, min(tile, n)
    return 8 * (_VECTORS * n * k + n * centres + drawing + 3 * centres**2 + _COPIES * side**2)


def _plan(n: int, k: int, centres: int | None, memory: int, tile: int) -> _Plan:
    """How many centres and how large a tile fit into the memory."""
    tile = min(tile, n)
    least = min(tile, _SMALLEST_TILE)

    def needed(m: int, side: int) -> int:
        return memory_needed(n, k, m, side)

    require(
        memory >= needed(0, least),
        f"memory must be at least {needed(0, least)} bytes for {n} points, {k} outputs and tiles of {least} points a "
        f"side, got {memory}",
    )
    fitting = default_centres(n) if centres is None else min(n, centres)
    while fitting and needed(fitting, least) > memory:
        # In steps of a tenth: the preconditioner works about as well, and the search ends after a few dozen steps.
        fitting = fitting * 9 // 10
    if centres is not None:
        require(0 <= centres <= n, f"centres must lie between 0 and the {n} points, got {centres}")
        require(
            fitting == centres,
            f"memory must be at least {needed(centres, least)} bytes for {centres} centres among {n} points, got "
            f"{memory}, where {fitting} centres would do",
        )
    while tile > least and needed(fitting, tile) > memory:
        tile = max(least, tile // 2)
    return _Plan(fitting, tile, needed(fitting, tile))


def _progress(worst: float, tolerance: float) -> float:
    """The fraction done, as residuals fall by about the same factor in every iteration."""
    # On a logarithmic scale, because residuals fall by about a constant factor.
    return min(1.0, max(0.0, math.log(max(worst, 1e-300)) / math.log(tolerance)))


def _rounding(sizes: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
    """A bound on the rounding error of Kα for each output, from |K_ij| ≤ √K_ii √K_jj."""
    # K itself is never held, so its entries are bounded by its diagonal, as Cauchy and Schwarz allow.
    return trace_rounding(1.0) * sizes.norm() * (sizes @ alpha.abs())


def _relative(norms: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    size = y.norm(dim=0)
    return torch.where(size > 0, norms / size, 0.0)


def _require_whole(name: str, value: object) -> None:
    require(isinstance(value, numbers.Integral), f"{name} must be a whole number, got {shown(value)}")
