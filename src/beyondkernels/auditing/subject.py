"""What is audited: a network with its blocks, the data, and the rule that trains it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch

from beyondkernels.algorithms import Algorithm, Squared
from beyondkernels.algorithms.descent import ByOptimiser
from beyondkernels.core import InputError, Problem, Stream, Tensors, require, shape_of, vectors
from beyondkernels.core.errors import shown
from beyondkernels.data import GivenData
from beyondkernels.engine import TrainedNetwork
from beyondkernels.kernels.finite.at import TangentAt
from beyondkernels.learning.user_input import learner_of, require_order, sized_problem, sorted_options
from beyondkernels.networks import Block, Linearised, Network, find_blocks, with_blocks

_DISTANCE_POINTS = 1000
"""Training points that the typical distance is taken from."""


@dataclass(frozen=True)
class Subject:
    """A model, its data and its training rule, as all parts of an audit see them.

    Arguments:
        network: the model, its blocks among its parameter groups.
        blocks: its blocks, in the order of the forward pass.
        rule: how it is trained.
        problem: what it learns.
        samples: how many training points.
        test: how many test points.
        classes: whether labels are classes; otherwise they are numbers.
        distance: the typical distance of two points; 0 where points are no vectors of numbers.
        has_features: whether the model ends with a linear layer on vectors.
        no_tangent: why the model has no tangent kernel; nothing if it has one.
        no_expansion: why the model cannot be linearised; nothing if it can.
        last_layer: the parameters of the last layer, where they can be trained alone.
        no_last_layer: why the last layer cannot be trained alone; nothing if it can.
    """

    network: Network
    blocks: tuple[Block, ...]
    rule: Algorithm
    problem: Problem
    samples: int
    test: int
    classes: bool
    distance: float
    has_features: bool
    no_tangent: str = ""
    no_expansion: str = ""
    last_layer: tuple[str, ...] = ()
    no_last_layer: str = ""
    _spreads: dict[tuple[str, int], float] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def block_names(self) -> tuple[str, ...]:
        """The names of all blocks."""
        return tuple(block.name for block in self.blocks)

    @property
    def trained_blocks(self) -> tuple[str, ...]:
        """The names of the blocks with parameters that are trained."""
        return tuple(block.name for block in self.blocks if block.parameters)

    @property
    def steps(self) -> int:
        """How many steps the model is trained for."""
        return sum(stage.steps for stage in self.rule.stages())

    @property
    def own_rule(self) -> ByOptimiser | None:
        """The rule, if parts of the model can be trained by it: one stage whose steps an optimiser takes."""
        return self.rule if isinstance(self.rule, ByOptimiser) else None

    @property
    def same_sample(self) -> bool:
        """Whether all seeds have the same training and test points: all that a finite data set has."""
        problem = self.problem
        return isinstance(problem, GivenData) and self.samples == problem.size("train")

    @property
    def shares_test(self) -> bool:
        """Whether all seeds have the same test points, as those of a finite data set do."""
        return isinstance(self.problem, GivenData)

    def spread(self, part: Literal["train", "test"], seed: int) -> float:
        """The variance of a seed's labels, summed over outputs; the unit of the error of numbers.

        Arguments:
            part: which sample.
            seed: which draws it.
        """
        if (part, seed) not in self._spreads:
            y = self.problem.take(part, self.test if part == "test" else self.samples, seed).y
            self._spreads[part, seed] = _spread(y)
        return self._spreads[part, seed]

    def label_distances(self, seed: int = 0) -> np.ndarray:
        """The squared distance of each test label to their mean, (n,).

        Arguments:
            seed: which draws the test points; all seeds of finite data share them.
        """
        y = self.problem.take("test", self.test, seed).y.double().reshape(self.test, -1)
        return (y - y.mean(0)).square().sum(1).numpy(force=True)

    def moments(self, count: int) -> tuple[int, ...]:
        """Steps at which to look, from the start to the end, dense at the beginning.

        Arguments:
            count: how many at most.
        """
        later = np.geomspace(1, self.steps, count - 1)
        return tuple(sorted({0, *(round(float(step)) for step in later)}))

    @property
    def has_squared_loss(self) -> bool:
        """Whether the model's loss is the squared error, by which kernels are fitted and numbers are scored."""
        return self.classes or isinstance(self.rule.loss, Squared)

    def score(self, scalars: Mapping[str, float], seed: int) -> dict[str, float]:
        """What the end of a run is worth, in points out of 100: the accuracy, or the share of variance explained.

        Arguments:
            scalars: the numbers of the run. Squared errors come before losses, which may be of another kind.
            seed: of the run. Each seed of a distribution draws its own labels, which have a variance of their own.
        """
        found = {}
        for part in ("test", "train"):
            if self.classes:
                found[part] = 100 * scalars[f"{part}_accuracy"]
                continue
            error, spread = scalars.get(f"{part}_squared_error", scalars[f"{part}_loss"]), self.spread(part, seed)
            found[part] = 100 * (1 - error / spread) if spread > 0 else math.nan
        return {"score": found["test"], "error": 100 - found["test"], "train_score": found["train"]}


