"""The learner that ignores its points: the floor of every comparison."""

from __future__ import annotations

from dataclasses import dataclass

from beyondkernels.core import Case, Learner, Outcome, Progress, accuracy
from beyondkernels.kernels.learner import fresh_outputs
from beyondkernels.kernels.solvers.ridge import outputs


@dataclass(frozen=True)
class Constant(Learner):
    r"""Predicts the mean of the training labels for every point, and so the largest class where labels are classes.

    .. math:: f(x) = \frac1n \sum_i y_i

    No constant has a smaller squared error on the training points, nor a larger accuracy. :class:`ConstantClassifier`
    is the same for labels ±1 alone.

    >>> import beyondkernels as bk
    >>> run = bk.fit(Constant(), bk.resnet.Monomial(6), n=50, test=50, progress=False)
    >>> run.train_loss > 0
    True
    """

    def fit(self, case: Case, progress: Progress) -> Outcome:
        y = {"train": outputs("y", case.train.y, len(case.train))} | fresh_outputs(case)
        mean = y["train"].mean(0)
        scalars = {f"{name}_loss": (labels - mean).square().sum(1).mean().item() for name, labels in y.items()}
        if case.has_classes:
            scalars |= {f"{name}_accuracy": accuracy(mean.expand_as(labels), labels) for name, labels in y.items()}
        progress(1.0)
        return Outcome(scalars=scalars, predictor=lambda x: mean.to(x.device).expand(len(x), -1))
