"""From what people have to what runs are made of: data become problems, models become learners."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from beyondkernels.core.contracts import Learner, Problem
from beyondkernels.core.errors import InputError, require, require_between, require_whole, shown

if TYPE_CHECKING:
    from beyondkernels.algorithms import Algorithm, Descent, Recipe
    from beyondkernels.networks import FromModule, Network

_READING = ("target", "classify", "split_seed")
"""The arguments that say how to read data."""

TEST_POINTS = 10_000
"""The size of the test sample of a distribution, unless it is said."""


@dataclass(frozen=True)
class SizedProblem:
    """A problem, and how many points of it are for what."""

    problem: Problem
    samples: int
    test: int
    validation: int


def sized_problem(data: Any, n: int | None, test: Any, validation: float, options: Mapping[str, Any]) -> SizedProblem:
    """The problem that data stand for, and the sizes of its samples.

    Arguments:
        data: a problem, or data in any form that :func:`bk.data.given` takes.
        n: the size of the training sample; of a finite data set all of it unless given.
        test: for a problem the size of the test sample; for data its test points, or a fraction of the data.
        validation: for a problem the size of the validation sample; for data a fraction of the training points.
        options: further arguments of ``given``.
    """
    from beyondkernels.data import GivenData, given
    from beyondkernels.data.readers import FORMS

    if isinstance(data, Problem) and not isinstance(data, GivenData):
        require(n is not None, "n must be given with a problem: how many points to learn from")
        require(not options, f"{', '.join(options)} can be given with data, got the problem {type(data).__name__}")
        assert n is not None
        size = TEST_POINTS if test is None else test
        require_whole("n", n)
        require_whole("test", size, 0)
        require_whole("validation", validation, 0)
        return SizedProblem(data, n, size, int(validation))
    require(
        data is not None and not isinstance(data, type | str),
        f"problem must be a Problem, or data as {FORMS}, got {shown(data)}",
    )
    if isinstance(test, float):
        require_between("test", test, 0, 1, "()")
        options, test = {**options, "test_fraction": test}, None
    require(
        not isinstance(test, int), f"test must be test points or a fraction of a finite data set, got {shown(test)}"
    )
    problem = given(data, test=test, validation=validation, **options)
    samples = problem.size("train") if n is None else n
    require_whole("n", samples)
    require(
        samples <= problem.size("train"),
        f"n must be at most {problem.size('train')}, the training points there are, got {samples}",
    )
    return SizedProblem(problem, samples, problem.size("test"), problem.size("validation"))


def sorted_options(
    options: Mapping[str, Any], algorithm: Algorithm | None
) -> tuple[dict[str, Any], Recipe, dict[str, Any]]:
    """Options for reading data, for training and for recording."""
    from beyondkernels.algorithms import Recipe
    from beyondkernels.algorithms.torch_words import unknown_argument, without_aliases
    from beyondkernels.engine import TrainedNetwork

    options = without_aliases(options)
    training = [each.name for each in fields(Recipe)]
    recorded = [each.name for each in fields(TrainedNetwork) if each.name not in ("network", "algorithm")]
    for name in options:
        if name not in (*_READING, *training, *recorded):
            unknown_argument(name, [*_READING, *training, *recorded, "n", "seed", "test", "validation"])
    asked_for = {name: options[name] for name in training if name in options}
    require(
        algorithm is None or not asked_for,
        f"{', '.join(asked_for)} can be given in place of an algorithm, got both",
    )
    reading = {name: options[name] for name in _READING if name in options}
    return reading, Recipe(**asked_for), {name: options[name] for name in recorded if name in options}


def learner_of(
    model: Any,
    sized: SizedProblem,
    algorithm: Algorithm | None,
    recipe: Recipe,
    recording: Mapping[str, Any],
    name: str = "model",
) -> tuple[Learner, Problem]:
    """What learns, and the problem with labels as its model wants them.

    Arguments:
        model: a learner, a network, a module or a named function that makes one, a kernel, or an estimator of
            scikit-learn.
        sized: what it learns.
        algorithm: how a network is trained.
        recipe: the same in words, where there is no algorithm.
        recording: further fields of :class:`TrainedNetwork`.
        name: what to call the model in error messages.
    """
    import torch

    from beyondkernels.data import GivenData
    from beyondkernels.engine import FromEstimator, TrainedNetwork
    from beyondkernels.kernels import Kernel, KernelRidge
    from beyondkernels.learning.curves import recording as default_recording
    from beyondkernels.learning.model_checks import require_batch
    from beyondkernels.networks import Network

    problem = sized.problem
    if isinstance(model, type):
        raise InputError(f"{name} must be an instance, got the class {model.__name__}: {model.__name__}(…) makes one")
    if isinstance(model, Network | torch.nn.Module) or is_function(model):
        model, problem = network_of(model, problem, name)
        rule = algorithm if algorithm is not None else rule_of(recipe, model, problem, sized.samples)
        require_batch(model, rule, problem, sized.samples, name)
        if isinstance(problem, GivenData) and "record_at" not in recording:
            samples = sum(1 for size in (sized.samples, sized.test, sized.validation) if size)
            recording = default_recording(rule, sized.samples, samples) | dict(recording)
        return TrainedNetwork(model, rule, **recording), problem
    given = [each for each in ("algorithm", *recording) if each != "algorithm" or algorithm is not None]
    require(not given, f"{type(model).__name__} knows how to learn; {', '.join(given)} can be given with a network")
    if isinstance(model, Kernel):
        found = isinstance(problem, GivenData)  # labels may be far from zero, and points may come more than once
        return KernelRidge(model, centred=found, grouped=found), problem
    if isinstance(model, Learner):
        return model, problem
    if is_estimator(model):
        return FromEstimator.of(model), problem
    raise InputError(f"{_MODELS.format(name)}, got a {type(model).__name__}")


_MODELS = "{} must be a torch.nn.Module, a network, a kernel, a learner or an estimator of scikit-learn"
_MAKERS = "give a torch.nn.Module, or a function def make(in_dim, out_dim) that returns one"


def is_estimator(model: Any) -> bool:
    """Whether a model has the methods of an estimator of scikit-learn."""
    return all(hasattr(type(model), method) for method in ("fit", "predict", "get_params"))


def takes_tables(models: Iterable[Any], data: Any) -> dict[str, bool]:
    """The argument of ``given`` for tables with words, dates and missing values, which estimators may take.

    Arguments:
        models: all that learn from the data.
        data: as they were given.
    """
    return {} if isinstance(data, Problem) or not all(map(is_estimator, models)) else {"tables": True}


def is_function(model: Any) -> bool:
    """Whether a model is a function, which should make a module."""
    return inspect.isroutine(model) or isinstance(model, functools.partial)


def made_by(function: Any, name: str = "model") -> FromModule:
    """The network around what a function of (in_dim, out_dim) makes.

    Arguments:
        function: has a name, by which other processes find it.
        name: what to call the model in error messages.
    """
    from beyondkernels.networks import FromModule

    called = getattr(function, "__name__", None) or f"a {type(function).__name__}"
    require(
        inspect.isfunction(function) and called != "<lambda>",
        f"{name} must be a module or a function with a name, got {called}; {_MAKERS}",
    )
    try:
        inspect.signature(function).bind(1, 1)
    except TypeError as error:
        raise InputError(
            f"{name} must be a function of (in_dim, out_dim), got {called}, which cannot be called so: {error}"
        ) from None
    return FromModule(function, called)


def require_order(model: Any, data: Any, n: Any, call: str = "bk.fit(model, (X, y))") -> None:
    """Ask for a model, then data, then a number: what newcomers type in another order or without a pair.

    Arguments:
        model: what stands where the model belongs; None where no model is asked for.
        data: what stands where the data belong.
        n: what stands where the number of points belongs.
        call: how the call would be right.
    """
    arrays = _is_array(model) or hasattr(model, "iloc") or isinstance(model, tuple | list)
    require(not arrays, f"{_MODELS.format('model')}, got {_form(model)}: {call}")
    require(
        n is None or not (hasattr(n, "__len__") and not isinstance(n, str)),
        f"n must be a whole number, got {_form(n)}; points and labels are one argument: {call}",
    )
    require(not _is_array(data), f"data must hold points with labels, got {_form(data)} alone: {call}")


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _form(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return f"a {type(value).__name__}" + ("" if shape is None else f" of the shape {tuple(shape)}")


def rule_of(recipe: Recipe, network: Network, problem: Problem, n: int) -> Descent:
    """The training rule of a network on n points.

    Arguments:
        recipe: the rule in words.
        network: what is trained; its parameters may decay differently.
        problem: what it learns.
        n: how many points it learns from.
    """
    from beyondkernels.core.points import shape_of

    weights = network.weights(shape_of(problem.in_shape), problem.out_dim) if recipe.grouped else None
    return recipe.rule(problem, n, weights)


def network_of(model: Any, problem: Problem, name: str = "network") -> tuple[Network, Problem]:
    """A network, and the problem with labels of as many outputs as it has.

    Arguments:
        model: a network, a module, which is copied, or a function that makes one. A module, also one in a network, is
            tried on two points.
        problem: what it is to learn.
        name: what to call the model in error messages.
    """
    import torch

    from beyondkernels.core.points import shape_of
    from beyondkernels.core.streams import Stream
    from beyondkernels.learning.model_checks import fitting
    from beyondkernels.networks import FromCopy, FromModule, Network

    network = made_by(model, name) if is_function(model) else model
    network = FromCopy.of(network) if isinstance(network, torch.nn.Module) else network
    if isinstance(network, FromCopy):
        problem = fitting(network.module, problem, name, network.output)
        return _with_inputs(network, problem), problem
    if isinstance(network, FromModule):
        made = network.fresh(shape_of(problem.in_shape), problem.out_dim, Stream(0))
        require(
            isinstance(made, torch.nn.Module),
            f"{name} must make a torch.nn.Module, got {shown(made)} from {network.name}",
        )
        problem = fitting(made, problem, name, network.output)
        return _with_inputs(network, problem), problem
    require(isinstance(network, Network), f"{name} must be a Network or a torch.nn.Module, got {shown(model)}")
    return network, problem


def _with_inputs(network: Any, problem: Problem) -> Network:
    """A network that is given the named arrays of the points."""
    from beyondkernels.data import GivenData

    inputs = problem.inputs if isinstance(problem, GivenData) else ()
    return dataclasses.replace(network, inputs=inputs) if inputs else network
