"""From what people have to what runs are made of: data become problems, models become learners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from beyondkernels.core.contracts import Learner, Problem
from beyondkernels.core.errors import InputError, require, require_whole, shown

if TYPE_CHECKING:
    import torch

    from beyondkernels.algorithms import Algorithm, Descent, Recipe
    from beyondkernels.networks import Network

_READING = ("target", "classify", "split_seed")
"""The arguments that say how to read data."""

TEST_POINTS = 10_000
"""The size of the test sample of a distribution, unless it is said."""


@dataclass(frozen=True)
class Asked:
    """A problem, and how many points of it are for what."""

    problem: Problem
    samples: int
    test: int
    validation: int


def asked(data: Any, n: int | None, test: Any, validation: float, options: Mapping[str, Any]) -> Asked:
    """The problem that data stand for, and the sizes of its samples.

    Arguments:
        data: a problem, or data in any form that :func:`~beyondkernels.problems.given` takes.
        n: the size of the training sample; of a finite data set all of it unless given.
        test: for a problem the size of the test sample; for data its test points, or a fraction of the data.
        validation: for a problem the size of the validation sample; for data a fraction of the training points.
        options: further arguments of ``given``.
    """
    from beyondkernels.problems import GivenData, given
    from beyondkernels.problems.data.reading import FORMS

    if isinstance(data, Problem) and not isinstance(data, GivenData):
        require(n is not None, "n must be given with a problem: how many points to learn from")
        require(not options, f"{', '.join(options)} can be given with data, got the problem {type(data).__name__}")
        assert n is not None
        size = TEST_POINTS if test is None else test
        require_whole("n", n)
        require_whole("test", size, 0)
        require_whole("validation", validation, 0)
        return Asked(data, n, size, int(validation))
    require(
        data is not None and not isinstance(data, type | str),
        f"problem must be a Problem, or data as {FORMS}, got {shown(data)}",
    )
    if isinstance(test, float):
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
    return Asked(problem, samples, problem.size("test"), problem.size("validation"))


def sorted_options(
    options: Mapping[str, Any], algorithm: Algorithm | None
) -> tuple[dict[str, Any], Recipe, dict[str, Any]]:
    """Options for reading data, for training and for recording."""
    from beyondkernels.algorithms import Recipe
    from beyondkernels.algorithms.torch_words import unknown_argument
    from beyondkernels.engine import TrainedNetwork

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
    ask: Asked,
    algorithm: Algorithm | None,
    recipe: Recipe,
    recording: Mapping[str, Any],
    name: str = "model",
) -> tuple[Learner, Problem]:
    """What learns, and the problem with labels as its model wants them.

    Arguments:
        model: a learner, a network, a module, a kernel, or an estimator of scikit-learn.
        ask: what it learns.
        algorithm: how a network is trained.
        recipe: the same in words, where there is no algorithm.
        recording: further fields of :class:`TrainedNetwork`.
        name: what to call the model in error messages.
    """
    import torch

    from beyondkernels.engine import FromEstimator, TrainedNetwork
    from beyondkernels.kernels import Kernel, KernelRidge
    from beyondkernels.networks import Network
    from beyondkernels.problems import GivenData
    from beyondkernels.runs.curves import recording as default_recording

    problem = ask.problem
    if isinstance(model, Network | torch.nn.Module):
        model, problem = network_of(model, problem, name)
        rule = algorithm if algorithm is not None else rule_of(recipe, model, problem, ask.samples)
        if isinstance(problem, GivenData) and "record_at" not in recording:
            samples = sum(1 for size in (ask.samples, ask.test, ask.validation) if size)
            recording = default_recording(rule, ask.samples, samples) | dict(recording)
        return TrainedNetwork(model, rule, **recording), problem
    given = [each for each in ("algorithm", *recording) if each != "algorithm" or algorithm is not None]
    require(not given, f"{type(model).__name__} knows how to learn; {', '.join(given)} can be given with a network")
    if isinstance(model, Kernel):
        return KernelRidge(model), problem
    if isinstance(model, Learner):
        return model, problem
    if hasattr(model, "fit") and hasattr(model, "predict") and hasattr(model, "get_params"):
        return FromEstimator.of(model), problem
    raise InputError(
        f"{name} must be a torch.nn.Module, a network, a kernel, a learner or an estimator of scikit-learn, got a "
        f"{type(model).__name__}"
    )


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
        model: a network, or a module, which is copied.
        problem: what it is to learn.
        name: what to call the model in error messages.
    """
    import torch

    from beyondkernels.networks import FromCopy, Network

    if isinstance(model, torch.nn.Module):
        network = FromCopy.of(model)
        return network, fitting(network.module, problem, name)
    require(isinstance(model, Network), f"{name} must be a Network or a torch.nn.Module, got {shown(model)}")
    return model, problem


def fitting(module: torch.nn.Module, problem: Problem, name: str) -> Problem:
    """The problem with labels of as many outputs as a module has, which is tried on two points.

    Arguments:
        module: stays as it is.
        problem: what it is to learn.
        name: what to call the module in error messages.
    """
    import copy

    import torch

    from beyondkernels.problems import GivenData

    x = problem.take("train", 2, 0).x
    tried = copy.deepcopy(module).eval()
    weight = next(tried.parameters(), torch.empty(0))
    x = x.to(weight.device, weight.dtype) if weight.is_floating_point() else x
    with torch.no_grad():
        try:
            out, again = tried(x), tried(x)
        except Exception as error:
            whole = any(isinstance(part, torch.nn.Embedding | torch.nn.EmbeddingBag) for part in tried.modules())
            advice = "; points come in single precision, so an embedding needs x.long()" if whole else ""
            raise InputError(
                f"{name} {type(module).__name__} cannot take points of the shape {tuple(x.shape[1:])}: {error}{advice}"
            ) from None
    require(
        isinstance(out, torch.Tensor) and out.ndim in (1, 2) and len(out) == 2,
        f"{name} must give a row of outputs for each point, got {_form(out)} for 2 points",
    )
    require(
        torch.equal(out, again),
        f"{name} gives other outputs for the same points when it is called again, so it keeps state between calls",
    )
    outputs = 1 if out.ndim == 1 else out.shape[1]
    if isinstance(problem, GivenData) and len(problem.classes) == 2 and outputs == 2:
        problem = replace(problem, one_hot=True)
    classes = len(problem.classes) if isinstance(problem, GivenData) else 0
    wanted = f"an output for each of {classes} classes" if classes else f"{problem.out_dim} outputs for these labels"
    require(outputs == problem.out_dim, f"{name} must have {wanted}{', or one' if classes == 2 else ''}, got {outputs}")
    return problem


def _form(out: object) -> str:
    import torch

    return f"the shape {tuple(out.shape)}" if isinstance(out, torch.Tensor) else f"a {type(out).__name__}"
