"""What all ground truths share: inputs, weights, labels and their noise."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Literal

import torch

from beyondkernels.activations import Activation
from beyondkernels.activations.power_series import smooth_function
from beyondkernels.core import Problem, Sample, Stream, Tensors, require
from beyondkernels.core.errors import shown
from beyondkernels.data.inputs import Inputs
from beyondkernels.papers.overparam.problems.inputs import require_unit_inputs
from beyondkernels.papers.overparam.problems.weights import GivenWeights, checked_weights, drawn_weights

SmoothFunctions = Activation | str | tuple[Activation | str, ...]
"""One smooth function for all terms, or one for each; by itself or by its name."""

_CHECKED = 64


class GroundTruth(Problem):
    r"""Labels of a network F* with smooth activations, with noise of a given size.

    .. math::
        \text{values:}\quad & y = F^*(x) + c\,s, & s \in \{-1, 1\}^k \text{ independent, fair} \\
        \text{signs:}\quad & y = \pm\operatorname{sgn} f^*(x), & \text{minus with probability } q

    Both kinds of noise are ours. A loss of :math:`\|\hat y - y\|` alone is the same at F*(x) for every point, so
    :math:`\varepsilon_0 = L(F^*(x), y)` exactly. Without noise, labels that are values have :math:`\varepsilon_0 = 0`.

    Reference: Allen-Zhu, Li & Liang (overparam), §2, eq. (1).
    """

    source: Inputs
    outputs: int
    relevant: int | None
    weights: GivenWeights | None
    noise: float
    labels: Literal["values", "signs"]
    flips: float
    instance: int

    def __post_init__(self) -> None:
        columns = self.shapes()["w1"][1]
        require(
            self.relevant is None or self.relevant < columns,
            f"relevant must lie in [1, {columns - 1}] or be None, got {self.relevant}",
        )
        require(
            self.relevant is None or self.weights is None,
            f"relevant says where directions are drawn and must be None beside weights, got {self.relevant}",
        )
        require(
            self.labels == "values" or self.outputs == 1,
            f"outputs must be 1 for labels that are signs, got {self.outputs}",
        )
        require(
            self.flips == 0 or self.labels == "signs",
            f"flips is for labels that are signs, got {self.flips} for values; noise is for values",
        )
        require(
            self.noise == 0 or self.labels == "values",
            f"noise is for labels that are values, got {self.noise} for signs; flips is for signs",
        )
        require_unit_inputs("source", self.source.draw(_CHECKED, Stream(0).child("check")))
        if self.weights is not None:
            checked_weights(self.weights, self.shapes())

    @abstractmethod
    def shapes(self) -> dict[str, tuple[int, int]]:
        """The shape of each weight matrix, by its name."""

    @abstractmethod
    def signal(self, x: torch.Tensor) -> torch.Tensor:
        """F*(x), (n, k) float64, at float64 points that have norm 1 and last coordinate 1/2."""

    def matrices(self) -> Tensors:
        """The weights of F*, by their names, float64."""
        if self.weights is not None:
            return checked_weights(self.weights, self.shapes())
        return drawn_weights(self.shapes(), self.relevant, self.instance)

    @property
    def in_dim(self) -> int:
        return self.source.dim

    @property
    def out_dim(self) -> int:
        return self.outputs

    def draw(self, n: int, stream: Stream) -> torch.Tensor:
        """Draw n inputs, float64."""
        return self.source.draw(n, stream)

    def require_inputs(self, x: torch.Tensor) -> None:
        """Ask that points are inputs of the paper."""
        require_unit_inputs("x", x)
        require(x.shape[1] == self.in_dim, f"x must have {self.in_dim} coordinates, got {x.shape[1]}")

    def target(self, x: torch.Tensor) -> torch.Tensor:
        """F*(x), (n, k) float64.

        Arguments:
            x: points of norm 1 with last coordinate 1/2, (n, d).
        """
        x = torch.as_tensor(x)
        self.require_inputs(x)
        return self.signal(x.double())

    def sample(self, n: int, stream: Stream) -> Sample:
        """Draw n points: x (n, d), y (n, k), ``hidden["target"]`` F*(x) (n, k); all float32."""
        require(isinstance(n, int) and n >= 0, f"n must be a whole number of at least 0, got {shown(n)}")
        x = self.draw(n, stream.child("inputs"))
        clean = self.signal(x)
        if self.labels == "signs":
            flipped = stream.child("flips").bernoulli(self.flips, n, 1).double()
            y = torch.where(clean >= 0, 1.0, -1.0).double() * (1 - 2 * flipped)
        else:
            y = clean + self.noise * (2 * stream.child("noise").bernoulli(0.5, n, self.outputs).double() - 1)
        return Sample(x.float(), y.float(), {"target": clean.float()})


class ProductTruth(GroundTruth):
    """A ground truth whose terms are functions of one direction times a second, linear factor."""

    function: SmoothFunctions
    terms: int
    second: Literal["drawn", "constant"]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "function", normalised(self.function))
        require_defined(self.functions)

    @property
    def functions(self) -> tuple[Activation, ...]:
        """φ₁, …, φ_p."""
        return as_tuple("function", self.function, self.terms)

    @property
    @abstractmethod
    def constant_direction(self) -> torch.Tensor:
        """w₂ where the second factor is 1/2 at every input."""

    def matrices(self) -> Tensors:
        """The weights of F*, by their names, float64."""
        found = super().matrices()
        if self.weights is None and self.second == "constant":
            # In memory like drawn weights: a product with rows that share their memory may round in another way.
            found["w2"] = self.constant_direction.expand_as(found["w2"]).contiguous()
        return found

    def terms_of(self, x: torch.Tensor) -> torch.Tensor:
        """Each term without a*, (n, p) float64."""
        w = self.matrices()
        return values(self.functions, x @ w["w1"].T) * (x @ w["w2"].T)


def as_tuple(name: str, given: SmoothFunctions, count: int) -> tuple[Activation, ...]:
    """One function for each term.

    Arguments:
        name: the argument's name.
        given: one function, or as many as there are terms.
        count: how many terms there are.
    """
    if not isinstance(given, tuple):
        return (smooth_function(given),) * count
    require(len(given) == count, f"{name} must hold one function for each of the {count} terms, got {len(given)}")
    return tuple(smooth_function(each) for each in given)


def normalised(given: SmoothFunctions) -> Activation | tuple[Activation, ...]:
    """Names become what they stand for, so that both spellings are one problem with one run key."""
    return tuple(smooth_function(each) for each in given) if isinstance(given, tuple) else smooth_function(given)


def values(functions: tuple[Activation, ...], z: torch.Tensor) -> torch.Tensor:
    """Each function at its column of z (n, terms)."""
    if len(set(functions)) == 1:
        return functions[0].value(z)
    return torch.stack([f.value(z[:, i]) for i, f in enumerate(functions)], 1)


def require_defined(functions: tuple[Activation, ...], reach: Sequence[float] | None = None) -> None:
    """Ask that each function is defined up to its reach; on [−1, 1], as functions of ⟨w, x⟩, unless told otherwise."""
    for function, bound in dict.fromkeys(zip(functions, reach or [1.0] * len(functions), strict=True)):
        function.value(torch.tensor([-bound, bound], dtype=torch.float64))
