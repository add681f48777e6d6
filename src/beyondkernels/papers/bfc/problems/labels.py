"""Other labels for a quadratic target: with a perturbation of given size, or the sign of the target."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Literal

import torch

from beyondkernels.core import Estimate, Problem, Sample, Stream, require
from beyondkernels.core.constraints import not_negative, positive
from beyondkernels.core.errors import shown
from beyondkernels.papers.bfc.problems.graph import Graph
from beyondkernels.papers.bfc.problems.inputs import QuadraticInputs
from beyondkernels.papers.bfc.problems.layered import LayeredProblem
from beyondkernels.papers.bfc.problems.target import QuadraticTarget


class Relabelled(Problem):
    """A quadratic target whose labels are not G*(x) itself. Features and layers are those of the target network."""

    teacher: LayeredProblem

    @property
    def graph(self) -> Graph:
        """𝒥₂, …, 𝒥_L."""
        return self.teacher.graph

    @property
    def widths(self) -> tuple[int, ...]:
        """k₂, …, k_L."""
        return self.teacher.widths

    @property
    def depth(self) -> int:
        """L."""
        return self.teacher.depth

    @property
    def inputs(self) -> QuadraticInputs:
        """The distribution of x."""
        return self.teacher.inputs

    @property
    def weights(self) -> dict[tuple[int, int], torch.Tensor]:
        """W*_{ℓ,j}."""
        return self.teacher.weights

    @property
    def second_moments(self) -> tuple[float, ...]:
        """What G₁ subtracts from x²."""
        return self.teacher.second_moments

    @property
    def scales(self) -> tuple[float, ...]:
        """α₂, …, α_L, the factors of Sum(G*_ℓ)."""
        return self.teacher.scales

    @property
    def in_dim(self) -> int:
        return self.teacher.in_dim

    @property
    def out_dim(self) -> int:
        return 1

    def inner(self, points: torch.Tensor) -> torch.Tensor:
        """The part of a point that the target network sees."""
        return points

    def features(self, points: torch.Tensor) -> dict[int, torch.Tensor]:
        """S*_ℓ(x), (n, k_ℓ), by layer from 2 to L."""
        return self.teacher.features(self.inner(points))

    def outputs(self, points: torch.Tensor) -> dict[int, torch.Tensor]:
        """G*_ℓ(x), (n, k_ℓ), by layer from 2 to L."""
        return self.teacher.outputs(self.inner(points))

    def contributions(self, points: torch.Tensor) -> dict[int, torch.Tensor]:
        """α_ℓ Sum(G*_ℓ(x)), (n,), by layer from 2 to L."""
        return {
            layer: scale * g.sum(1) for (layer, g), scale in zip(self.outputs(points).items(), self.scales, strict=True)
        }

    def target(self, points: torch.Tensor) -> torch.Tensor:
        """G*(x), (n,)."""
        return torch.stack(list(self.contributions(points).values())).sum(0)


@dataclass(frozen=True)
class Agnostic(Relabelled):
    r"""Labels that no target network explains: the target, perturbed by :math:`\pm\sqrt{\mathrm{OPT}}` at every point.

    .. math:: Y = G^*(x) + \sqrt{\mathrm{OPT}}\;s, \qquad s \in \{-1, 1\}, \qquad (G^*(x) - Y)^2 = \mathrm{OPT}

    So G* has the risk OPT exactly, whatever the inputs are, and the perturbation is bounded, as the theorem asks. The
    choice of s is ours.

    Arguments:
        teacher: the target network G*.
        optimal_risk: OPT.
        perturbation: ``noise`` for fair signs that are independent of x; ``wave`` for a function of x,
            :math:`s = \operatorname{sgn}\sin(\omega \langle v, x \rangle + 1)`.
        frequency: ω of the wave, along the direction v = (1, …, 1)/√d.

    >>> problem = Agnostic(QuadraticTarget(), optimal_risk=0.25)
    >>> sample = problem.sample(4, Stream(0))
    >>> ((sample.y[:, 0] - problem.target(sample.x)) ** 2).tolist()
    [0.25..., 0.25..., 0.25..., 0.25...]

    Reference: Allen-Zhu & Li (bfc), Theorem 3, App. B.4.
    """

    teacher: LayeredProblem = field(default_factory=QuadraticTarget)
    optimal_risk: Annotated[float, not_negative] = 0.01
    perturbation: Literal["noise", "wave"] = "noise"
    frequency: Annotated[float, positive] = 20.0

    def sample(self, n: int, stream: Stream) -> Sample:
        """Draw n points: x (n, d), y (n, 1), ``hidden["target"]`` G*(x) (n,); all float64."""
        clean = self.teacher.sample(n, stream)
        noise = stream.child("noise").bernoulli(0.5, n).double() * 2 - 1
        s = noise if self.perturbation == "noise" else self.wave(clean.x)
        y = clean.y + math.sqrt(self.optimal_risk) * s[:, None]
        return Sample(clean.x, y, {**clean.hidden, "target": clean.y[:, 0]})

    def wave(self, x: torch.Tensor) -> torch.Tensor:
        """The signs of the deterministic perturbation, (n,)."""
        phase = self.frequency * x.double().sum(1) / math.sqrt(x.shape[1]) + 1
        return torch.where(phase.sin() >= 0, 1.0, -1.0).double()


@dataclass(frozen=True)
class Classified(Relabelled):
    r"""Two classes, separated by the target network.

    .. math:: Y(x_0, x) = \operatorname{sgn}(x_0 + G^*(x)), \qquad \operatorname{Var} G^*(x) = 1, \qquad
              x_0 \sim N(-\mathbb E\,G^*(x), 1)

    A point is :math:`(x_0, x)`, of dimension d + 1. The teacher is divided by its standard deviation, so ``scales``,
    ``contributions`` and ``target`` are those of the normalised G*.

    Arguments:
        teacher: the target network before it is normalised.

    >>> problem = Classified(QuadraticTarget(dim=4))
    >>> sample = problem.sample(3, Stream(0))
    >>> sample.x.shape, sample.y[:, 0].tolist()
    (torch.Size([3, 5]), [-1.0, -1.0, -1.0])

    Reference: Allen-Zhu & Li (bfc), §3.2, Theorem 4.
    """

    teacher: LayeredProblem = field(default_factory=QuadraticTarget)

    @property
    def in_dim(self) -> int:
        """The dimension of (x₀, x), d + 1."""
        return self.teacher.in_dim + 1

    @property
    def scales(self) -> tuple[float, ...]:
        """The factors of Sum(G*_ℓ), after G* was divided by its standard deviation."""
        return tuple(scale / self._std for scale in self.teacher.scales)

    @property
    def target_mean(self) -> float:
        """E G*(x), after G* was divided by its standard deviation."""
        return self.teacher.target_mean.value / self._std

    def inner(self, points: torch.Tensor) -> torch.Tensor:
        """x, without x₀."""
        return points[:, 1:]

    def labels(self, points: torch.Tensor) -> torch.Tensor:
        """Y(x₀, x) = ±1, (n,)."""
        return torch.where(points[:, 0].double() + self.target(points) >= 0, 1.0, -1.0).double()

    def sample(self, n: int, stream: Stream) -> Sample:
        """Draw n points: (x₀, x) (n, d + 1), y = ±1 (n, 1), ``hidden["target"]`` G*(x) (n,); all float64."""
        require(isinstance(n, int) and n >= 0, f"n must be a whole number of at least 0, got {shown(n)}")
        x = self.inputs.draw(n, self.teacher.in_dim, stream.child("inputs"))
        x0 = stream.child("x0").normal(n, 1, dtype=torch.float64) - self.target_mean
        points = torch.cat([x0, x], 1)
        return Sample(points, self.labels(points)[:, None], {"target": self.target(points)})

    def increments(self, n: int = 100_000, stream: Stream | None = None) -> dict[int, Estimate]:
        r"""The share of labels that change when layer ℓ and all above it are left out, by layer.

        .. math:: \Pr\Bigl[Y \ne \operatorname{sgn}\Bigl(x_0 + \sum_{s \le \ell - 1} \alpha_s \mathbf{Sum}(G^*_s(x))
                  \Bigr)\Bigr]

        It should be about α_ℓ. The probability over x₀ is exact, the mean over x is taken over draws.

        Arguments:
            n: the number of draws.
            stream: where they come from, ``Stream(0).child("increments")`` if not given.

        Reference: Allen-Zhu & Li (bfc), §3.2, footnote 13.
        """
        x = self.inputs.draw(n, self.teacher.in_dim, stream or Stream(0).child("increments"))
        parts = torch.stack([s * g.sum(1) for g, s in zip(self.teacher.outputs(x).values(), self.scales, strict=True)])
        below = torch.cat([torch.zeros(1, n, dtype=torch.float64), parts.cumsum(0)]) - self.target_mean
        probability = torch.special.ndtr(below)  # of the label +1, when the sum ends before each layer
        changed = (probability - probability[-1]).abs()
        return {
            layer: Estimate(float(row.mean()), float(row.std()) / math.sqrt(n), False)
            for layer, row in enumerate(changed[:-1], 2)
        }

    @property
    def _std(self) -> float:
        std = self.teacher.target_std.value
        require(0 < std < math.inf, f"teacher must vary for labels of two classes, got a standard deviation of {std}")
        return std
