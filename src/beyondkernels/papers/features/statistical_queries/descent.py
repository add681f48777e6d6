"""Gradient descent of a two-layer network in which every partial derivative is a statistical query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated

import torch

from beyondkernels.activations import activation
from beyondkernels.core import DivergedError, Stream, Tensors
from beyondkernels.core.constraints import at_least, positive
from beyondkernels.networks import TwoLayer
from beyondkernels.papers.features.statistical_queries.oracle import Oracle
from beyondkernels.papers.features.statistical_queries.rule import Hypothesis, QueryMethod

_LARGEST = 1e15


@dataclass(frozen=True)
class QueriedDescent(QueryMethod):
    r"""Descends the hinge loss of a two-layer network, asking for each partial derivative.

    .. math::
        \frac{\partial L}{\partial w_{ij}} = -a_i s\,E\Big[y\,1[y g(x) < 1]\,\sigma'(z_i)\,\frac{x_j}{s}\Big], \qquad
        \frac{\partial L}{\partial a_i} = -E\big[y\,1[y g(x) < 1]\,\sigma(z_i)\big]

    The expectations are the queries. With the truncated ReLU their values lie in [−1, 1] once :math:`x_j/s` is clipped
    to it; s is ``reach``. A step takes 2m(d + 2) queries: of each neuron d weights, the bias and the output weight.

    Arguments:
        network: whose activation and its derivative lie in [−1, 1].
        hidden_rate: the learning rate of weights and biases.
        output_rate: the learning rate of the readout.
        reach: s, beyond which a coordinate is clipped.
        steps: how many at most; it ends before when the queries left do not suffice for a step.
    """

    network: TwoLayer = field(default_factory=lambda: TwoLayer(pairs=10))
    hidden_rate: Annotated[float, positive] = 1.0
    output_rate: Annotated[float, positive] = 0.1
    reach: Annotated[float, positive] = 1.0
    steps: Annotated[int, at_least(1)] = 1_000_000

    def learn(self, oracle: Oracle, stream: Stream) -> Iterator[Hypothesis]:
        """The network at its start and after each step."""
        params, _ = self.network.init(oracle.in_dim, 1, stream)
        yield self._hypothesis(params)
        for _ in range(self.steps):
            if oracle.left < 2 * self.network.pairs * (oracle.in_dim + 2):
                return
            params = self._step(params, oracle)
            yield self._hypothesis(params)

    def _step(self, params: Tensors, oracle: Oracle) -> Tensors:
        """One step; the queries of all derivatives are fixed before any is answered."""
        rule = activation(self.network.activation)

        def inside(x: torch.Tensor) -> torch.Tensor:
            return x @ params["hidden.weight"].T.to(x.dtype) + params["hidden.bias"].to(x.dtype)

        def active(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            margin = y * self._hypothesis(params)(x)
            return torch.where(margin < 1, y, 0.0)[:, None]

        def coordinates(x: torch.Tensor) -> torch.Tensor:
            return torch.cat([(x / self.reach).clamp(-1, 1), torch.ones_like(x[:, :1])], 1)

        hidden = oracle.ask_products(lambda x, y: active(x, y) * rule.derivative(inside(x)), coordinates)
        output = oracle.ask(lambda x, y: active(x, y) * rule.value(inside(x)))
        a = params["output.weight"]
        moved = self.hidden_rate * a.T * hidden.to(a.dtype)
        new = {
            "hidden.weight": params["hidden.weight"] + self.reach * moved[:, :-1],
            "hidden.bias": params["hidden.bias"] + moved[:, -1],
            "output.weight": a + self.output_rate * output.to(a.dtype),
        }
        # squares of the largest numbers must still be finite, or outputs are not
        if not all(bool((value.abs() < _LARGEST).all()) for value in new.values()):
            raise DivergedError(
                f"the network's weights left the range of single precision after {oracle.asked} queries"
            )
        return new

    def _hypothesis(self, params: Tensors) -> Hypothesis:
        def score(x: torch.Tensor) -> torch.Tensor:
            cast = {name: value.to(x.dtype) for name, value in params.items()}
            return self.network.apply(cast, {}, x)[0][:, 0]

        return score
