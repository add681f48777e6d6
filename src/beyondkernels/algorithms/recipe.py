"""Training as people ask for it: a loss, an optimiser and a schedule by name, a number of epochs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from beyondkernels.algorithms.descent import Descent
from beyondkernels.algorithms.losses import ClassHinge, CrossEntropy, Hinge, Loss, Softmax, Squared
from beyondkernels.algorithms.optimisers import (
    Adam,
    Chain,
    Cosine,
    Decay,
    Drops,
    Momentum,
    Optimiser,
    Rate,
    Schedule,
    adam,
    chain,
)
from beyondkernels.algorithms.optimisers.rules import longest
from beyondkernels.algorithms.torch_words import require_our_loss, require_our_optimiser
from beyondkernels.core import Checked, Problem, require, shown, unknown
from beyondkernels.core.constraints import not_negative, positive
from beyondkernels.core.fields import check_value

LOSSES: Mapping[str, tuple[Callable[[], Loss], Callable[[], Loss]]] = {
    "squared": (Squared, Squared),
    "hinge": (Hinge, ClassHinge),
    "logistic": (CrossEntropy, Softmax),
    "cross_entropy": (CrossEntropy, Softmax),
}
"""Each loss by its name: for one output, whose labels are ±1 if they are classes, and for an output for each class."""

RATES = {"adam": 1e-3, "adamw": 1e-3, "sgd": 0.1}
"""The usual first rates of the optimisers."""

BATCH, EPOCHS, MOMENTUM = 64, 20, 0.9


def named_loss(name: str, out_dim: int, classes: bool) -> Loss:
    """The loss of a name.

    Arguments:
        name: one of ``LOSSES``.
        out_dim: how many numbers a prediction has.
        classes: whether labels are classes.

    >>> named_loss("cross_entropy", out_dim=10, classes=True)
    Softmax()
    """
    require_our_loss(name, LOSSES)
    require(
        classes or name == "squared",
        f"loss must be 'squared' for labels that are numbers, got {name!r}, which is for classes; classify=True makes "
        "classes of whole numbers",
    )
    return LOSSES[name][out_dim > 1]()


@dataclass(frozen=True)
class Recipe(Checked):
    """How to train a model.

    Arguments:
        loss: ``squared``, ``hinge``, ``logistic`` or ``cross_entropy``, or a loss; None is the cross entropy for
            classes and the squared error for numbers.
        optimiser: ``adam``, ``adamw`` or ``sgd``, or a chain of rules that ends with its rate.
        learning_rate: the first one; None is the optimiser's usual one.
        epochs: how often each point is used, on average: all batches have the same size, so the points that are left
            over at the end of an epoch wait for a later one.
        steps: how many steps are taken, in place of ``epochs``.
        batch: points in a step; None is 64, or all if there are fewer.
        schedule: ``constant``, ``cosine`` to zero, or ``step``: a tenth after half of the steps and after three
            quarters.
        weight_decay: of AdamW the decoupled decay, of the others L2 regularisation. A mapping such as
            ``{"0": 0.1, "2.weight": 0.01}`` gives the decay of each group of parameters by the beginning of their
            names, of which the longest counts. Parameters in no group have none.
        decay: which parameters decay: ``all``, or ``weights``, which leaves out biases and normalisation layers.
        momentum: of SGD; None is 0.9.

    >>> Recipe(learning_rate=0.01, epochs=2, batch=10).steps_on(100)
    20
    """

    loss: Any = None
    optimiser: Any = "adam"
    learning_rate: Annotated[float, positive] | None = None
    epochs: Annotated[float, positive] | None = None
    steps: Annotated[int, positive] | None = None
    batch: Annotated[int, positive] | None = None
    schedule: Literal["constant", "cosine", "step"] = "constant"
    weight_decay: Annotated[float, not_negative] | Mapping[str, float] = 0.0
    momentum: Annotated[float, not_negative] | None = None
    decay: Literal["all", "weights"] = "all"

    def __post_init__(self) -> None:
        if self.loss is not None and not isinstance(self.loss, Loss):
            require_our_loss(self.loss, LOSSES)
        if not isinstance(self.optimiser, Optimiser):
            require_our_optimiser(self.optimiser, RATES)
        if isinstance(self.weight_decay, Mapping):
            require(len(self.weight_decay) > 0, "weight_decay must be a number, or name at least one group, got {}")
            for name, value in self.weight_decay.items():
                check_value(f"weight_decay[{name!r}]", value, Annotated[float, not_negative])
        require(
            self.momentum is None or self.optimiser == "sgd",
            f"momentum belongs to the optimiser 'sgd', got {shown(self.momentum)} with {shown(self.optimiser, 60)}",
        )
        require(self.epochs is None or self.steps is None, "either epochs or steps can be given, got both")
        if not isinstance(self.optimiser, str):
            require(
                self.learning_rate is None
                and self.weight_decay == 0
                and self.schedule == "constant"
                and self.decay == "all",
                "learning_rate, weight_decay, decay and schedule belong to an optimiser given by its name, got a chain "
                "of rules, which has its own",
            )

    def batch_on(self, n: int) -> int:
        """Points in a step on a sample of n points."""
        return min(self.batch or BATCH, n)

    def steps_on(self, n: int) -> int:
        """How many steps are taken on a sample of n points, such that each is used ``epochs`` times on average.

        >>> Recipe(epochs=20, batch=64).steps_on(127)
        40
        """
        return self.steps or max(1, round((self.epochs or EPOCHS) * n / self.batch_on(n)))

    def loss_on(self, problem: Problem) -> Loss:
        """The loss that was chosen; without a choice, cross-entropy for classes and squared error for numbers."""
        classes = bool(getattr(problem, "classes", ()))
        if isinstance(self.loss, Loss):
            return self.loss
        if self.loss is None:
            return named_loss("cross_entropy" if classes else "squared", problem.out_dim, classes)
        return named_loss(str(self.loss), problem.out_dim, classes or not hasattr(problem, "classes"))

    @property
    def grouped(self) -> bool:
        """Whether parameters decay differently, so that :meth:`rule` has to know them."""
        return isinstance(self.weight_decay, Mapping) or (self.decay != "all" and self.weight_decay != 0)

    def rule(self, problem: Problem, n: int, weights: Mapping[str, bool] | None = None) -> Descent:
        """The training rule on n points of a problem.

        Arguments:
            problem: what is learnt.
            n: how many points.
            weights: the model's parameters, and whether each is a weight (:meth:`Network.weights`); asked for if they
                decay differently.
        """
        batch, steps = self.batch_on(n), self.steps_on(n)
        whole = None if batch == n else batch
        return Descent(steps, self._optimiser(steps, weights), whole, loss=self.loss_on(problem))

    def _optimiser(self, steps: int, weights: Mapping[str, bool] | None) -> Chain:
        if not isinstance(self.optimiser, str):
            return chain(self.optimiser)
        rate, decay = self._rate(self.optimiser, steps), self._decay(weights)
        if self.optimiser == "sgd":
            return chain(decay, Momentum(MOMENTUM if self.momentum is None else self.momentum), Rate(rate))
        if self.optimiser == "adamw":
            return chain(Adam(), decay, Rate(rate))
        return chain(decay, adam(rate)) if self.grouped or self.weight_decay else adam(rate)

    def _decay(self, weights: Mapping[str, bool] | None) -> Decay:
        """The rule that pulls parameters towards zero."""
        if not self.grouped:
            assert not isinstance(self.weight_decay, Mapping)
            return Decay(self.weight_decay)
        assert weights is not None, "parameters that decay differently have to be known"
        if not isinstance(self.weight_decay, Mapping):
            return Decay(self.weight_decay, tuple((name, 1.0) for name, is_weight in weights.items() if is_weight))
        parts = [name.split(".") for name in weights]
        known = dict.fromkeys(".".join(each[:size]) for each in parts for size in range(1, len(each) + 1))
        for name in self.weight_decay:
            if name not in known:
                unknown("group of parameters in weight_decay", name, known)
        given = {name: float(value) for name, value in self.weight_decay.items()}
        if self.decay == "all":
            return Decay(1.0, tuple(given.items()))
        return Decay(1.0, tuple((name, longest(given, name, 0.0)) for name, is_weight in weights.items() if is_weight))

    def _rate(self, name: str, steps: int) -> Schedule | float:
        first = self.learning_rate or RATES[name]
        if self.schedule == "cosine":
            return Cosine(first, steps)
        drops = (math.ceil(steps / 2), math.ceil(3 * steps / 4))
        return Drops(first, drops) if self.schedule == "step" else first
