"""Losses, each with what to report of a prediction beside it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name

from beyondkernels.core import Component, accuracy, are_classes
from beyondkernels.core.constraints import positive


class Loss(Component, ABC):
    """A loss of predictions (n, out_dim) against labels."""

    margins: ClassVar[bool] = False
    """Whether predictions are only compared with each other or with zero, so that their size means nothing."""

    def probabilities(self, out: torch.Tensor) -> torch.Tensor | None:
        """The probability of each class, (n, classes), that predictions stand for; None where they stand for none."""
        return None

    @abstractmethod
    def each(self, out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The loss of each point, (n,)."""

    @abstractmethod
    def report(self, out: torch.Tensor, y: torch.Tensor) -> dict[str, float]:
        """What is worth recording: at least ``loss``, the mean over the points."""


class _OfClasses(Loss):
    def report(self, out: torch.Tensor, y: torch.Tensor) -> dict[str, float]:
        return {"loss": self.each(out.double(), y.double()).mean().item(), "accuracy": accuracy(out, y)}


@dataclass(frozen=True)
class Hinge(_OfClasses):
    r"""The hinge loss of a binary classifier.

    .. math:: \ell(y, \hat y) = \max(1 - y \hat y, 0), \qquad y \in \{-1, +1\}

    Reference: Shi, Wei & Liang (features), §3.1, "Loss Function".
    """

    margins: ClassVar[bool] = True

    def each(self, out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(1 - y.reshape(out.shape).squeeze(-1) * out.squeeze(-1))


@dataclass(frozen=True)
class Squared(Loss):
    r"""The squared error summed over the outputs, :math:`\|\hat y - y\|^2`, without a factor 1/2."""

    def each(self, out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """‖ŷ − y‖² for each point."""
        return ((out - y.reshape(out.shape)) ** 2).sum(-1)

    def report(self, out: torch.Tensor, y: torch.Tensor) -> dict[str, float]:
        """``loss``, and ``accuracy`` where labels are classes."""
        found = {"loss": self.each(out.double(), y.double()).mean().item()}
        return found | ({"accuracy": accuracy(out, y)} if len(y) and are_classes(y) else {})


@dataclass(frozen=True)
class PseudoHuber(Loss):
    r"""The distance of prediction and label, rounded off where it is small.

    .. math:: \ell(y, \hat y) = \sqrt{1 + \|\hat y - y\|^2} - 1

    It is convex, 1-Lipschitz and 1-smooth everywhere, and at most 1 where :math:`\|\hat y - y\| \le \sqrt 3`. For small
    errors it is half the squared error.

    >>> PseudoHuber().each(torch.tensor([[0.0], [3.0]]), torch.tensor([[0.0], [3.0 - 3**0.5]])).tolist()
    [0.0, 1.0]

    Reference: Charbonnier et al. (1997), Deterministic edge-preserving regularization in computed imaging.
    """

    def each(self, out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """√(1 + ‖ŷ − y‖²) − 1 for each point, without loss of digits where the error is small."""
        squared = ((out - y.reshape(out.shape)) ** 2).sum(-1)
        # √(1 + s) − 1 loses all digits for small s.
        return squared / ((1 + squared).sqrt() + 1)

    def report(self, out: torch.Tensor, y: torch.Tensor) -> dict[str, float]:
        return {"loss": self.each(out.double(), y.double()).mean().item()}


@dataclass(frozen=True)
class Scaled(Loss):
    r"""A multiple of a loss, such as half the squared error.

    .. math:: \ell'(y, \hat y) = c\,\ell(y, \hat y)

    Arguments:
        loss: ℓ.
        factor: c.

    >>> Scaled(Squared(), 0.5).each(torch.tensor([[3.0]]), torch.tensor([1.0])).item()
    2.0
    """

    loss: Loss
    factor: Annotated[float, positive]

    def each(self, out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.factor * self.loss.each(out, y)

    def report(self, out: torch.Tensor, y: torch.Tensor) -> dict[str, float]:
        """What the loss itself reports, with its multiple as ``loss``."""
        found = self.loss.report(out, y)
        return found | {"loss": self.factor * found["loss"]}


@dataclass(frozen=True)
class CrossEntropy(_OfClasses):
    r"""The cross-entropy, or logistic loss, of a binary classifier.

    .. math:: \ell(y, \hat y) = \log\bigl(1 + e^{-v y \hat y}\bigr), \qquad y \in \{-1, +1\}

    Arguments:
        scale: v, which multiplies the prediction.

    >>> round(CrossEntropy(2.0).each(torch.tensor([[0.5]]), torch.tensor([1.0])).item(), 4)
    0.3133

    Reference: Allen-Zhu & Li (bfc), §3.2.
    """

    scale: Annotated[float, positive] = 1.0

    def probabilities(self, out: torch.Tensor) -> torch.Tensor:
        """1 − σ(vŷ) and σ(vŷ)."""
        above = torch.sigmoid(self.scale * out.reshape(-1))
        return torch.stack([1 - above, above], 1)

    def each(self, out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return cross_entropy(out, y, self.scale)


@dataclass(frozen=True)
class Softmax(_OfClasses):
    r"""The cross-entropy of a classifier with an output for each class.

    .. math:: \ell(y, \hat y) = -\log \frac{e^{\hat y_c}}{\sum_j e^{\hat y_j}}, \qquad y = e_c

    >>> round(Softmax().each(torch.tensor([[0.0, 0.0, 0.0]]), torch.tensor([[0.0, 1.0, 0.0]])).item(), 4)
    1.0986
    """

    def probabilities(self, out: torch.Tensor) -> torch.Tensor:
        return out.softmax(-1)

    def each(self, out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return -(y * F.log_softmax(out, -1)).sum(-1)


@dataclass(frozen=True)
class ClassHinge(_OfClasses):
    r"""The hinge loss of a classifier with an output for each class.

    .. math:: \ell(y, \hat y) = \max\bigl(0, 1 + \max_{j \ne c} \hat y_j - \hat y_c\bigr), \qquad y = e_c

    >>> ClassHinge().each(torch.tensor([[0.5, 1.0, 0.0]]), torch.tensor([[0.0, 1.0, 0.0]])).item()
    0.5

    Reference: Crammer & Singer (2001), On the algorithmic implementation of multiclass kernel-based vector machines.
    """

    margins: ClassVar[bool] = True

    def each(self, out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        # −∞ keeps the right class out of the maximum; with zero it would win where all outputs are negative.
        others = torch.where(y == 1, -torch.inf, out).amax(-1)
        return torch.relu(1 + others - (y * out).sum(-1))


@dataclass(frozen=True)
class ClassWeighted(Loss):
    r"""A loss in which each class has a weight of its own.

    .. math:: \ell^\alpha(y, \hat y) = \alpha_y\, \ell(y, \hat y), \qquad y \in \{-1, +1\}

    Arguments:
        loss: ℓ.
        weights: α₋₁ and α₊₁.

    >>> out, y = torch.tensor([[0.5], [0.5]]), torch.tensor([-1.0, 1.0])
    >>> ClassWeighted(Hinge(), (2.0, 0.5)).each(out, y).tolist()
    [3.0, 0.25]

    Reference: Shi, Wei & Liang (features), App. F.1.1, eq. (295).
    """

    loss: Loss
    weights: Annotated[tuple[float, float], positive]

    def each(self, out: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        (below, above), losses = self.weights, self.loss.each(out, y)
        return torch.where(y.reshape(out.shape).squeeze(-1) > 0, above * losses, below * losses)

    def report(self, out: torch.Tensor, y: torch.Tensor) -> dict[str, float]:
        """What the loss itself reports, with the weighted mean as ``loss``."""
        return self.loss.report(out, y) | {"loss": self.each(out.double(), y.double()).mean().item()}


def cross_entropy(out: torch.Tensor, y: torch.Tensor, scale: torch.Tensor | float) -> torch.Tensor:
    """The same for a v that may be a tensor, (n,)."""
    return -F.logsigmoid(scale * y.reshape(out.shape).squeeze(-1) * out.squeeze(-1))
