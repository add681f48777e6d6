"""Quadratic target networks of the paper's concept class, drawn or given."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import torch

from beyondkernels.core import Stream, require, shown
from beyondkernels.core.constraints import at_least, not_empty, positive, size
from beyondkernels.papers.bfc.problems.graph import Graph, require_graph, require_wiring
from beyondkernels.papers.bfc.problems.inputs import GaussianInputs, QuadraticInputs
from beyondkernels.papers.bfc.problems.layered import LayeredProblem
from beyondkernels.papers.bfc.problems.matrices import Matrix, conditioned, matrix

if TYPE_CHECKING:
    from beyondkernels.certificates import Certificate

_ROUNDING = 1e-9
_MOST_WEIGHTS = 10**7


@dataclass(frozen=True)
class QuadraticTarget(LayeredProblem):
    r"""A target network of the paper's concept class.

    .. math:: G^*(x) = \sum_{\ell=2}^L \alpha_\ell\,\mathbf{Sum}(G^*_\ell(x)), \qquad
              G^*_\ell = \sigma\Bigl(\sum_{j \in \mathcal J_\ell} W^*_{\ell,j} G^*_j\Bigr), \quad \sigma(z) = z^2

    The concept class asks for a graph with skip connections (§2), :math:`\alpha_2 = 1` and decreasing
    :math:`\alpha_\ell`, widths that do not grow, :math:`d \ge k_2 \ge \dots \ge k_L`, and singular values of every
    :math:`W^*_{\ell,j}` in [1/κ, κ]. ``layer_bounds`` measures the numbers B_ℓ of the remaining condition.

    Arguments:
        dim: d.
        widths: k₂, …, k_L.
        graph: 𝒥₂, …, 𝒥_L.
        alphas: α₂, …, α_L.
        relative: whether α_ℓ is the ratio of two standard deviations, of what layer ℓ adds to the target and of what
            layer 2 adds; otherwise α_ℓ is the factor itself. The relative reading is ours.
        kappa: κ. The singular values of drawn matrices are spread evenly in logarithm from κ to 1/κ.
        instance: selects the draw of the matrices.
        inputs: the distribution of x.
        matrices: given weights, a list for each layer, with one matrix for each layer in its set 𝒥_ℓ; otherwise they
            are drawn.
        in_class: whether the conditions of the concept class are required; False lets α_ℓ grow, for example.

    >>> problem = QuadraticTarget(dim=10, widths=(2, 2), graph=((1,), (2, 0)), alphas=(1.0, 0.1), relative=True)
    >>> sample = problem.sample(5, Stream(0))
    >>> {layer: tuple(s.shape) for layer, s in problem.features(sample.x).items()}
    {2: (5, 2), 3: (5, 2)}
    >>> print(problem.layer_means[2], problem.layer_stds[2])
    4 (exact) 6.80473 (exact)

    Reference: Allen-Zhu & Li (bfc), eq. (1.1), §2, §3.
    """

    dim: Annotated[int, size] = 10
    widths: Annotated[tuple[int, ...], positive, not_empty] = (2, 2)
    graph: Graph = ((1,), (2, 0))
    alphas: Annotated[tuple[float, ...], positive] = (1.0, 0.1)
    relative: bool = False
    kappa: Annotated[float, at_least(1)] = 1.0
    instance: int = 0
    inputs: QuadraticInputs = field(default_factory=GaussianInputs)
    matrices: tuple[tuple[Matrix, ...], ...] | None = None
    in_class: bool = True

    def __post_init__(self) -> None:
        require_wiring(self.graph)
        for name, values in (("widths", self.widths), ("alphas", self.alphas)):
            require(
                len(values) == len(self.graph),
                f"{name} must hold a number for each of the {len(self.graph)} sets of graph, got {len(values)}",
            )
        if self.in_class:
            require_graph(self.graph)
            require_monotone(self.dim, self.widths)
            require_gap(self.alphas)
        shapes = _shapes(self.dim, self.widths, self.graph)
        count = sum(rows * columns for rows, columns in shapes.values())
        require(count <= _MOST_WEIGHTS, f"widths must give at most {_MOST_WEIGHTS} weights, got {shown(count)}")
        self.inputs.require_dim(self.dim)
        if self.matrices is not None:
            require_shapes(self.matrices, self.graph, shapes)
            if self.in_class:
                require_conditioned(self.weights, self.kappa)

    @property
    def weights(self) -> dict[tuple[int, int], torch.Tensor]:
        """W*_{ℓ,j} for each ℓ and each j in 𝒥_ℓ. They are shared: do not write to them."""
        if self.matrices is None:
            return _drawn(self.dim, self.widths, self.graph, self.kappa, self.instance)
        return {
            (layer, j): matrix(given)
            for (layer, sources), row in zip(enumerate(self.graph, 2), self.matrices, strict=True)
            for j, given in zip(sources, row, strict=True)
        }

    @property
    def scales(self) -> tuple[float, ...]:
        """The factors in front of Sum(G*_ℓ): ``alphas``, or what they become if they are relative."""
        if not self.relative:
            return self.alphas
        stds = [std.value for std in self.layer_stds.values()]
        for layer, std in enumerate(stds, 2):
            require(
                0 < std < math.inf, f"layer {layer} must vary for relative alphas, got a standard deviation of {std}"
            )
        return tuple(alpha * (stds[0] / std) for alpha, std in zip(self.alphas, stds, strict=True))

    def certify(
        self, what: None = None, *, n: int | None = None, features: int | None = None, neurons: int | None = None
    ) -> Certificate:
        """What kernels, fixed features or shallow networks cannot do on the hard targets of App. I.

        Arguments:
            what: None, since the bounds hold for all predictors of a kind.
            n: for all kernels with so many points (Theorem I.1), on a target of :func:`bk.bfc.sparse_target`.
            features: for all maps to so many features (Theorem I.3), on such a target.
            neurons: for all two-layer polynomial networks with so many neurons (Theorems I.6 and I.7), on a target of
                :func:`bk.bfc.even_target`.

        >>> import beyondkernels as bk
        >>> target = bk.bfc.sparse_target(dim=20, depth=2, alphas=(0.05,))
        >>> round(bk.certify(None, target, n=50).mean_risk, 6)
        0.001842

        Reference: Allen-Zhu & Li (bfc), Theorems I.1, I.3, I.6 and I.7.
        """
        from beyondkernels.papers.bfc.certificates.lower_bounds import certify_target

        return certify_target(what, self, n=n, features=features, neurons=neurons)

    def _without_scales(self) -> QuadraticTarget:
        return replace(self, alphas=(1.0,) * len(self.alphas), relative=False, in_class=False)


def require_monotone(dim: int, widths: tuple[int, ...]) -> None:
    """Ask for d ≥ k₂ ≥ … ≥ k_L.

    >>> require_monotone(10, (2, 3))
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: widths must not grow (monotone, §3): d ≥ k₂ ≥ … ≥ k_L, got 10, 2, 3

    Reference: Allen-Zhu & Li (bfc), §3, property 1.
    """
    require(
        all(one >= other for one, other in itertools.pairwise((dim, *widths))),
        f"widths must not grow (monotone, §3): d ≥ k₂ ≥ … ≥ k_L, got {', '.join(map(str, (dim, *widths)))}",
    )


def require_gap(alphas: tuple[float, ...]) -> None:
    """Ask for α₂ = 1 and α_{ℓ+1} < α_ℓ.

    >>> require_gap((1.0, 0.1, 0.2))
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: alphas must begin with 1 and decrease (information gap, §2), got
    (1.0, 0.1, 0.2)

    Reference: Allen-Zhu & Li (bfc), §2.
    """
    require(
        alphas[0] == 1 and all(one > other for one, other in itertools.pairwise(alphas)),
        f"alphas must begin with 1 and decrease (information gap, §2), got {shown(alphas)}",
    )


def require_conditioned(weights: dict[tuple[int, int], torch.Tensor], kappa: float) -> None:
    """Ask that all singular values of every matrix lie in [1/κ, κ].

    Reference: Allen-Zhu & Li (bfc), §3, property 3.
    """
    for (layer, j), w in weights.items():
        values = torch.linalg.svdvals(w)
        low, high = float(values.min()), float(values.max())
        enough = f"kappa = {max(high, 1 / low):.6g} would do" if low > 0 else "no kappa would do"
        require(
            low >= (1 - _ROUNDING) / kappa and high <= (1 + _ROUNDING) * kappa,
            f"matrices must have singular values in [1/κ, κ] (well-conditioned, §3) with kappa = {kappa:.6g}, got "
            f"{low:.6g} to {high:.6g} in W of layer {layer} from layer {j}; {enough}",
        )


def require_shapes(
    matrices: tuple[tuple[Matrix, ...], ...], graph: Graph, shapes: dict[tuple[int, int], tuple[int, int]]
) -> None:
    """Ask for one matrix of the right shape for each connection of the graph."""
    counts = [len(sources) for sources in graph]
    require(
        [len(row) for row in matrices] == counts,
        f"matrices must hold {counts} matrices, one for each connection of graph, got {[len(row) for row in matrices]}",
    )
    for (layer, sources), row in zip(enumerate(graph, 2), matrices, strict=True):
        for j, given in zip(sources, row, strict=True):
            rows, columns = shapes[layer, j]
            lengths = sorted({len(line) for line in given})
            require(
                len(given) == rows and lengths == [columns],
                f"matrices must hold a matrix of {rows} × {columns} for layer {layer} from layer {j}, got "
                f"{len(given)} rows of {shown(lengths)} numbers",
            )


def _shapes(dim: int, widths: tuple[int, ...], graph: Graph) -> dict[tuple[int, int], tuple[int, int]]:
    """(k_ℓ, k_j) for each connection."""
    sizes = (dim, dim, *widths)
    return {(layer, j): (sizes[layer], sizes[j]) for layer, sources in enumerate(graph, 2) for j in sources}


@functools.lru_cache(maxsize=64)
def _drawn(
    dim: int, widths: tuple[int, ...], graph: Graph, kappa: float, instance: int
) -> dict[tuple[int, int], torch.Tensor]:
    stream = Stream(instance).child("quadratic target")
    return {
        (layer, j): conditioned(rows, columns, kappa, stream.child(f"W{layer}.{j}"))
        for (layer, j), (rows, columns) in _shapes(dim, widths, graph).items()
    }
