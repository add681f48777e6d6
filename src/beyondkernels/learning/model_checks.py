"""A module tried on two points before it is trained: does it fit the data, and does it keep state?"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from beyondkernels.core.contracts import Problem
from beyondkernels.core.errors import InputError, require, warn
from beyondkernels.learning.token_ids import looks_up, points_with_largest, refusing_unknown_ids, wants_whole_numbers
from beyondkernels.networks.from_copy import ModelWarning

if TYPE_CHECKING:
    import torch

    from beyondkernels.algorithms import Algorithm
    from beyondkernels.data import GivenData
    from beyondkernels.data.named_inputs import NamedInput
    from beyondkernels.networks import Network


def fitting(module: torch.nn.Module, problem: Problem, name: str, output: str | int | None = None) -> Problem:
    """The problem with points and labels in the form that a module takes, which is tried on two points.

    Arguments:
        module: stays as it is, except where it cannot be copied: such a module was made by a function for the trial.
        problem: what it is to learn.
        name: what to call the module in error messages.
        output: which of several outputs is meant.
    """
    import torch

    from beyondkernels.data import GivenData
    from beyondkernels.networks.from_copy import require_numbers

    require_numbers(module, name)
    half = [each for each, value in module.named_parameters() if value.dtype == torch.float16]
    require(
        not half,
        f"{name} must hold numbers of single or double precision, got float16 in {half[:1]}: gradients of that "
        f"precision vanish without a scaler; {name}.float() would do",
    )
    problem, x = _accepted(module, problem, name)
    tried = _copied(module).eval()
    call = _Call(problem.inputs if isinstance(problem, GivenData) else (), output, name)
    try:
        out, again, other = (_seeded(tried, x, seed, call) for seed in (0, 0, 1))
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # a module is a user's code
        raise InputError(
            f"{name} {type(module).__name__} must give outputs each time it is called, got {_why(error)} at a later "
            "call with the same points"
        ) from error
    require(
        out.ndim in (1, 2) and len(out) == 2,
        f"{name} must give a row of outputs for each point, got {_form(out)} for 2 points",
    )
    strange = "numbers on the device meta" if out.is_meta else f"{out.dtype}" if out.is_complex() else ""
    require(not strange, f"{name} must give real numbers, got {strange}")
    _require_no_state(module, torch.equal(out, again), x, call)
    require(
        torch.equal(out, other),
        f"{name} draws random numbers in evaluation mode, so it gives other outputs for the same points; nn.Dropout or "
        "torch.nn.functional.dropout(x, p, training=self.training) draws while it trains alone",
    )
    outputs = 1 if out.ndim == 1 else out.shape[1]
    if isinstance(problem, GivenData) and len(problem.classes) == 2 and outputs == 2:
        problem = replace(problem, one_hot=True)
    _require_outputs(outputs, problem, name)
    return problem


def require_batch(network: Network, rule: Algorithm, problem: Problem, n: int, name: str) -> None:
    """Refuse to train a module on single points if it cannot, as with batch normalisation.

    Arguments:
        network: what is trained; a module in it is tried on one point.
        rule: says how many points are in a step.
        problem: what it is to learn.
        n: how many points it learns from.
        name: what to call the module in error messages.
    """
    from beyondkernels.core.points import shape_of
    from beyondkernels.core.streams import Stream
    from beyondkernels.data import GivenData
    from beyondkernels.networks import FromCopy, FromModule

    size = n if (batch := getattr(rule, "batch", None)) is None else batch
    if size != 1 or not isinstance(network, FromCopy | FromModule):
        return
    module = network.fresh(shape_of(problem.in_shape), problem.out_dim, Stream(0))
    x = _on(module, problem.take("train", 1, 0).x)
    try:
        inputs = problem.inputs if isinstance(problem, GivenData) else ()
        _seeded(module.train(), x, 0, _Call(inputs, network.output, name))
    except Exception as error:  # a module is a user's code
        raise InputError(f"{name} cannot train on one point in a step ({error}); batch=2 or more would do") from None


def _copied(module: torch.nn.Module) -> torch.nn.Module:
    """A copy of a module, or the module itself where it was made by a function because it cannot be copied."""
    try:
        return copy.deepcopy(module)
    except Exception:  # a module is a user's code
        return module


@dataclass(frozen=True)
class _Call:
    """How a module is called: with which named arrays, for which of its outputs, under which name."""

    inputs: tuple[NamedInput, ...]
    output: str | int | None
    name: str

    def __call__(self, module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        from beyondkernels.networks.functional_call import called

        return called(module, x, self.inputs, self.output, self.name)

    def take(self, module: torch.nn.Module, x: torch.Tensor) -> None:
        """Call it, whatever it gives."""
        from beyondkernels.networks.functional_call import raw

        raw(module, x, self.inputs)


def _why(error: BaseException) -> str:
    """What was raised, in one line."""
    text = " ".join(str(error).split())
    return f"sys.exit({text})" if isinstance(error, SystemExit) else f"{type(error).__name__}: {text}".rstrip(": ")


def _seeded(module: torch.nn.Module, x: torch.Tensor, seed: int, call: _Call) -> torch.Tensor:
    """The outputs of a module, with what it draws from one seed."""
    import torch

    from beyondkernels.core.streams import seeded_by

    with torch.no_grad(), seeded_by(seed, everywhere=x.device.type != "cpu"):
        return call(module, x)


def _on(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Points where a module is, and in its precision."""
    import torch

    weight = next(module.parameters(), torch.empty(0))
    return x.to(weight.device, weight.dtype if x.is_floating_point() and weight.is_floating_point() else x.dtype)


