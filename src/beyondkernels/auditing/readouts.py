"""Linear readouts of a network's features, and a network as it is: learners that train nothing in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import torch

from beyondkernels.algorithms import Algorithm
from beyondkernels.core import Case, Learner, Outcome, Progress, Tensors, shape_of
from beyondkernels.core.components import later
from beyondkernels.core.constraints import positive
from beyondkernels.engine import Member, Predictor
from beyondkernels.engine.running_statistics import settled_buffers
from beyondkernels.kernels import ConjugateAt, KernelAt, TangentAt, TunedKernel
from beyondkernels.networks import Network, Prefix

_POINTS_AT_ONCE = 256


@dataclass(frozen=True)
class Readout(Learner):
    r"""A linear readout of a network's features at the numbers it starts from, fitted by :class:`TunedKernel`.

    .. math:: f(x) = \bar y + \langle a, \phi(x) \rangle

    The features are those of the tangent kernel, those that enter the last layer, or those of a block and a one.
    Nothing in the network changes. The mean of the training labels is subtracted before the fit.

    Arguments:
        network: at its start: the given weights, or a fresh draw.
        algorithm: a rule for the network, which says the size of a batch for ``settled``. Nothing is trained by it.
        kind: ``tangent``, ``conjugate`` or ``block``.
        block: the name of the block.
        settled: whether running statistics are first made those of the training points, as a fresh start needs it.
        searched: whether the features are tried with standard deviations of one, too, and what cross-validation on the
            training points finds better is kept. Tangent kernels, whose features are too many, are taken as they are.
        solver: of :class:`TunedKernel`.
        memory: bytes that may be taken beside the sample.
    """

    network: Network
    algorithm: Algorithm
    kind: Literal["tangent", "conjugate", "block"]
    block: str = ""
    settled: bool = False
    searched: bool = later(False)
    solver: Literal["exact", "iterative"] = "exact"
    memory: Annotated[int, positive] = field(default=2**33, metadata={"identity": False})

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Solve for the readout."""
        member = _started(self.network, self.algorithm, case)
        buffers = settled_buffers(member) if self.settled else member.buffers
        whole = not case.train.x.is_floating_point()
        at: Any
        if self.kind == "block":
            at = _BlockAt(self.network, self.block, member.params, buffers)
        else:
            kind = TangentAt if self.kind == "tangent" else ConjugateAt
            at = kind(self.network, member.params, buffers, memory=self.memory)
        tried = [at]
        if self.searched and self.kind != "tangent":
            tried.append(_Standardised(at.features, case.train.x))
        kernels = tuple(KernelAt(each, case.problem.in_shape, whole) for each in tried)
        return TunedKernel(kernels, solver=self.solver, memory=self.memory).fit(case, progress)


@dataclass(frozen=True)
class AsGiven(Learner):
    r"""A network that is not trained, and how far its numbers are from a fresh start.

    Scalars ``distance`` :math:`= \|w - w_0\| / \|w_0\|` with the given numbers w and a fresh draw :math:`w_0`, and
    ``apart`` :math:`= \|w_1 - w_0\| / \|w_0\|` with a second draw; ``distance/BLOCK`` and ``apart/BLOCK`` are the same
    for the parameters of a block.

    Arguments:
        network: starts from the given numbers.
        fresh: the same network, drawn anew.
        algorithm: a rule for it, of which the loss is used.
    """

    network: Network
    fresh: Network
    algorithm: Algorithm

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Evaluate it."""
        member = _started(self.network, self.algorithm, case)
        predictor = Predictor(self.network, member.params, member.buffers)
        scalars: dict[str, float] = {"steps": 0.0}
        for name, part in ({"train": case.train} | case.fresh).items():
            found = self.algorithm.loss.report(predictor(part.x), part.y)
            if not case.has_classes:
                found.pop("accuracy", None)
            scalars |= {f"{name}_{each}": value for each, value in found.items()}
        size = shape_of(case.problem.in_shape), case.problem.out_dim
        first, second = (self.fresh.init(*size, case.stream.child("fresh", name))[0] for name in ("first", "second"))
        blocks = {f"/{block.name}": block.parameters for block in getattr(self.network, "blocks", ())}
        for name, names in ({"": tuple(member.params)} | blocks).items():
            if (length := _length({each: first[each] for each in names})) > 0:
                for word, other in (("distance", member.params), ("apart", second)):
                    change = {each: other[each].cpu().double() - first[each].double() for each in names}
                    scalars[f"{word}{name}"] = _length(change) / length
        progress(1.0)
        return Outcome(scalars=scalars, predictor=predictor)


def _started(network: Network, algorithm: Algorithm, case: Case) -> Member:
    member = Member(network, algorithm, case.train, case.stream)
    member.start(shape_of(case.problem.in_shape), case.problem.out_dim)
    return member


def _length(numbers: Tensors) -> float:
    return sum(float(value.double().square().sum()) for value in numbers.values()) ** 0.5


class _OfFeatures:
    """A kernel of features that can be written down."""

    features: Callable[[torch.Tensor], torch.Tensor]

    def gram(self, x1: torch.Tensor, x2: torch.Tensor | None = None) -> torch.Tensor:
        """Inner products of features, (n1, n2)."""
        first = self.features(x1)
        return first @ (first if x2 is None else self.features(x2)).T

    def diagonal(self, x: torch.Tensor) -> torch.Tensor:
        """Squared lengths of features, (n,)."""
        return self.features(x).square().sum(1)


class _Standardised(_OfFeatures):
    """The kernel of features that have mean zero and standard deviation one on given points, and of a one."""

    def __init__(self, features: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> None:
        h = features(x).double()
        self._features, self._mean, deviation = features, h.mean(0), h.std(0, unbiased=False)
        self._varies = deviation > 1e-6 * h.abs().amax()
        self._deviation = deviation[self._varies]

    def features(self, x: torch.Tensor) -> torch.Tensor:
        h = (self._features(x).double() - self._mean)[:, self._varies] / self._deviation
        return torch.cat([h, h.new_ones(len(h), 1)], 1)


class _BlockAt(_OfFeatures):
    """The kernel of what a block gives, ⟨h(x), h(x′)⟩ + 1, at given parameters."""

    def __init__(self, network: Network, block: str, params: Tensors, buffers: Tensors) -> None:
        self._network, self._block, self._params, self._buffers = network, block, params, buffers
        self._known: tuple[torch.Tensor, torch.Tensor] | None = None

    def features(self, x: torch.Tensor) -> torch.Tensor:
        """The features of each point, (n, d), and a one."""
        if x.is_floating_point():
            x = x.to(next(iter(self._params.values())).dtype)
        prefix = Prefix(self._network, self._block)
        with torch.no_grad():
            parts = [prefix.read(self._params, self._buffers, part)[0].double() for part in x.split(_POINTS_AT_ONCE)]
        h = torch.cat(parts)
        return torch.cat([h, h.new_ones(len(h), 1)], 1)
