"""The kernel of a network at given parameters, for learners, which see vectors."""

from __future__ import annotations

import torch

from beyondkernels.kernels.base import Kernel
from beyondkernels.kernels.finite.at import ConjugateAt, TangentAt


class KernelAt(Kernel):
    """The tangent or conjugate kernel of a network at given parameters, as a kernel of vectors.

    It holds tensors, so it is no dataclass and has no identity: it serves inside a learner, and for looking.

    Arguments:
        at: the kernel of points in their own shape.
        in_shape: that shape.
        whole: whether the network is given whole numbers, such as those of words; vectors of a kernel are float64.

    >>> from beyondkernels.core import Stream
    >>> from beyondkernels.networks import FullyConnected
    >>> network = FullyConnected(16)
    >>> kernel = KernelAt(TangentAt(network, *network.init(3, 2, Stream(0))), (3,))
    >>> kernel(torch.eye(3)).shape
    torch.Size([3, 3])
    """

    def __init__(self, at: TangentAt | ConjugateAt, in_shape: tuple[int, ...], whole: bool = False) -> None:
        self.at, self.in_shape, self.whole = at, in_shape, whole

    def block(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
        return self.at.gram(self._folded(x1), self._folded(x2)).double()

    def square(self, x: torch.Tensor) -> torch.Tensor:
        return self.at.gram(self._folded(x)).double()

    def _diagonal(self, x: torch.Tensor) -> torch.Tensor:
        return self.at.diagonal(self._folded(x)).double()

    def _folded(self, x: torch.Tensor) -> torch.Tensor:
        folded = x.reshape(len(x), *self.in_shape)
        return folded.long() if self.whole else folded
