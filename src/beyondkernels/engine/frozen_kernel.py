"""Kernel methods with a network's own kernel, taken at its start or at any step of its training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import torch

from beyondkernels.algorithms import Algorithm
from beyondkernels.core import Case, Learner, Outcome, Problem, Progress, require, shape_of
from beyondkernels.core.constraints import at_least, positive
from beyondkernels.engine.member import Member, require_points
from beyondkernels.engine.running_statistics import settled_buffers
from beyondkernels.engine.train import train
from beyondkernels.kernels import ConjugateAt, KernelAt, TangentAt, TunedKernel
from beyondkernels.networks import Network


@dataclass(frozen=True)
class FrozenKernel(Learner):
    """Trains a network for some steps, freezes its kernel there, and learns with that kernel.

    The kernel is fitted by squared loss and, where labels are classes, by hinge and logistic loss; cross-validation on
    the training points chooses (:class:`TunedKernel`).

    At step 0 the kernel is that of the random start, a fixed kernel. Later ones hold the features that the network
    has learnt by then, from the same training points. The network's own output plays no part in the prediction. Its
    start and its batches are those of a run of :class:`TrainedNetwork` with the same seed. At step 0 the running
    statistics of batch normalisation are those of the training points (:func:`~.running_statistics.settled_buffers`).

    The mean of the training labels is subtracted before the fit and added to predictions.

    With several outputs the tangent kernel is traced: the mean over outputs of each output's kernel, one kernel for
    all of them.

    Arguments:
        network: the architecture.
        algorithm: its training rule.
        step: after how many steps the kernel is frozen.
        kind: ``tangent``, or ``conjugate`` for the inputs of the last layer.
        solver: of :class:`TunedKernel`: ``exact``, or ``iterative`` for samples whose Gram matrix is too large, with
            squared loss, held-out points and a certified error.
        memory: bytes that may be taken beside the sample.

    >>> import beyondkernels as bk
    >>> rule = bk.algorithms.GradientDescent(steps=20, learning_rate=0.1)
    >>> learner = FrozenKernel(bk.networks.TwoLayer(pairs=4), rule, step=20)
    >>> bk.fit(learner, bk.features.DictionaryParity(8, 6, relevant=3), n=100, test=100, progress=False).status
    'finished'
    """

    # 1: batch normalisation had its initial statistics at step 0; 2: no growing grid, copies left out one by one;
    # 3: squared loss alone, whose ridge the squared error chose; 4: no logistic loss
    revision: ClassVar[int] = 5

    network: Network
    algorithm: Algorithm
    step: Annotated[int, at_least(0)] = 0
    kind: Literal["tangent", "conjugate"] = "tangent"
    solver: Literal["exact", "iterative"] = "exact"
    memory: Annotated[int, positive] = field(default=2**33, metadata={"identity": False})

    def __post_init__(self) -> None:
        last = sum(stage.steps for stage in self.algorithm.stages())
        require(self.step <= last, f"step must be at most {last}, the steps of the training, got {self.step}")

    def check(self, problem: Problem, samples: int, test_samples: int) -> None:
        require_points(self.algorithm, samples)

    def fit(self, case: Case, progress: Progress) -> Outcome:
        member = Member(self.network, self.algorithm, case.train, case.stream)
        member.start(shape_of(case.problem.in_shape), case.problem.out_dim)
        if self.step:
            with torch.no_grad():
                train([member], [frozenset()], lambda _: None, until=self.step)
        if member.diverged:
            return Outcome("diverged")
        # Batch normalisation starts with mean 0 and variance 1, which says nothing of the data. A network that has
        # trained has met them.
        buffers = member.buffers if self.step else settled_buffers(member)
        progress(0.2)
        kind = TangentAt if self.kind == "tangent" else ConjugateAt
        # Token ids must reach an embedding as whole numbers, while kernels compute in double precision.
        whole = not case.train.x.is_floating_point()
        kernel = KernelAt(
            kind(member.network, member.params, buffers, memory=self.memory), case.problem.in_shape, whole
        )
        tuned = TunedKernel((kernel,), solver=self.solver, memory=self.memory)
        return tuned.fit(case, lambda fraction: progress(0.2 + 0.8 * fraction))
