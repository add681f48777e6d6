"""The layers of a DenseNet along a run: at its snapshots and at its end."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch

from beyondkernels.core import Ended, InputError, Problem, Tensors, require, shown
from beyondkernels.engine import Predictor, TrainedNetwork
from beyondkernels.measure.snapshots import states
from beyondkernels.papers.bfc.networks import QuadraticNetwork
from beyondkernels.papers.bfc.problems import LayeredProblem

LayerValues = dict[int, torch.Tensor]
"""A tensor for each layer, by the number the paper gives it: 2, …, L."""

_BLOCK = 4096


@runtime_checkable
class LayeredNetwork(Protocol):
    """What a network must have so that its features can be compared with a target's, layer by layer."""

    def hidden(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> LayerValues:
        """The hidden features S_ℓ(x), (n, k_ℓ)."""
        ...

    def contributions(self, params: Tensors, buffers: Tensors, x: torch.Tensor) -> LayerValues:
        """What each layer adds to the prediction, α_ℓ Sum(F_ℓ(x)), (n,)."""
        ...


@runtime_checkable
class LayeredTarget(Protocol):
    """A problem that knows the layers of its target."""

    def features(self, x: torch.Tensor) -> LayerValues:
        """The hidden features S*_ℓ(x), (n, k_ℓ)."""
        ...

    def contributions(self, x: torch.Tensor) -> LayerValues:
        """What each layer adds to the target, α_ℓ Sum(G*_ℓ(x)), (n,)."""
        ...


@runtime_checkable
class LayeredPredictor(Protocol):
    """What was learnt without a network, and shows the features that it has found."""

    def hidden(self, x: torch.Tensor) -> LayerValues:
        """The features of each layer at points, (n, …)."""
        ...


class Seen(Protocol):
    """Something learnt whose layers can be looked into, in float64."""

    def hidden(self, x: torch.Tensor) -> LayerValues:
        """S_ℓ(x)."""
        ...

    def contributions(self, x: torch.Tensor) -> LayerValues:
        """α_ℓ Sum(F_ℓ(x))."""
        ...


@dataclass(frozen=True)
class Moment:
    """A network at one moment of its training."""

    predictor: Predictor

    def hidden(self, x: torch.Tensor) -> LayerValues:
        """S_ℓ(x), in float64."""
        return self._seen(_layered(self.predictor).hidden, x)

    def contributions(self, x: torch.Tensor) -> LayerValues:
        """α_ℓ Sum(F_ℓ(x)), in float64."""
        return self._seen(_layered(self.predictor).contributions, x)

    def _seen(self, look: Callable[[Tensors, Tensors, torch.Tensor], LayerValues], x: torch.Tensor) -> LayerValues:
        at = self.predictor
        try:
            with torch.no_grad():
                blocks = [look(at.params, at.buffers, part.to(at.device)) for part in x.split(_BLOCK)]
        except KeyError as missing:
            raise InputError(
                f"the run must keep all parameters and buffers, got a snapshot without {missing}; "
                "ask for them with snapshot_names=('all',)"
            ) from None
        return {layer: torch.cat([block[layer].to(x.device).double() for block in blocks]) for layer in blocks[0]}


def course(run: Ended) -> dict[int, Moment]:
    """The network at all snapshots of a run, by step; empty where the run kept none."""
    found = states(run.outcome)
    if not found:
        return {}
    network = run.learner.network if isinstance(run.learner, TrainedNetwork) else _network(run).network
    return {step: Moment(Predictor(network, *state)) for step, state in found.items()}


@dataclass(frozen=True)
class Features:
    """Features that were learnt without a network."""

    predictor: LayeredPredictor

    def hidden(self, x: torch.Tensor) -> LayerValues:
        """S_ℓ(x), in float64."""
        return {layer: S.double() for layer, S in self.predictor.hidden(x).items()}

    def contributions(self, x: torch.Tensor) -> LayerValues:
        """Refused: such features do not add up to the prediction, layer by layer."""
        raise InputError("learner must train a network whose layers add up to the prediction, got one without layers")


def end(run: Ended) -> Seen:
    """The network at the end of a run, or what else shows its features, as :class:`SequentialKernels` does."""
    predictor = run.predictor
    if isinstance(predictor, LayeredPredictor):
        return Features(predictor)
    return Moment(_network(run))


def _network(run: Ended) -> Predictor:
    if not isinstance(run.predictor, Predictor):
        raise InputError(f"learner must train a network whose layers can be seen, got {type(run.learner).__name__}")
    return run.predictor


def layered(problem: Problem) -> LayeredTarget:
    """The problem, if it knows the layers of its target."""
    if not isinstance(problem, LayeredTarget):
        raise InputError(f"problem must know the layers of its target, got {type(problem).__name__}")
    return problem


def require_same_alphas(network: QuadraticNetwork, target: LayeredProblem) -> None:
    """Ask that a learner has the α of the target; otherwise weights that compute the same function differ."""
    wanted, given = target.scales, network.alphas
    same = all(math.isclose(*pair, rel_tol=1e-9) for pair in zip(wanted, given, strict=False))
    require(
        same, f"network must have the target's α, {shown(wanted)}, to be compared weight by weight, got {shown(given)}"
    )


def _layered(predictor: Predictor) -> LayeredNetwork:
    network = predictor.network
    if not isinstance(network, LayeredNetwork):
        raise InputError(f"network must show its layers, got {type(network).__name__}")
    return network
