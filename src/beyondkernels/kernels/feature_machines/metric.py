"""Gaussian and Laplace kernels under a metric, and the average gradient outer product of what they predict."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from beyondkernels.core import require
from beyondkernels.core.errors import shown
from beyondkernels.kernels.base import points
from beyondkernels.kernels.checks import MEMORY, require_finite, tensor
from beyondkernels.kernels.classical.distances import squared_distances
from beyondkernels.kernels.classical.gaussian import Gaussian
from beyondkernels.kernels.classical.laplace import Laplace
from beyondkernels.kernels.solvers.ridge import outputs

_COINCIDE = 1e-8
"""Points nearer to each other than this, beside their distance from the middle, count as one."""

_COLUMNS = 512
"""Columns (outputs times dimensions) of one product: enough for matrix products at full speed."""

_BLOCK = 2**22
"""Entries of a block of distances: more take memory and save no time."""


@dataclass(frozen=True, eq=False)
class MetricKernel:
    r"""A Gaussian or Laplace kernel whose distance is that of a positive semi-definite matrix M.

    .. math:: K_M(x, z) = K(R^\top x, R^\top z), \qquad M = R R^\top: \qquad
              |x - z|^2 \ \text{becomes}\ (x - z)^\top M (x - z)

    A matrix is no field of a component, so this is a helper and not one of the kernels that have an identity.

    Arguments:
        kernel: K, a :class:`Gaussian` or a :class:`Laplace`.
        metric: M, shape (in_dim, in_dim), or its diagonal, shape (in_dim,).

    >>> kernel = MetricKernel(Laplace(bandwidth=2.0), torch.tensor([1.0, 0.0]))
    >>> kernel(torch.tensor([[1.0, 0.0], [1.0, 7.0], [3.0, 0.0]])).log()
    tensor([[ 0.,  0., -1.],
            [ 0.,  0., -1.],
            [-1., -1.,  0.]], dtype=torch.float64)

    Reference: Radhakrishnan, Beaglehole, Pandit & Belkin (2024), Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models, Science 383.
    """

    kernel: Gaussian | Laplace
    metric: torch.Tensor

    def __post_init__(self) -> None:
        require(
            isinstance(self.kernel, Gaussian | Laplace),
            f"kernel must be a Gaussian or a Laplace, got {shown(self.kernel)}",
        )
        M = tensor("metric", self.metric).to(torch.float64)
        square = M.ndim == 2 and M.shape[0] == M.shape[1]
        require(M.ndim == 1 or square, f"metric must have shape (d, d) or (d,), got {tuple(M.shape)}")
        require_finite("metric", M)
        object.__setattr__(self, "metric", M)

    @property
    def in_dim(self) -> int:
        """The dimension of a point."""
        return len(self.metric)

    @functools.cached_property
    def root(self) -> torch.Tensor:
        r"""R with :math:`M = R R^\top`, of M's shape."""
        M = self.metric
        if M.ndim == 1:
            require(bool((M >= 0).all()), f"metric must not have negative entries, got {M.min().item():.3g}")
            return M.sqrt()
        s, V = torch.linalg.eigh((M + M.T) / 2)
        size = s.abs().max().item()
        gap = (M - M.T).abs().max().item()
        require(gap <= 1e-10 * size, f"metric must be symmetric, got entries that differ by {gap:.3g}")
        require(s[0].item() >= -1e-10 * size, f"metric must be positive semi-definite, got an eigenvalue of {s[0]:.3g}")
        return V * s.clamp(min=0).sqrt()

    def embed(self, x: torch.Tensor, name: str = "x") -> torch.Tensor:
        """Points whose Euclidean distances are those of the metric, shape (n, in_dim)."""
        x = points(name, x)
        require(x.shape[1] == self.in_dim, f"{name} must have points of dimension {self.in_dim}, got {x.shape[1]}")
        return x * self.root if self.root.ndim == 1 else x @ self.root

    def __call__(self, x1: torch.Tensor, x2: torch.Tensor | None = None) -> torch.Tensor:
        """The Gram matrix of x1 with x2, or with itself."""
        return self.kernel(self.embed(x1, "x1"), None if x2 is None else self.embed(x2, "x2"))

    def slope(self, squares: torch.Tensor) -> torch.Tensor:
        r"""Twice the derivative of K in the squared distance, in the place of the squared distances r².

        .. math:: \text{Gaussian:}\ -\frac{2}{h} e^{-r^2 / h}, \qquad \text{Laplace:}\ -\frac{1}{L r} e^{-r / L}

        The Laplace kernel has a kink where points coincide: its slope is infinite there.
        """
        h = self.kernel.bandwidth
        if isinstance(self.kernel, Gaussian):
            return squares.div_(-h).exp_().mul_(-2 / h)
        r = squares.sqrt_()
        return (r / -h).exp_().div_(r.mul_(-h))


