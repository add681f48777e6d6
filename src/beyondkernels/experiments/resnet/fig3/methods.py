"""The methods of Figure 3: the ResNet trained together and layer by layer, and the two-step kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import beyondkernels as bk
from beyondkernels.experiments.resnet.fig2.methods import network_of
from beyondkernels.experiments.resnet.held_out import points_of
from beyondkernels.runs import RunSpec

if TYPE_CHECKING:
    from beyondkernels.algorithms import Algorithm
    from beyondkernels.experiments.resnet.fig3.experiment import Fig3Settings
    from beyondkernels.experiments.resnet.search import Point
    from beyondkernels.problems import CompositeParity

Way = Literal["together", "layerwise"]

WAYS: tuple[Way, ...] = ("together", "layerwise")
NAMES: dict[Way, str] = {"together": "3resnet (all)", "layerwise": "3resnet layerwise"}
TWO_STEP = "two-step kernel"

_KEPT = ("W.weight", "W.bias", "V.weight", "V.bias", "A.weight")


def exact(beta: float) -> str:
    """A number in as few digits as tell it from any other.

    >>> exact(0.0), exact(0.15), exact(0.15000001)
    ('0', '0.15', '0.15000001')
    """
    short = f"{beta:g}"
    return short if float(short) == beta else repr(float(beta))


def problem_of(settings: Fig3Settings, beta: float) -> CompositeParity:
    """H = βF + αG(F) on uniform signs."""
    return bk.problems.CompositeParity(settings.dim, settings.outputs, settings.alpha, beta)


def trained_spec(
    way: Way, settings: Fig3Settings, n: int, beta: float, width: int, point: Point, seed: int, measured: bool = False
) -> RunSpec:
    """A network trained with one learning rate and weight decay; layer by layer, both layers with the same.

    The test sample begins with the validation points: the record looks at those alone, the end at all.

    Arguments:
        way: how it is trained.
        settings: the experiment's.
        n: training points.
        beta: β.
        width: m.
        point: learning rate and weight decay.
        seed: of the run.
        measured: whether to measure what the predictions hold of F and of G(F).
    """
    algorithm = _algorithm(way, settings, n, point)
    last = sum(stage.steps for stage in algorithm.stages())
    learner = bk.engine.TrainedNetwork(
        network_of("3resnet", width),
        algorithm,
        record_at=(last,),
        record_points=settings.validation_samples,
        snapshot_at=(last,) if measured else (),
        snapshot_names=_KEPT if measured else (),
        backend=settings.backend,
    )
    measurements = (bk.measure.LearntSignals(),) if measured else ()
    return RunSpec(problem_of(settings, beta), learner, n, points_of(settings), seed, measurements)


def two_step_spec(settings: Fig3Settings, n: int, beta: float, seed: int) -> RunSpec:
    """Kernel regression twice, with polynomial kernels of the degrees that F and G have."""
    learner = bk.kernels.TwoStepRidge(
        bk.kernels.PolynomialKernel(2, scale=1 / settings.dim),
        bk.kernels.PolynomialKernel(4, scale=1 / settings.outputs),
        settings.two_step_weights,
    )
    return RunSpec(problem_of(settings, beta), learner, n, points_of(settings), seed)


def _algorithm(way: Way, settings: Fig3Settings, n: int, point: Point) -> Algorithm:
    rate, decay = point
    in_epoch = n // settings.batch
    descent = bk.algorithms.GradientDescent(
        settings.epochs * in_epoch,
        rate,
        settings.batch,
        settings.momentum,
        decay,
        "all",
        bk.algorithms.Squared(),
        (settings.decay_epoch * in_epoch,),
    )
    return descent if way == "together" else bk.algorithms.Layerwise(descent, descent)
