"""The runs of Figure 4: two-layer networks trained on a sample, and on all points of the six-dimensional cube."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import beyondkernels as bk
from beyondkernels.core import Problem, Sample, require
from beyondkernels.experiments.resnet.held_out import points_of
from beyondkernels.runs import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Outcome, Stream
    from beyondkernels.experiments.resnet.fig4.experiment import Fig4Settings
    from beyondkernels.experiments.resnet.search import Point
    from beyondkernels.measure.norms import NormedNetwork
    from beyondkernels.networks import FullyConnected

DEGREE = 6
"""q, the degree of the monomial."""

Start = Literal["1/m", "1/d"]
"""The variance of the hidden weights at the start."""

_TRAINED = "layer1.weight"


@dataclass(frozen=True)
class AllPoints(Problem):
    """The monomial of all its inputs, whose sample is every point of the cube once: its error is the risk itself.

    Arguments:
        degree: how many inputs.

    >>> AllPoints(2).sample(4, None).y.tolist()
    [1.0, -1.0, -1.0, 1.0]
    """

    degree: int = DEGREE

    @property
    def in_dim(self) -> int:
        """As many as the degree."""
        return self.degree

    @property
    def out_dim(self) -> int:
        """One."""
        return 1

    def sample(self, n: int, stream: Stream | None) -> Sample:
        """All points; n must be their number, and nothing is drawn."""
        require(n == 2**self.degree, f"n must be {2**self.degree}, the number of all points, got {n}")
        problem = bk.problems.Monomial(self.degree, self.degree)
        x = problem.inputs.points(n)
        assert x is not None, "the cube can be listed"
        return Sample(x.float(), problem.target(x)[:, 0].float())


def network_of(width: int, in_dim: int, start: Start) -> FullyConnected:
    """aᵀσ(Wx) with a of ±1/√m, half of each sign, and W from N(0, 1/m) or N(0, 1/d)."""
    variance = 1 / width if start == "1/m" else 1 / in_dim
    scales = bk.networks.Parameterisation("standard", weight_variance=variance, input_fan_in=1)
    return bk.networks.FullyConnected(width, depth=2, parameterisation=scales, readout="signs")


def trained_spec(settings: Fig4Settings, epochs: int, width: int, point: Point, seed: int, start: Start) -> RunSpec:
    """W trained by SGD on a sample; the rate falls by 10 after half of the epochs.

    The test sample begins with the validation points: the record looks at those alone, the end at all.
    """
    rate, decay = point
    in_epoch = settings.samples // settings.batch
    steps = epochs * in_epoch
    descent = bk.algorithms.GradientDescent(
        steps,
        rate,
        settings.batch,
        settings.momentum,
        decay,
        "hidden",
        bk.algorithms.Squared(),
        (epochs // 2 * in_epoch,),
    )
    learner = _normed(
        network_of(width, settings.dim, start),
        descent,
        record_at=(steps,),
        record_points=settings.validation_samples,
        snapshot_at=(steps,),
        snapshot_names=(_TRAINED,),
        backend=settings.backend,
    )
    return RunSpec(bk.problems.Monomial(settings.dim), learner, settings.samples, points_of(settings), seed)


def construction_spec(settings: Fig4Settings, decay: float, seed: int) -> RunSpec:
    """W trained by gradient descent on all points of the six relevant inputs, as in footnote 16."""
    steps = settings.construction_steps
    descent = bk.algorithms.GradientDescent(
        steps,
        settings.construction_rate,
        None,
        settings.momentum,
        decay,
        "hidden",
        bk.algorithms.Squared(),
        (steps // 2,),
    )
    learner = _normed(
        network_of(settings.construction_width, DEGREE, settings.start),
        descent,
        snapshot_at=(steps,),
        snapshot_names=(_TRAINED,),
        backend=settings.backend,
    )
    return RunSpec(AllPoints(), learner, 2**DEGREE, 2**DEGREE, seed)


def _normed(*arguments: Any, **named: Any) -> NormedNetwork:
    from beyondkernels.measure.norms import NormedNetwork  # here, so that a declaration does not wait for torch

    return NormedNetwork(*arguments, **named)


def norm_of(outcome: Outcome, dim: int) -> float | None:
    """‖W‖_F/√d at the end; None if the run diverged."""
    norm = outcome.scalars.get(f"norm/{int(outcome.scalars['steps'])}/{_TRAINED}")
    return None if norm is None or outcome.status != "finished" else norm / dim**0.5
