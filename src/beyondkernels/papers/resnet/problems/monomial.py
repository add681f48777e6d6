"""The monomial of degree six of §8.2, all its points, and how to pad a network that fits it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import torch

from beyondkernels.core import Estimate, Problem, Sample, Stream, require
from beyondkernels.core.constraints import at_least, size
from beyondkernels.core.contracts import ScalarProblem
from beyondkernels.core.errors import shown
from beyondkernels.data.inputs import Cube
from beyondkernels.papers.resnet.problems.relevant import check_indices, drawn_indices
from beyondkernels.papers.resnet.problems.risk import MOST, Predictor, mean_over


@dataclass(frozen=True)
class Monomial(ScalarProblem):
    r"""The parity of a few coordinates of the scaled cube, as a regression target.

    .. math:: x \sim U(\{\pm 1/\sqrt d\}^d), \qquad y = d^{q/2} x_{i_1} x_{i_2} \cdots x_{i_q} \in \{-1, +1\}

    with q = 6 in the paper.

    The best polynomial of degree less than q is zero, with risk :math:`E y^2 = 1`.

    Arguments:
        dim: d.
        degree: q.
        indices: i₁, …, i_q from 0; drawn if not given.
        instance: selects the draw of the indices.

    >>> sample = Monomial(dim=40).sample(3, Stream(0))
    >>> sample.x.norm(dim=1).tolist(), sample.y.abs().tolist()
    ([1.0..., 1.0..., 1.0...], [1.0, 1.0, 1.0])

    Reference: Allen-Zhu & Li (resnet), §8.2 (Figures 1 and 4).
    """

    dim: Annotated[int, size]
    degree: Annotated[int, at_least(1), size] = 6
    indices: tuple[int, ...] | None = None
    instance: int = 0

    def __post_init__(self) -> None:
        require(self.dim >= self.degree, f"dim must be at least the degree {self.degree}, got {self.dim}")
        check_indices(self, self.degree, self.dim)

    @property
    def inputs(self) -> Cube:
        """Uniform on the cube with ‖x‖ = 1."""
        return Cube(self.dim)

    @property
    def relevant(self) -> tuple[int, ...]:
        """The indices from 0."""
        return drawn_indices(self.instance, self.degree, self.dim) if self.indices is None else self.indices

    def target(self, x: torch.Tensor) -> torch.Tensor:
        """The labels (n, 1) float64 of points of the cube."""
        return x[:, list(self.relevant)].sign().double().prod(1, keepdim=True)

    def sample(self, n: int, stream: Stream) -> Sample:
        """Draw n points: x (n, d) float32, y (n,) float32 of ±1."""
        require(isinstance(n, int) and n >= 0, f"n must be a whole number of at least 0, got {shown(n)}")
        x = self.inputs.draw(n, stream.child("inputs"))
        return Sample(x.float(), self.target(x)[:, 0].float())

    def risk(
        self,
        predict: Predictor,
        n: int = 10_000,
        stream: Stream | None = None,
        *,
        dtype: torch.dtype = torch.float32,
        most: int = MOST,
    ) -> Estimate:
        """The population risk E|ŷ − y|² of any predictor, exact where d is small, otherwise with a standard error."""

        def squared(x: torch.Tensor) -> torch.Tensor:
            return (predict(x.to(dtype)).double().reshape(len(x), 1) - self.target(x)).square()

        return mean_over(self.inputs, squared, n, stream, most)

    def polynomial_risk(self, degree: int) -> float:
        """The risk of the best polynomial of a degree: 1 for degrees below q, and 0 from q on."""
        return 1.0 if degree < self.degree else 0.0

    def padded(self, weights: torch.Tensor) -> torch.Tensor:
        r"""The weights (m, d) on all inputs of the network that has ``weights`` (m, q) on the relevant ones.

        The columns of irrelevant inputs are zero. The others have a factor :math:`\sqrt{d/q}`, because inputs shrink
        from :math:`1/\sqrt q` to :math:`1/\sqrt d`. So :math:`\|W\|_F / \sqrt d` does not change.

        Reference: Allen-Zhu & Li (resnet), footnote 16.
        """
        q = self.degree
        require(
            weights.dim() == 2 and weights.shape[1] == q,
            f"weights must have shape (m, {q}), got {tuple(weights.shape)}",
        )
        out = weights.new_zeros(len(weights), self.dim)
        out[:, list(self.relevant)] = weights * math.sqrt(self.dim / q)
        return out


@dataclass(frozen=True)
class AllPoints(Problem):
    """The monomial of all its inputs, whose sample is every point of the cube once: its error is the risk itself.

    Arguments:
        degree: how many inputs.

    >>> AllPoints(2).sample(4, None).y.tolist()
    [1.0, -1.0, -1.0, 1.0]

    Reference: Allen-Zhu & Li (resnet), footnote 16.
    """

    degree: Annotated[int, at_least(1), size] = 6

    @property
    def in_dim(self) -> int:
        return self.degree

    @property
    def out_dim(self) -> int:
        return 1

    def sample(self, n: int, stream: Stream | None) -> Sample:
        """All points; n must be their number, and nothing is drawn."""
        require(n == 2**self.degree, f"n must be {2**self.degree}, the number of all points, got {shown(n)}")
        problem = Monomial(self.degree, self.degree)
        x = problem.inputs.points(n)
        assert x is not None, "the cube can be listed"
        return Sample(x.float(), problem.target(x)[:, 0].float())


def widened(weights: torch.Tensor, readout: torch.Tensor, width: int) -> tuple[torch.Tensor, torch.Tensor]:
    r"""The same function :math:`a^\top \sigma(Wx)` with more neurons, by copying rows; σ positively homogeneous.

    The readout is :math:`\pm 1/\sqrt m` with equally many of each sign, before and after. A row with c copies is
    multiplied by :math:`\sqrt{m'/m}/c`; if m divides m', all c are equal and :math:`\|W\|_F` does not change.

    Arguments:
        weights: W, (m, d).
        readout: a, (m,).
        width: m', even, at least m.

    Reference: Allen-Zhu & Li (resnet), footnote 16.
    """
    m = len(weights)
    positive, negative = (torch.nonzero(readout * sign > 0)[:, 0] for sign in (1, -1))
    require(
        len(positive) == len(negative) == m / 2 and bool(((readout.abs() * math.sqrt(m) - 1).abs() < 1e-5).all()),
        f"readout must be ±1/√m, half of each sign, got {len(positive)} positive and {len(negative)} negative of {m}",
    )
    require(width % 2 == 0 and width >= m, f"width must be even and at least {m}, got {width}")
    rows = []
    for group in (positive, negative):
        copies = torch.full((m // 2,), width // m) + (torch.arange(m // 2) < (width // 2) % (m // 2)).long()
        scale = math.sqrt(width / m) / copies.to(weights)
        rows.append((weights[group] * scale[:, None]).repeat_interleave(copies, 0))
    signs = torch.ones(width, dtype=readout.dtype)
    signs[width // 2 :] = -1
    return torch.cat(rows), signs / math.sqrt(width)