def subject_of(
    model: Any,
    data: Any,
    *,
    test: Any = None,
    n: int | None = None,
    algorithm: Algorithm | None = None,
    blocks: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    **options: Any,
) -> Subject:
    """Understand a model and its data, or say what is wrong with them.

    Arguments:
        model: a ``torch.nn.Module``, a network, or a named function of (in_dim, out_dim) that makes a module.
        data: training data, or a problem.
        test: test data.
        n: the size of the training sample.
        algorithm: the training rule, in place of the options of :class:`Recipe`.
        blocks: paths of modules inside the model that are its blocks; found from the module tree unless given.
        options: how to train and how to read data, as in :func:`beyondkernels.fit`.
    """
    require_order(model, data, None, "bk.audit(model, (X, y))")
    reading, recipe, recording = sorted_options(options, algorithm)
    require(not recording, f"{', '.join(recording)} cannot be given to an audit, which decides itself what to record")
    sized = sized_problem(data, n, test, 0, reading)
    require(sized.test > 0, "test must give test points: an audit compares what models do on them")
    learner, problem = learner_of(model, sized, algorithm, recipe, {}, "model")
    require(
        isinstance(learner, TrainedNetwork),
        f"model must be a torch.nn.Module or a network, got {shown(model)}, which has no layers to look into",
    )
    assert isinstance(learner, TrainedNetwork)
    shape = shape_of(problem.in_shape)
    network = with_blocks(learner.network, shape, problem.out_dim, blocks)
    found = find_blocks(network, shape, problem.out_dim)
    y = problem.take("test", sized.test, 0).y
    classes = problem.has_classes(y)
    require(classes or _spread(y) > 0, "the test labels are all equal, so there is nothing to explain")
    tail, why = _last_layer(network, problem)
    return Subject(
        network=network,
        blocks=found,
        rule=learner.algorithm,
        problem=problem,
        samples=sized.samples,
        test=sized.test,
        classes=classes,
        distance=_distance(problem.take("train", min(sized.samples, _DISTANCE_POINTS), 0).x),
        has_features=_has_features(network, problem),
        no_tangent=_no_tangent(network, problem),
        no_expansion=_no_expansion(network, problem),
        last_layer=tail,
        no_last_layer=why,
    )


def _spread(y: torch.Tensor) -> float:
    """The variance of labels, summed over outputs."""
    return float(y.double().reshape(len(y), -1).var(0, unbiased=False).sum())


def _distance(x: torch.Tensor) -> float:
    """The root of the mean squared distance between two points; 0 where they are no vectors of numbers."""
    return float((2 * vectors(x).double().var(0, unbiased=False).sum()).sqrt()) if x.is_floating_point() else 0.0


def _no_tangent(network: Network, problem: Problem) -> str:
    """Why a network has no tangent kernel, which is tried on three points, one of them twice; nothing if it has one."""
    params, buffers = network.init(shape_of(problem.in_shape), problem.out_dim, Stream(0))
    try:
        TangentAt(network, params, buffers).gram(problem.take("train", 2, 0).x[torch.tensor([0, 1, 0])])
    except Exception as error:  # whatever the user's module raises
        return f"torch cannot differentiate the model point by point: {str(error).splitlines()[0]}"
    return ""


def _no_expansion(network: Network, problem: Problem) -> str:
    """Why a network cannot be linearised, which is tried on two points; nothing if it can."""
    try:
        expansion = Linearised(network, in_evaluation=True)
        params, buffers = expansion.init(shape_of(problem.in_shape), problem.out_dim, Stream(0))
        expansion.apply(params, buffers, _two_points(problem, params))
    except Exception as error:  # whatever the user's module raises under torch.func
        return f"torch has no forward derivative of the model: {str(error).splitlines()[0]}"
    return ""


def _has_features(network: Network, problem: Problem) -> bool:
    """Whether a network ends with a linear layer on vectors, which is tried on two points."""
    params, buffers = network.init(shape_of(problem.in_shape), problem.out_dim, Stream(0))
    try:
        with torch.no_grad():
            network.features(params, buffers, _two_points(problem, params))
    except (InputError, KeyError):
        return False
    return True


def _last_layer(network: Network, problem: Problem) -> tuple[tuple[str, ...], str]:
    """The parameters of a network's last layer, or none and why they cannot be trained alone."""
    params, buffers = network.init(shape_of(problem.in_shape), problem.out_dim, Stream(0))
    try:
        return network.last_layer(params, buffers, _two_points(problem, params)), ""
    except InputError as error:
        return (), str(error)
    except KeyError:
        return (), "its groups of parameters have no last layer"


def _two_points(problem: Problem, params: Tensors) -> torch.Tensor:
    """Two training points in the precision of the parameters. A distribution may draw numbers of another one."""
    x = problem.take("train", 2, 0).x
    return x.to(next((value.dtype for value in params.values()), x.dtype)) if x.is_floating_point() else x