def kernel_gradients(
    kernel: MetricKernel,
    centres: torch.Tensor,
    coefficients: torch.Tensor,
    x: torch.Tensor,
    *,
    memory: int = MEMORY,
) -> torch.Tensor:
    r"""The gradient of a kernel expansion in its input, shape (n, outputs, in_dim).

    .. math:: f(z) = \sum_j \alpha_j K_M(z, x_j), \qquad
              \nabla f(z) = M \sum_j \alpha_j\, \kappa(z, x_j)\,(z - x_j)
                          = M \Bigl(z \sum_j \alpha_j \kappa(z, x_j) - \sum_j \alpha_j \kappa(z, x_j)\, x_j\Bigr)

    with κ the kernel's :meth:`MetricKernel.slope`: two matrix products. Terms of points that coincide with z, to 1e-8
    of their distance from the middle of all, are left out: a Laplace kernel has no gradient there, a Gaussian's is 0.

    Arguments:
        kernel: K with its metric.
        centres: the points :math:`x_j`, shape (m, in_dim).
        coefficients: α, shape (m,) or (m, outputs).
        x: where the gradient is taken, shape (n, in_dim).
        memory: bytes that may be taken beside arguments and result.

    >>> kernel = MetricKernel(Gaussian(1.0), torch.ones(1))
    >>> kernel_gradients(kernel, torch.zeros(1, 1), torch.ones(1, 1), torch.tensor([[0.5]])).item()  # −2z exp(−z²)
    -0.7788...
    """
    coefficients = outputs("coefficients", coefficients, len(centres))
    out = torch.empty(len(x), coefficients.shape[1], kernel.in_dim, dtype=torch.float64)
    R = kernel.root
    for rows, columns, v in _embedded(kernel, centres, coefficients, x, memory):
        out[rows, columns] = v * R if R.ndim == 1 else v @ R.T
    return out


def gradient_outer_product(
    kernel: MetricKernel,
    centres: torch.Tensor,
    coefficients: torch.Tensor,
    x: torch.Tensor,
    *,
    memory: int = MEMORY,
) -> torch.Tensor:
    r"""The average gradient outer product of a kernel expansion, summed over outputs; of the shape of the metric.

    .. math:: \frac1n \sum_{i=1}^n \sum_o \nabla f_o(x_i)\, \nabla f_o(x_i)^\top

    Its diagonal alone where the kernel's metric is a diagonal. Arguments are those of :func:`kernel_gradients`, whose
    result it never holds: blocks of points go by and leave their sum.
    """
    R = kernel.root
    C = torch.zeros_like(R)
    for _, _, v in _embedded(kernel, centres, coefficients, x, memory):
        v = v.flatten(0, 1)
        C += v.square().sum(0) if R.ndim == 1 else v.T @ v
    C /= len(x)
    if R.ndim == 1:
        return C * R.square()
    M = R @ C @ R.T
    return (M + M.T) / 2


def _embedded(
    kernel: MetricKernel, centres: torch.Tensor, coefficients: torch.Tensor, x: torch.Tensor, memory: int
) -> Iterator[tuple[slice, slice, torch.Tensor]]:
    """Gradients where distances are Euclidean, (rows, outputs, in_dim), for blocks of points and of outputs."""
    c, y, alpha = kernel.embed(centres, "centres"), kernel.embed(x), outputs("coefficients", coefficients, len(centres))
    (m, d), k = c.shape, alpha.shape[1]
    # The two products of the gradient cancel, least so when points lie around zero; outliers do not move the median.
    middle = c.median(0).values
    c, y = c - middle, y - middle
    near = _COINCIDE**2 * c.square().sum(1)
    group = max(1, min(k, _COLUMNS // d))
    step = rows_within(memory, fixed=8 * (2 * d * (len(y) + m) + m * group * d), row=8 * (6 * m + 3 * group * d))
    step = min(step, max(1, _BLOCK // m))
    for start in range(0, len(y), step):
        rows = slice(start, min(start + step, len(y)))
        squares = squared_distances(y[rows], c)
        coincident = squares <= near + _COINCIDE**2 * y[rows].square().sum(1, keepdim=True)
        slopes = kernel.slope(squares).masked_fill_(coincident, 0.0)
        for first in range(0, k, group):
            columns = slice(first, min(first + group, k))
            a = alpha[:, columns]
            v = (slopes @ a)[:, :, None] * y[rows, None, :]
            v -= (slopes @ (a[:, :, None] * c[:, None, :]).flatten(1)).view(v.shape)
            yield rows, columns, v


def rows_within(memory: int, *, fixed: int, row: int) -> int:
    """How many rows of a block fit into the memory beside a fixed number of bytes."""
    least = fixed + row
    require(memory >= least, f"memory must be at least {least:,} bytes for blocks of one point, got {memory:,}")
    return (memory - fixed) // row
