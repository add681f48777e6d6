"""Parameters of a module drawn anew: by the methods of its parts, by its own rule, or like the numbers that it has."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from beyondkernels.core import Stream, seeded_globally

RESET = ("reset_parameters", "_reset_parameters")
"""The methods by which PyTorch's layers draw their parameters anew."""

_MARK = 49 / 128
"""A number that no draw leaves in every place of a parameter, and that every precision holds exactly."""


def draw(module: torch.nn.Module) -> None:
    """Draw all parameters anew, those of inner parts first; then by the rules that a model has for its parts."""
    for part in _inner_first(module, set()):
        if (reset := reset_of(part)) is not None:
            reset()
    for part in _inner_first(module, set()):
        if (rule := rule_for_parts(part)) is not None:
            for inner in part.modules():
                rule(inner)


def drawn_from_marks(module: torch.nn.Module) -> torch.nn.Module:
    """A copy with a mark in every parameter that was then drawn anew."""
    tried = copy.deepcopy(module)
    with seeded_globally(Stream(0)), torch.no_grad():
        for value in tried.parameters():
            value.fill_(_MARK)
        draw(tried)
    return tried


def undrawn(drawn: torch.nn.Module) -> tuple[str, ...]:
    """The free parameters of a module that still have the mark in every place."""
    free = {name: value for name, value in drawn.named_parameters() if value.requires_grad and value.numel()}
    return tuple(name for name, value in free.items() if bool((value == _MARK).all()))


def draw_bare(module: torch.nn.Module, given: torch.nn.Module, names: Sequence[str]) -> None:
    """Draw parameters that no part draws: by the model's ``init_weights()``, else as normal numbers like those given.

    Arguments:
        module: is changed.
        given: the module as it was given.
        names: the parameters.
    """
    if not names:
        return
    drawn, own = dict(module.named_parameters()), dict(given.named_parameters())
    with_rule = [part for part in _inner_first(module, set()) if draws_all(part)]
    if with_rule:
        for name in names:
            drawn[name].fill_(_MARK)
        for part in with_rule:
            part.init_weights()  # pyright: ignore[reportCallIssue]
        names = undrawn(module)
    for name in names:
        mean, spread = moments(own[name])
        drawn[name].copy_(mean + spread * torch.randn(own[name].shape))


def reset_of(part: torch.nn.Module) -> Any:
    """The method by which a part draws its parameters; None if it has none."""
    return next((getattr(part, name) for name in RESET if callable(getattr(part, name, None))), None)


def rule_for_parts(part: torch.nn.Module) -> Any:
    """The method ``_init_weights(module)`` by which models of Hugging Face and others draw each part."""
    rule = getattr(part, "_init_weights", None)
    if not callable(rule):
        return None
    try:
        required = [each for each in inspect.signature(rule).parameters.values() if each.default is each.empty]
    except (TypeError, ValueError):
        return None
    return rule if len(required) == 1 and required[0].kind is not required[0].VAR_KEYWORD else None


def draws_all(part: torch.nn.Module) -> bool:
    """Whether a part has a method ``init_weights`` that needs no argument, as models of timm have."""
    rule = getattr(part, "init_weights", None)
    try:
        inspect.signature(rule).bind()  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        return False
    return True


def is_bare(module: torch.nn.Module, name: str) -> bool:
    """Whether a parameter belongs to a part that draws none, neither by a method nor by a parametrisation."""
    part = module.get_submodule(name.rpartition(".")[0])
    return reset_of(part) is None and not isinstance(part, torch.nn.utils.parametrize.ParametrizationList)


def moments(value: torch.Tensor) -> tuple[float, float]:
    """The mean and the standard deviation of numbers, to a digit, such that two draws of one rule have the same ones.

    >>> moments(torch.ones(3)), moments(torch.tensor([-0.021, 0.019, 0.02, -0.02]))
    ((1.0, 0.0), (0.0, 0.02))
    """
    numbers = value.detach().double()
    if is_constant(value) or value.numel() == 1:
        return float(numbers.flatten()[0]), 0.0
    mean, spread = float(numbers.mean()), float(numbers.std(correction=0))
    near_zero = abs(mean) < 4 * spread / value.numel() ** 0.5
    return 0.0 if near_zero else float(f"{mean:.0e}"), float(f"{spread:.0e}")


def is_constant(value: torch.Tensor) -> bool:
    """Whether several numbers are all the same."""
    return value.numel() > 1 and bool((value == value.flatten()[0]).all())


def _inner_first(module: torch.nn.Module, seen: set[int]) -> Iterator[torch.nn.Module]:
    """Every part of a module once, after the parts that it holds."""
    if id(module) not in seen:
        seen.add(id(module))
        for child in module.children():
            yield from _inner_first(child, seen)
        yield module
