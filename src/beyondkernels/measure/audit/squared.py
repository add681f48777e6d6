"""The squared error of a run that was trained with another loss."""

from __future__ import annotations

from dataclasses import dataclass

from beyondkernels.core import Ended, Measured
from beyondkernels.kernels.solvers.ridge import outputs
from beyondkernels.measure.base import Measurement


@dataclass(frozen=True)
class SquaredError(Measurement):
    r"""The mean over points of the squared error, summed over outputs, whatever loss was minimised.

    .. math:: \frac1n \sum_i \|f(x_i) - y_i\|^2

    Kernels are fitted by it. A model with another loss, or with a multiple of it, is comparable to them only by this
    number. Scalars ``train_squared_error`` and ``test_squared_error``.
    """

    def measure(self, run: Ended) -> Measured:
        """The squared errors at the training and at the test points."""
        found = {}
        for name, sample in (("train", run.case.train), ("test", run.case.test)):
            y = outputs("y", sample.y, len(sample))
            errors = run.predictions(name).double().reshape(y.shape).to(y.device) - y
            found[f"{name}_squared_error"] = errors.square().sum(1).mean().item()
        return Measured(found)
