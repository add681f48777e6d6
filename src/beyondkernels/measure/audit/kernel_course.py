"""When features appear: the tangent and conjugate kernels of a network along its training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

import torch

from beyondkernels.algorithms import Squared
from beyondkernels.core import Ended, InputError, Measured, Sample, accuracy, later
from beyondkernels.core.constraints import not_negative, positive
from beyondkernels.engine import Predictor, TrainedNetwork
from beyondkernels.kernels import RidgePath, conjugate_features, ridge_path, tangent_gram
from beyondkernels.kernels.checks import MEMORY
from beyondkernels.kernels.solvers.repeats import groups_of_copies
from beyondkernels.kernels.solvers.ridge import RELATIVE_RIDGES, outputs
from beyondkernels.kernels.solvers.spectrum import PSD_TOLERANCE
from beyondkernels.measure.audit.moments import chosen, moments, trained_network
from beyondkernels.measure.audit.similarity import centred, centred_alignment, feature_gram, relative_change
from beyondkernels.measure.base import Measurement, over_steps


class Grams(NamedTuple):
    """A kernel at a moment.

    Arguments:
        square: on the training points, (n, n).
        block: between test and training points, (m, n).
        centred: on the training points, of features whose mean is subtracted.
    """

    square: torch.Tensor
    block: torch.Tensor
    centred: torch.Tensor


_SINGLE = 1e-5
"""Above the rounding of a Gram matrix of some hundred points in single precision, relative to its mean diagonal."""


@dataclass(frozen=True)
class KernelCourse(Measurement):
    r"""The tangent and the conjugate kernel at every snapshot: how far they move, and how well they predict.

    .. math:: \Theta_t(x, x') = \frac1k \sum_{c=1}^k \langle \nabla_\theta f_c(x), \nabla_\theta f_c(x') \rangle, \qquad
              \Phi_t(x, x') = \langle h_t(x), h_t(x') \rangle

    with :math:`h_t` the inputs of the last layer. A model with k outputs has a matrix of k × k at each pair of points;
    its trace divided by k is one kernel, which serves all outputs.

    Series of the groups ``tangent`` and ``conjugate``, one number for each snapshot:

    - ``start``, ``end``, ``labels``: the centred alignment with the same kernel at the start, at the end, and with
      :math:`y y^\top`;
    - ``change``: :math:`\|K_t - K_0\|_F / \|K_0\|_F`;
    - ``accuracy`` where labels are classes, otherwise ``loss``: of ridge regression with the kernel frozen at that
      step, its ridge chosen by the exact leave-one-out error. The mean of the labels is subtracted before the fit.

    ``model/accuracy`` or ``model/loss`` is the model's own at the same test points. Kernels are fitted to ``points``
    points, while the model has seen all n of its training sample. More points usually help a kernel, so its score is an
    underestimate where ``points`` is less than n.

    Networks are evaluated as after training. Batch normalisation begins with statistics that are not those of the
    points, so in networks that have it ``change`` also holds a change of scale; alignments do not.

    Scalars ``tangent/emergence_step`` and ``conjugate/emergence_step``: :func:`emergence_step` of the kernel's scores.
    There is none if the kernel never does as well as the model. ``kernel_points`` and ``kernel_test_points`` say how
    many points there were. Models whose last layer is not linear have no conjugate kernel and no such series.

    Arguments:
        points: how many training points at most, drawn by the run's stream.
        test_points: how many test points at most.
        group: the parameters in which the tangent kernel takes derivatives: ``all`` or a group of the network.
        accuracy_tolerance: how much lower an accuracy may be that counts as equal, as a share of all points.
        loss_tolerance: how much larger a loss may be that counts as equal, relative to the model's.
        variance_tolerance: how much larger a squared error may be that counts as equal, relative to the variance of
            the test labels. Of two errors that are nearly zero neither is better.
        precision: of the tangent kernel. ``single`` takes half the time of ``double``, and its ridges stay above 1e-5
            of the kernel's mean diagonal, where rounding does not count.
        memory: bytes that a kernel may take.
    """

    points: Annotated[int, positive] = 500
    test_points: Annotated[int, positive] = 500
    group: str = "all"
    accuracy_tolerance: Annotated[float, not_negative] = 0.01
    loss_tolerance: Annotated[float, not_negative] = 0.05
    precision: Literal["single", "double"] = "single"
    memory: Annotated[int, positive] = field(default=MEMORY, metadata={"identity": False})
    variance_tolerance: Annotated[float, not_negative] = later(0.0)

    def measure(self, run: Ended) -> Measured:
        """Both kernels at all snapshots."""
        at, learner = moments(run), trained_network(run)
        train, test = chosen(run, "train", self.points), chosen(run, "test", self.test_points)
        score = Score(learner, run.case.has_classes)
        own = [{score.name: score(one(test.x), test.y)} for one in at.values()]
        series = over_steps("model", at, own)
        scalars = {"kernel_points": float(len(train)), "kernel_test_points": float(len(test))}
        tolerance = self.accuracy_tolerance if score.classes else self.loss_tolerance
        y = test.y.double().reshape(len(test), -1)
        squared = isinstance(learner.algorithm.loss, Squared)
        near = self.variance_tolerance * y.var(0, unbiased=False).sum().item() if squared else 0.0
        for group, grams in self._kernels(at[0], train, test).items():
            exact = group == "conjugate" or self.precision == "double"
            rows = course(at, grams, train, test.y, score, 0.0 if exact else _SINGLE)
            series |= over_steps(group, at, rows)
            scores = [row[score.name] for row in rows]
            step = emergence_step(tuple(at), scores, own[-1][score.name], tolerance, rising=score.classes, near=near)
            scalars |= {} if step is None else {f"{group}/emergence_step": float(step)}
        return Measured(scalars, series)

    def _kernels(self, start: Predictor, train: Sample, test: Sample) -> dict[str, Callable[[Predictor], Grams]]:
        n, x = len(train), torch.cat([train.x, test.x])
        dtype = torch.float32 if self.precision == "single" else torch.float64

        def tangent(at: Predictor) -> Grams:
            # Gradients cost more than products: all points at once take each gradient once.
            known: Any = (at.network, at.params, at.buffers, x)
            K = tangent_gram(*known, group=self.group, memory=self.memory, dtype=dtype).double()
            return Grams(K[:n, :n].clone(), K[n:, :n].clone(), centred(K[:n, :n]))

        def conjugate(at: Predictor) -> Grams:
            h, h_test = (_features(at, x) for x in (train.x, test.x))
            return Grams(h @ h.T, h_test @ h.T, feature_gram(h))  # what varies may be tiny beside a bias

        found: dict[str, Callable[[Predictor], Grams]] = {"tangent": tangent}
        return found | ({"conjugate": conjugate} if _has_features(start, train.x[:1]) else {})


@dataclass(frozen=True)
class Score:
    """The number by which a kernel and the model are compared: accuracy for classes, the model's loss for numbers.

    Arguments:
        learner: whose loss it is.
        classes: whether labels are classes.
    """

    learner: TrainedNetwork
    classes: bool

    @property
    def name(self) -> str:
        """``accuracy`` or ``loss``."""
        return "accuracy" if self.classes else "loss"

    def __call__(self, out: torch.Tensor, y: torch.Tensor) -> float:
        """The score of predictions."""
        return accuracy(out, y) if self.classes else self.learner.algorithm.loss.report(out, y)["loss"]


def course(
    at: dict[int, Predictor],
    grams: Callable[[Predictor], Grams],
    train: Sample,
    y_test: torch.Tensor,
    score: Score,
    rounding: float = 0.0,
) -> list[dict[str, float]]:
    """Alignments, change and score of one kernel at each moment.

    Arguments:
        at: the network by step.
        grams: the kernel of the network at one moment.
        train: the training points.
        y_test: labels of the test points.
        score: of predictions at the test points.
        rounding: what the kernel is known up to, relative to its mean diagonal; no ridge lies below.
    """
    Y, steps, copies = outputs("y", train.y, len(train)), list(at), groups_of_copies(train.x)
    labels, mean = Y @ Y.T, Y.mean(0)
    ends = {step: grams(at[step]) for step in {steps[0], steps[-1]}}  # only these two are held throughout
    start, end = ends[steps[0]], ends[steps[-1]]
    rows = []
    for step in steps:
        now = ends[step] if step in ends else grams(at[step])
        rows.append(
            {
                "start": centred_alignment(now.centred, start.centred),
                "end": centred_alignment(now.centred, end.centred),
                "labels": centred_alignment(now.centred, labels),
                "change": relative_change(now.square, start.square),
                score.name: score(_fit(now.square, Y - mean, rounding, copies).predict(now.block) + mean, y_test),
            }
        )
    return rows


def emergence_step(
    steps: Sequence[int], scores: Iterable[float], final: float, tolerance: float, *, rising: bool, near: float = 0.0
) -> int | None:
    r"""The first step from which on a frozen kernel does as well as the trained model; None if there is none.

    .. math:: \min \{t : s_{t'} \ge s - \varepsilon \text{ for all } t' \ge t\} \text{ for accuracies}, \qquad
              \min \{t : s_{t'} \le \max((1 + \varepsilon)\, s, s + \nu) \text{ for all } t' \ge t\} \text{ for losses}

    Arguments:
        steps: t, increasing.
        scores: :math:`s_t`, of the kernel frozen at each step.
        final: s, of the model at the end.
        tolerance: ε, absolute for accuracies and relative for losses.
        rising: True for accuracies, False for losses.
        near: ν, how much larger a loss may be at least.

    >>> emergence_step([0, 10, 20, 30], [0.5, 0.95, 0.7, 0.94], final=0.95, tolerance=0.01, rising=True)
    30
    >>> emergence_step([0, 10, 20], [2.0, 1.04, 0.9], final=1.0, tolerance=0.05, rising=False)
    10
    """
    bound = final - tolerance if rising else max(final * (1 + tolerance), final + near)
    slack = 1e-12 * abs(bound)  # 0.95 − 0.01 must not depend on the last digit
    first = None
    for step, score in zip(steps, scores, strict=True):
        good = score >= bound - slack if rising else score <= bound + slack
        first = (step if first is None else first) if good else None
    return first


def _fit(K: torch.Tensor, y: torch.Tensor, rounding: float, copies: torch.Tensor | None) -> RidgePath:
    """Ridge regression at the usual ridges, without those that lie below the rounding."""
    scale = K.diagonal().mean().item() or 1.0
    ridges = [scale * ridge for ridge in RELATIVE_RIDGES if ridge >= rounding]
    return ridge_path(K, y, ridges, tolerance=max(rounding, PSD_TOLERANCE), groups=copies)


def _features(at: Predictor, x: torch.Tensor) -> torch.Tensor:
    return conjugate_features(at.network, at.params, at.buffers, x)


def _has_features(at: Predictor, x: torch.Tensor) -> bool:
    try:
        _features(at, x)
    except InputError:
        return False
    return True
