"""The error of a run at each test point, by which two runs are compared point by point."""

from __future__ import annotations

from dataclasses import dataclass

from beyondkernels.core import Ended, Measured, hits
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
