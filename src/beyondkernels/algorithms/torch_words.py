"""What newcomers type from the habits of other libraries, and what it is called here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from beyondkernels.core import InputError, require, shown, unknown

ARGUMENTS = {
    "rate": "learning_rate",
    "optimizer": "optimiser",
    "optim": "optimiser",
    "batch_size": "batch",
    "criterion": "loss",
    "loss_fn": "loss",
    "objective": "loss",
    "scheduler": "schedule",
    "lr_scheduler": "schedule",
    "num_epochs": "epochs",
    "n_epochs": "epochs",
    "max_epochs": "epochs",
    "n_steps": "steps",
    "max_steps": "steps",
    "wd": "weight_decay",
    "l2": "weight_decay",
    "random_state": "seed",
    "test_size": "test",
    "validation_split": "validation",
    "verbose": "progress",
}
"""Arguments of other libraries, with ours."""

ALIASES = {"lr": "learning_rate"}
"""Short words of PyTorch that are taken as they are."""

LOSSES = {
    "mse": "squared",
    "l2": "squared",
    "mean_squared_error": "squared",
    "ce": "cross_entropy",
    "crossentropy": "cross_entropy",
    "nll": "cross_entropy",
    "log_loss": "cross_entropy",
    "softmax": "cross_entropy",
    "bce": "cross_entropy",
    "bcewithlogits": "cross_entropy",
    "softmargin": "logistic",
    "multimargin": "hinge",
    "hingeembedding": "hinge",
}
"""Losses of other libraries, without ``Loss`` at the end, with ours."""


def unknown_argument(name: str, known: Iterable[str]) -> NoReturn:
    """Raise an :class:`InputError` that offers our name for an argument.

    Arguments:
        name: as it was given.
        known: the names there are.

    >>> unknown_argument("batch_size", ["batch"])
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: unknown argument 'batch_size'; here it is called batch
    """
    if name in ARGUMENTS:
        raise InputError(f"unknown argument {name!r}; here it is called {ARGUMENTS[name]}")
    unknown("argument", name, known)


def without_aliases(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same arguments under the names we have for them.

    Arguments:
        given: by name.

    >>> without_aliases({"lr": 0.1, "epochs": 3})
    {'learning_rate': 0.1, 'epochs': 3}
    """
    for short, long in ALIASES.items():
        require(not {short, long} <= given.keys(), f"{short} and {long} are one argument, got both")
    return {ALIASES.get(name, name): value for name, value in given.items()}


def require_our_loss(loss: Any, known: Iterable[str]) -> None:
    """Ask for the name of a loss, and offer ours for a loss of PyTorch and for names of other libraries.

    Arguments:
        loss: as it was given.
        known: the names there are.

    >>> require_our_loss("mse", ["squared"])
    Traceback (most recent call last):
        ...
    beyondkernels.core.errors.InputError: loss must be one of squared, got 'mse'; 'squared' would do
    """
    names = list(known)
    if isinstance(loss, str) and loss in names:
        return
    word = loss if isinstance(loss, str) else _class_name(loss)
    plain = word.lower().removesuffix("_loss").removesuffix("loss")
    ours = LOSSES.get(plain, plain if plain in names else None)
    if ours is None and isinstance(loss, str):
        unknown("loss", loss, names)
    hint = "" if ours is None else f"; {ours!r} would do"
    if ours == "squared":
        hint += ", which adds up the squares of all outputs" if plain == "mse" and not isinstance(loss, str) else ""
    raise InputError(f"loss must be one of {', '.join(names)}, got {shown(loss)}{hint}")


def require_our_optimiser(optimiser: Any, known: Iterable[str]) -> None:
    """Ask for the name of an optimiser, and offer ours for one of PyTorch.

    Arguments:
        optimiser: as it was given.
        known: the names there are.
    """
    names = list(known)
    word = optimiser if isinstance(optimiser, str) else _class_name(optimiser)
    if isinstance(optimiser, str) and optimiser in names:
        return
    hint = f"; {word.lower()!r} with learning_rate=… would do" if word.lower() in names else ""
    if isinstance(optimiser, str) and not hint:
        unknown("optimiser", optimiser, names)
    raise InputError(
        f"optimiser must be one of {', '.join(names)}, or a chain of rules, got {shown(optimiser, 60)}{hint}"
    )


def _class_name(value: Any) -> str:
    """The name of a class, of a function, or of the class of something else."""
    return getattr(value, "__name__", None) or type(value).__name__
