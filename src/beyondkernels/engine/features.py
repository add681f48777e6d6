"""The features of a network at some step of its training, as inputs of a linear classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import torch

from beyondkernels.activations import activation
from beyondkernels.algorithms import Algorithm
from beyondkernels.core import Case, DivergedError, require, shape_of
from beyondkernels.core.constraints import not_negative
from beyondkernels.engine.member import Member
from beyondkernels.engine.train import train
from beyondkernels.kernels import FeatureMap, FeatureSource, random_feature_map, tangent_feature_map
from beyondkernels.networks import Network, TwoLayer


@dataclass(frozen=True)
class NetworkFeatures(FeatureSource):
    """The neurons, or the tangent features, of a two-layer network after some steps.

    Arguments:
        network: the architecture.
        algorithm: how the network starts and is trained, as in a run of the network itself.
        after: after how many steps the features are taken; 0 takes them at initialisation.
        kind: ``neurons`` for the outputs of the hidden layer, ``tangent`` for the gradient in all parameters.
    """

    network: TwoLayer
    algorithm: Algorithm
    after: Annotated[int, not_negative] = 0
    kind: Literal["neurons", "tangent"] = "neurons"

    def feature_map(self, case: Case) -> FeatureMap:
        """Train for ``after`` steps, then return the features."""
        return self.taken_from(self.network, case)

    def taken_from(self, network: Network, case: Case) -> FeatureMap:
        """The features of the network in the coordinates of a case.

        Arguments:
            network: this one, or the same one in other coordinates (:class:`~beyondkernels.engine.InSpan`).
            case: in the same coordinates.
        """
        member = Member(network, self.algorithm, case.train, case.stream)
        member.start(shape_of(case.problem.in_shape), case.problem.out_dim)
        with torch.no_grad():
            train([member], [frozenset()], lambda _: None, until=self.after)
        if member.diverged:
            raise DivergedError(f"the network diverged at step {member.step}, so it has no features to take")
        require(
            # A rule may end by itself, and features of an earlier step are not the ones that were asked for.
            member.step == self.after,
            f"after must not exceed the {member.step} steps of training, got {self.after}",
        )
        # In double precision from here on: solvers state their error, and single precision would be the largest part of
        # it.
        W, b, a = (member.params[name].double() for name in ("hidden.weight", "hidden.bias", "output.weight"))
        sigma = activation(self.network.activation)
        if self.kind == "neurons":
            return random_feature_map(W, b, sigma.value)
        return tangent_feature_map(W, b, a[0], sigma.value, sigma.derivative, case.train.x)
