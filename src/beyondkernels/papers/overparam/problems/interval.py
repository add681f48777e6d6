"""A function of one variable, as a problem."""

from __future__ import annotations

from dataclasses import dataclass

from beyondkernels.activations import Activation
from beyondkernels.core import Problem, Sample, Stream


@dataclass(frozen=True)
class IntervalFunction(Problem):
    r"""A function on [−1, 1], without noise: :math:`y = \phi(x)` with x uniform.

    Arguments:
        function: φ.

    >>> from beyondkernels.activations import Sine
    >>> IntervalFunction(Sine()).sample(3, Stream(0)).x.shape
    torch.Size([3, 1])
    """

    function: Activation

    @property
    def in_dim(self) -> int:
        return 1

    @property
    def out_dim(self) -> int:
        return 1

    def sample(self, n: int, stream: Stream) -> Sample:
        """Draw n points: x and y (n, 1), float32."""
        x = 2 * stream.child("inputs").uniform(n, 1) - 1
        return Sample(x, self.function.value(x.double()).float())
