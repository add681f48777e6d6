"""A training rule that does all that a transition may do, and the network it trains.

It looks at the objective, factors a layer by an SVD with the rank it finds, adds and removes parameters and buffers,
waits for random times, and chooses among random draws at its end: in small, what Algorithm 1 of the paper on backward
feature correction and Algorithm 2 of the paper on over-parameterised networks do.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

import torch

import beyondkernels as bk
from beyondkernels.core import Shape, Stream, Tensors, size_of
from beyondkernels.networks import Network, linear


@dataclass(frozen=True)
class Factored(Network):
    """a·tanh(Wx), where W is one matrix, or a product of two that a transition has put in its place."""

    width: int

    def init(self, in_dim: Shape, out_dim: int, stream: Stream) -> tuple[Tensors, Tensors]:
        """One matrix, and the readout."""
        in_dim = size_of(in_dim)
        W = stream.child("W").normal(self.width, in_dim) / in_dim**0.5
        return {"W": W, "a": stream.child("a").normal(out_dim, self.width) / self.width**0.5}, {}

    def apply(
        self, params: Tensors, buffers: Tensors, x: torch.Tensor, train: bool = False
    ) -> tuple[torch.Tensor, Tensors]:
        """With the scale in the buffers, where there is one."""
        z = linear(x, params["W"]) if "W" in params else linear(linear(x, params["down"]), params["up"])
        return linear(torch.tanh(z), params["a"]) * buffers.get("scale", 1.0), buffers

    @property
    def footprint(self) -> int:
        """The neurons."""
        return self.width

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """The readout."""
        return {"last": ("a",)}


@dataclass(frozen=True)
class Growing(bk.algorithms.Algorithm):
    """Trains W until the objective is small enough; then its factors, while a scale shrinks at random times.

    Arguments:
        rule: the steps.
        enough: the objective below which W is factored.
        least: singular values below so large a part of the first are cut off.
        draws: how many random displacements of the readout the end chooses from.
    """

    rule: bk.algorithms.GradientDescent
    enough: float = 1.0
    least: float = 0.3
    draws: int = 4

    @property
    def loss(self) -> bk.algorithms.Loss:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The squared error."""
        return bk.algorithms.Squared()

    def stages(self) -> tuple[bk.algorithms.Stage, ...]:
        """The whole matrix, and its factors."""
        plain = self.rule.stages()[0]
        return replace(plain, name="whole", check_every=4), replace(plain, name="factored")

    def hyper(self, stage: bk.algorithms.Stage, step: int) -> dict[str, float]:
        """Those of the rule."""
        return self.rule.hyper(stage, step)

    def optimiser_state(self, stage: bk.algorithms.Stage, params: Tensors) -> Tensors:
        """That of the rule."""
        return self.rule.optimiser_state(stage, params)

    def program(self, stage: bk.algorithms.Stage) -> Hashable:
        """What the step does besides its numbers."""
        return type(self), self.rule.program(stage)

    def later_parameters(self, network: Network) -> tuple[str, ...]:
        """The factors."""
        return "up", "down"

    def step(
        self,
        stage: bk.algorithms.Stage,
        network: Network,
        params: Tensors,
        buffers: Tensors,
        optimiser: Tensors,
        batch: bk.algorithms.Batch,
        noise: Tensors,
        hyper: Tensors,
    ) -> bk.algorithms.StepResult:
        """That of the rule."""
        return self.rule.step(stage, network, params, buffers, optimiser, batch, noise, hyper)

    def transition(self, view: bk.algorithms.MemberView) -> bk.algorithms.Transition:
        """A threshold, an SVD, a random time, a choice."""
        over = view.steps_in_stage == self.rule.steps
        if view.stage == 0:
            return self._factored(view) if over or view.objective() < self.enough else view.stay()
        if over:
            return self._chosen(view)
        shrunk = {"scale": view.buffers["scale"] * 0.99, "times": view.buffers["times"] + 1}
        return view.stay(buffers=shrunk, check_after=self._wait(view))

    def _factored(self, view: bk.algorithms.MemberView) -> bk.algorithms.Transition:
        U, S, V = torch.linalg.svd(view.params["W"], full_matrices=False)
        r = int((self.least * S[0] <= S).sum())
        root = S[:r].sqrt()
        factors = {"down": root[:, None] * V[:r], "up": U[:, :r] * root, "a": view.params["a"]}
        after = view.enter(1, factors, {"scale": torch.ones(()), "times": torch.zeros((), dtype=torch.int64)})
        return after._replace(check_after=self._wait(view))

    def _wait(self, view: bk.algorithms.MemberView) -> int:
        return 1 + int(view.stream.child("wait").integers(5))

    def _chosen(self, view: bk.algorithms.MemberView) -> bk.algorithms.Transition:
        a = view.params["a"]
        drawn = [view.stream.child("end", str(j)).normal(*a.shape) for j in range(self.draws)]
        candidates = [view.params | {"a": a + 0.3 * noise} for noise in drawn]
        return view.end(min(candidates, key=view.objective))
