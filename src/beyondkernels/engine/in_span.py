"""Training in the coordinates of the subspace that holds all inputs: fewer numbers, the same network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from beyondkernels.algorithms import FeatureLearning, GradientDescent
from beyondkernels.core import (
    Case,
    InputError,
    Learner,
    Outcome,
    Problem,
    Progress,
    Sample,
    Shape,
    Stream,
    Tensors,
    require,
)
from beyondkernels.engine.features import NetworkFeatures
from beyondkernels.engine.learner import TrainedNetwork
from beyondkernels.kernels import FeatureMap, FeatureSource, FixedFeatureClassifier, InputFeatures
from beyondkernels.networks import Linearised, Network, TwoLayer
from beyondkernels.networks.initialisation import Initialisation

_READS_INPUT = "hidden.weight"  # of a two-layer network; an expansion also keeps it as a buffer, at its own point


@dataclass(frozen=True)
class InSpan(Learner):
    r"""Trains a two-layer network on :math:`Q^\top x` instead of x, where the columns of Q span all inputs.

    .. math:: \langle w, x\rangle = \langle Q^\top w, Q^\top x\rangle \quad\text{for } x = QQ^\top x

    Gradients in w lie in the span. The part of w outside meets no input and is changed by weight decay alone. So one
    coordinate more, in which all inputs are zero, carries its length, and gradient descent gives the same network up to
    rounding. Snapshots and predictor are those of the network of the whole space. The problem must know a basis of the
    span, as :class:`bk.features.DictionaryProblem` does. Rules that treat each coordinate by itself, such
    as Adam, give another network and are refused.

    Arguments:
        learner: the network and how it is trained, or a classifier on the features of one or on the inputs.

    >>> import beyondkernels as bk
    >>> problem, stream = bk.features.DictionaryParity(dim=40, patterns=8, relevant=3), Stream(0)
    >>> case = Case(problem, problem.sample(60, stream), problem.sample(60, stream), stream)
    >>> rule = bk.algorithms.GradientDescent(steps=5, learning_rate=0.1)
    >>> whole = TrainedNetwork(TwoLayer(pairs=4), rule)
    >>> losses = [learner.fit(case, lambda _: None).scalars["train_loss"] for learner in (whole, InSpan(whole))]
    >>> abs(losses[0] - losses[1]) < 1e-5
    True
    """

    learner: TrainedNetwork | FixedFeatureClassifier

    def __post_init__(self) -> None:
        trained = self._trained
        if isinstance(trained, InputFeatures):
            return
        require(
            isinstance(trained, TrainedNetwork | NetworkFeatures),
            f"learner must be a TrainedNetwork or a classifier on the features of one, got {type(trained).__name__}",
        )
        network, rule = trained.network, trained.algorithm
        inner = network.network if isinstance(network, Linearised) else network
        require(
            isinstance(inner, TwoLayer),
            f"network must be a TwoLayer or its expansion to be trained in the span of its inputs, "
            f"got {type(inner).__name__}",
        )
        require(
            # These commute with rotations of the inputs. Adam divides each coordinate by its own average, which a
            # change of basis changes.
            isinstance(rule, FeatureLearning | GradientDescent),
            f"algorithm must be FeatureLearning or GradientDescent, which treat all directions of the inputs alike, "
            f"got {type(rule).__name__}",
        )

    def check(self, problem: Problem, samples: int, test_samples: int) -> None:
        _basis(problem)
        self.learner.check(problem, samples, test_samples)

    def fit(self, case: Case, progress: Progress) -> Outcome:
        case = case.flattened()
        # Problems know their basis in double precision; the network's weights are in single precision.
        span = _Span(_basis(case.problem).to(torch.float32))
        outcome = self._in(span).fit(span.case(case), progress)
        arrays = {name: span.restored(name, array) for name, array in outcome.arrays.items()}
        predictor = outcome.predictor
        return replace(
            outcome,
            arrays=arrays,
            predictor=None if predictor is None else lambda x: predictor(span.points(x)),
        )

    @property
    def _trained(self) -> Any:
        """What has a network: the learner, or the source of its features."""
        return self.learner.source if isinstance(self.learner, FixedFeatureClassifier) else self.learner

    def _in(self, span: _Span) -> Learner:
        """The learner for the new coordinates."""
        if isinstance(self._trained, InputFeatures):
            return self.learner
        network = _Reduced(self._trained.network, span)
        if isinstance(self.learner, FixedFeatureClassifier):
            return replace(self.learner, source=_ReducedFeatures(self._trained, network))
        return replace(self.learner, network=network)


class _Span:
    """The change of coordinates of one run."""

    def __init__(self, basis: torch.Tensor) -> None:
        self.basis = basis
        self.outside: Tensors = {}
        """By name, the unit vectors along the parts of the initial weights that lie outside."""

    def points(self, x: torch.Tensor) -> torch.Tensor:
        """Inputs in the new coordinates, the last of which is zero."""
        inside = x.to(self.basis) @ self.basis
        # The last coordinate of every input is zero, so its weight meets no input and gets no gradient from the loss.
        return torch.cat([inside, inside.new_zeros(len(x), 1)], 1)

    def case(self, case: Case) -> Case:
        """A case in the new coordinates."""

        def moved(sample: Sample) -> Sample:
            return Sample(self.points(sample.x), sample.y)

        validation = None if case.validation is None else moved(case.validation)
        # The problem itself would give points of the whole space to whoever asks it; this one only knows the new shape.
        problem = _Coordinates(self.basis.shape[1] + 1, case.problem.out_dim)
        return replace(case, problem=problem, train=moved(case.train), test=moved(case.test), validation=validation)

    def weights(self, name: str, value: torch.Tensor) -> torch.Tensor:
        """Initial weights in the new coordinates; the directions of what is outside are kept."""
        if not name.endswith(_READS_INPUT):
            return value
        inside = value @ self.basis
        rest = value - inside @ self.basis.T
        length = rest.norm(dim=1, keepdim=True)
        # Inputs may span everything, and then nothing is left outside: 0/tiny is 0, where 0/0 would be NaN.
        self.outside[name] = rest / length.clamp(min=torch.finfo(rest.dtype).tiny)
        # Its length alone is trained, by weight decay; its direction never changes and is kept apart.
        return torch.cat([inside, length], 1)

    def restored(self, name: str, array: np.ndarray) -> np.ndarray:
        """A snapshot of weights in the coordinates of the inputs; anything else as it is."""
        kind, _, rest = name.partition("/")
        parameter = rest.partition("/")[2].removeprefix("buffers/")
        if kind != "snapshot" or not parameter.endswith(_READS_INPUT):
            return array
        value = torch.from_numpy(array)
        return (value[:, :-1] @ self.basis.T + value[:, -1:] * self.outside[parameter]).numpy()


@dataclass(frozen=True, eq=False)
class _Reduced(Network):
    """A network whose weights are drawn in the whole space and kept in the coordinates of the span."""

    network: Network
    span: _Span = field(repr=False)

    def init(self, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        # Drawn in the whole space, so that a run in the span starts from the very weights of a run outside it.
        drawn = self.network.init(len(self.span.basis), out_dim, stream)
        params, buffers = ({name: self.span.weights(name, value) for name, value in part.items()} for part in drawn)
        return params, buffers

    def apply(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[torch.Tensor, Tensors]:
        return self.network.apply(params, buffers, x, train)

    @property
    def footprint(self) -> int:
        return self.network.footprint

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        return self.network.groups()

    def started_by(self, initialisation: Initialisation) -> _Reduced:
        return replace(self, network=self.network.started_by(initialisation))

    def smoothed(self, std: float) -> _Reduced:
        return replace(self, network=self.network.smoothed(std))


@dataclass(frozen=True, eq=False)
class _ReducedFeatures(FeatureSource):
    """The features of a network whose weights are kept in the coordinates of the span."""

    source: NetworkFeatures
    network: _Reduced

    def feature_map(self, case: Case) -> FeatureMap:
        return self.source.taken_from(self.network, case)


@dataclass(frozen=True)
class _Coordinates(Problem):
    """The shapes of a problem in the new coordinates; its points come from the problem itself."""

    dim: int
    outputs: int

    @property
    def in_dim(self) -> int:
        return self.dim

    @property
    def out_dim(self) -> int:
        return self.outputs

    def sample(self, n: int, stream: Stream) -> Sample:
        raise NotImplementedError("points are drawn from the problem itself")


def _basis(problem: Problem) -> torch.Tensor:
    basis = getattr(problem, "span", None)
    if basis is None:
        raise InputError(
            f"problem must have inputs that span a known, smaller space, got {type(problem).__name__} of dimension "
            f"{problem.in_dim}; train the network itself there"
        )
    return basis
