"""The error of a run at each test point, by which two runs are compared point by point."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from beyondkernels.core import Ended, Measured, Stream, hits
from beyondkernels.core.streams import seeded_by
from beyondkernels.engine import Predictor
from beyondkernels.kernels.solvers.ridge import outputs
from beyondkernels.measure.base import Measurement


@dataclass(frozen=True)
class PointErrors(Measurement):
    r"""The error at each test point: whether its class is missed, or :math:`\|f(x_i) - y_i\|^2` if labels are numbers.

    The array ``test_errors`` of shape (n,). Its mean is one minus the test accuracy, or the squared error.
    """

    def measure(self, run: Ended) -> Measured:
        """The errors of the run at its test points, one number for each."""
        test = run.case.test
        y = outputs("y", test.y, len(test))
        out = run.predictions("test").double().reshape(y.shape).to(y.device)
        errors = 1 - hits(out, y) if run.case.has_classes else (out - y).square().sum(1)
        return Measured(arrays={"test_errors": errors.cpu().numpy()})


@dataclass(frozen=True)
class OutputSpread(Measurement):
    r"""How much outputs differ from test point to test point: :math:`\sqrt{\frac1n \sum_i \|f(x_i) - \bar f\|^2}`.

    The scalar ``output_spread``. It is zero for a model that ignores its input.
    """

    def measure(self, run: Ended) -> Measured:
        """The spread of the run's outputs."""
        out = run.predictions("test").double()
        out = out.reshape(len(out), -1)
        return Measured(scalars={"output_spread": float(out.var(0, unbiased=False).sum().sqrt())})


@dataclass(frozen=True)
class Modes(Measurement):
    """How well a network fits training points in training mode and in evaluation mode.

    Scalars ``training_mode_error`` and ``evaluation_mode_error`` on the same points, as in :class:`PointErrors`. They
    differ if dropout or the running statistics of batch normalisation make another function of the network.

    Arguments:
        batch: points that pass through the network together, as they did when it was trained; None for all.
        points: training points that are used, at most.
    """

    batch: int | None = None
    points: int = 1000

    def measure(self, run: Ended) -> Measured:
        """Both errors; nothing for what is no network, or has only one mode."""
        predictor, train = run.predictor, run.case.train
        if not isinstance(predictor, Predictor):
            return Measured()
        n = min(self.points, len(train))
        rows = Stream(0).child("modes").permutation(len(train))[:n].to(train.x.device)
        x, y = train.x[rows], outputs("y", train.y[rows], n)
        if x.is_floating_point():
            x = x.to(next(iter((predictor.params | predictor.buffers).values())).dtype)
        size = min(self.batch or n, n)
        parts = [part for part in x.split(size) if len(part) == size]  # a small last batch has other statistics
        y = y[: size * len(parts)]
        found = {}
        with torch.no_grad(), seeded_by(0):  # of dropout
            for mode, training in (("training", True), ("evaluation", False)):
                outs = [
                    predictor.network.apply(predictor.params, predictor.buffers, part, training)[0] for part in parts
                ]
                out = torch.cat(outs).double().reshape(y.shape).to(y.device)
                errors = 1 - hits(out, y) if run.case.has_classes else (out - y).square().sum(1)
                found[f"{mode}_mode_error"] = float(errors.double().mean())
        return Measured(scalars=found)