def _accepted(module: torch.nn.Module, problem: Problem, name: str) -> tuple[Problem, torch.Tensor]:
    """The problem and two of its points, which are whole numbers if the module takes nothing else."""
    import torch

    from beyondkernels.data import GivenData

    errors: list[Exception] = []
    whole = isinstance(problem, GivenData) and problem.whole
    inputs = problem.inputs if isinstance(problem, GivenData) else ()
    forms = (problem.tokens,) if isinstance(problem, GivenData) and inputs else (False, True) if whole else (False,)
    call = _Call(inputs, None, name)
    for tokens in forms:
        points = replace(problem, tokens=tokens) if isinstance(problem, GivenData) else problem
        x = _on(module, points.take("train", 2, 0).x)
        tried = _copied(module).eval()
        try:
            with torch.no_grad(), refusing_unknown_ids(tried, name):
                call.take(tried, x)
                if isinstance(points, GivenData) and looks_up(module):
                    call.take(tried, _on(module, points_with_largest(points)))
        except InputError:
            raise
        except SystemExit as error:
            raise InputError(f"{name} {type(module).__name__} ends the process in its forward: {_why(error)}") from None
        except Exception as error:  # a module is a user's code
            errors.append(error)
        else:
            return points, x
    why = errors[-1] if wants_whole_numbers(errors[0]) else errors[0]
    raise InputError(
        f"{name} {type(module).__name__} cannot take points of the shape {problem.in_shape}: {why}"
    ) from None


def _require_outputs(outputs: int, problem: Problem, name: str) -> None:
    from beyondkernels.data import GivenData

    if outputs == problem.out_dim:
        return
    classes = len(problem.classes) if isinstance(problem, GivenData) else 0
    plural = "" if problem.out_dim == 1 else "s"
    wanted = f"an output for each of {classes} classes" if classes else f"{problem.out_dim} output{plural}"
    found = f"{name} must have {wanted}{', or one' if classes == 2 else ''}, got {outputs}"
    if isinstance(problem, GivenData) and outputs == 1 and classes and not problem.words:
        found += "; classify=False makes numbers to predict of the labels"
    if not classes and isinstance(problem, GivenData):
        found += "; the labels are taken for numbers to predict" + _few_values(problem)
    raise InputError(found)


def _few_values(problem: GivenData) -> str:
    import numpy as np

    y = problem.arrays["train_y"]
    few = y.ndim == 1 and bool((y == np.round(y)).all()) and len(np.unique(y)) < len(y) / 2
    return f", and classify=True makes {len(np.unique(y))} classes of them" if few else ""


def _require_no_state(module: torch.nn.Module, same: bool, x: torch.Tensor, call: _Call) -> None:
    """Refuse a module whose outputs depend on earlier calls, and warn of one that changes attributes of its own."""
    name = call.name
    sentence = (
        f"{name} gives other outputs for the same points when it is called again, so it keeps state between calls"
    )
    require(same, sentence)
    tried = _copied(module).train()
    before = _attributes(tried)
    buffers = {each: value.clone() for each, value in module.named_buffers()}
    first, second = (_training_pass(tried, buffers, x, call) for _ in range(2))
    if first is None or second is None:
        return  # a module may refuse two points while it trains; the training will say so
    _require_derivative(tried, first, name)
    require(first.equal(second), f"{sentence} while it trains; buffers are the place for such state")
    changed = [each for each, value in _attributes(tried).items() if before.get(each) != value]
    if changed:
        warn(
            f"{name} changes {', '.join(changed[:3])} when it is called. That state is shared by all runs, and it is "
            "not in what a store keeps; buffers are the place for it",
            ModelWarning,
        )


def _require_derivative(module: torch.nn.Module, out: torch.Tensor, name: str) -> None:
    free = any(value.requires_grad for value in module.parameters())
    require(
        out.requires_grad or not free,
        f"{name} must give outputs that can be differentiated in its parameters while it trains, got some that do not "
        "depend on them; a forward without torch.no_grad(), .detach() and .data on its way would do",
    )


def _training_pass(
    tried: torch.nn.Module, buffers: Mapping[str, torch.Tensor], x: torch.Tensor, call: _Call
) -> torch.Tensor | None:
    """The outputs of a training pass that starts from some buffers and from one seed."""
    import torch

    from beyondkernels.core.streams import seeded_by

    with seeded_by(0, everywhere=x.device.type != "cpu"):
        with torch.no_grad():
            for name, value in tried.named_buffers():
                value.copy_(buffers[name])
        try:
            with torch.enable_grad():
                return call(tried, x)
        except InputError as error:
            raise InputError(f"{error} (while it trains)") from None
        except SystemExit as error:
            raise InputError(f"{call.name} ends the process in its forward while it trains: {_why(error)}") from None
        except Exception:  # a module is a user's code
            return None


def _attributes(module: torch.nn.Module) -> dict[str, Any]:
    """Numbers and lengths among the attributes of a module and its parts, by name."""
    found: dict[str, Any] = {}
    for prefix, part in module.named_modules():
        for name, value in vars(part).items():
            full = f"{prefix}.{name}" if prefix else name
            if isinstance(value, bool | int | float | str):
                found[full] = value
            elif isinstance(value, list | dict | set | tuple) and not name.startswith("_"):
                found[full] = len(value)
    return found


def _form(out: object) -> str:
    import torch

    return f"the shape {tuple(out.shape)}" if isinstance(out, torch.Tensor) else f"a {type(out).__name__}"
