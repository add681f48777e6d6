"""The Python front door: fit one model, compare several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from beyondkernels.core.contracts import Learner, Problem
from beyondkernels.core.errors import InputError, plain_number, require, require_whole, shown
from beyondkernels.execution.progress import Shown
from beyondkernels.learning.batch import run_specs
from beyondkernels.learning.comparison import Comparison
from beyondkernels.learning.run import Run
from beyondkernels.learning.user_input import (
    SizedProblem,
    is_function,
    learner_of,
    require_order,
    sized_problem,
    sorted_options,
    takes_tables,
)
from beyondkernels.store.device import PROCESSOR, device_name
from beyondkernels.store.spec import RunSpec

if TYPE_CHECKING:
    import torch

    from beyondkernels.algorithms import Algorithm, Recipe
    from beyondkernels.kernels import Kernel
    from beyondkernels.networks import Network


def fit(
    model: Learner | Network | Kernel | torch.nn.Module | Any,
    data: Problem | Any,
    n: int | None = None,
    *,
    algorithm: Algorithm | None = None,
    seed: int = 0,
    test: Any = None,
    validation: float = 0,
    store: str | Path | None = None,
    device: str | torch.device = PROCESSOR,
    progress: Shown = True,
    **options: Any,
) -> Run:
    """Train a model on data and test it.

    The model may be a ``torch.nn.Module``, a named function of (in_dim, out_dim) that makes one, a network of this
    package, a kernel (for :class:`KernelRidge`), a learner, or an estimator of scikit-learn. A module is copied, and
    the seed draws its parameters anew (:class:`FromCopy`).

    Data may be a :class:`Problem`, a distribution from which samples are drawn, or a finite set: ``(X, y)`` as arrays
    or tensors, ``((X, y), (X_test, y_test))``, a torch ``Dataset`` or ``DataLoader``, a DataFrame with
    ``target="column"``. A finite set is split once, whatever the seed (:func:`bk.data.given`).

    Arguments:
        model: what learns.
        data: what it learns from.
        n: the size of the training sample; of a finite set all training points unless given.
        algorithm: the training rule of a network, in place of the options of :class:`Recipe`.
        seed: everything random is a function of it, but for the split of a finite set.
        test: of a problem the size of the test sample, 10,000 unless given; of a finite set its test points, or the
            fraction that is put aside for them, a fifth unless given.
        validation: of a problem the size of the validation sample; of a finite set the fraction of the training points.
        store: where the run is kept, and read from if it is there; None keeps nothing.
        device: where a network trains; what computes on the processor alone stays there.
        progress: whether to show how far it is, or what to tell the fraction that is done.
        options: how to train a network (``loss``, ``optimiser``, ``learning_rate``, ``epochs``, … of :class:`Recipe`),
            how to read data (``target``, ``classify``, ``split_seed``), and what to record (``record_at``, … of
            :class:`TrainedNetwork`).

    >>> import beyondkernels as bk
    >>> problem = bk.features.DictionaryParity(dim=8, patterns=6, relevant=3)
    >>> rule = bk.algorithms.GradientDescent(steps=20, learning_rate=0.1)
    >>> run = bk.fit(bk.networks.TwoLayer(pairs=4), problem, n=100, algorithm=rule)
    >>> run.status, run.steps
    ('finished', 20.0)

    A module and arrays:

    >>> import torch
    >>> X = torch.linspace(-1, 1, 100).reshape(50, 2)
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> run = bk.fit(model, (X, ["low"] * 25 + ["high"] * 25), epochs=30, learning_rate=0.01)
    >>> run.predict(X[:1]).tolist(), type(run.module).__name__
    (['low'], 'Sequential')
    """
    require_order(model, data, n)
    reading, recipe, recording = sorted_options(options, algorithm)
    sized = sized_problem(data, n, test, validation, reading | takes_tables([model], data))
    (spec,) = _specs(model, sized, algorithm, recipe, recording, [seed], device_name(device), "model")
    (run,) = run_specs([spec], store=store, progress=progress)
    return run


def compare(
    data: Problem | Any,
    n: int | None = None,
    *,
    learners: Mapping[str, Any],
    seeds: int | Iterable[int] = 5,
    algorithm: Algorithm | None = None,
    test: Any = None,
    validation: float = 0,
    workers: int = 1,
    store: str | Path | None = None,
    device: str | torch.device = PROCESSOR,
    progress: Shown = True,
    **options: Any,
) -> Comparison:
    """Give several models the same samples, seed by seed; the spread is the standard deviation over seeds.

    Networks of one kind train together, whatever their seeds.

    Arguments:
        data: a problem, or a finite set in any form that :func:`fit` takes.
        n: the size of the training samples; of a finite set all training points unless given.
        learners: models by name, of any kind that :func:`fit` takes; a kernel stands for ridge regression with it.
        seeds: how many, or which.
        algorithm: the training rule of all networks that are given without one.
        test: as in :func:`fit`.
        validation: as in :func:`fit`.
        workers: worker processes; 1 trains in this one.
        store: where runs are kept, and read from if they are there; None keeps nothing.
        device: where networks train; what computes on the processor alone stays there.
        progress: whether to show how far it is, or what to tell the fraction that is done.
        options: as in :func:`fit`.

    >>> import beyondkernels as bk
    >>> network = bk.engine.TrainedNetwork(bk.networks.FullyConnected(8), bk.algorithms.GradientDescent(
    ...     steps=20, learning_rate=0.1, loss=bk.algorithms.Squared()))
    >>> learners = {"network": network, "kernel": bk.kernels.PolynomialKernel(2)}
    >>> compare(bk.resnet.Monomial(6), 50, learners=learners, seeds=2, test=50).to_frame().learner.tolist()
    ['network', 'network', 'kernel', 'kernel']
    """
    which = _seeds(seeds)
    require(
        isinstance(learners, Mapping),
        f"learners must be models by their names, such as {{'network': model}}, got {shown(type(learners))}",
    )
    require(len(learners) > 0, "learners must hold at least one learner by name")
    require_order(None, data, n, "bk.compare((X, y), learners={…})")
    reading, recipe, recording = sorted_options(options, algorithm)
    sized = sized_problem(data, n, test, validation, reading | takes_tables(learners.values(), data))
    specs = []
    for name, model in learners.items():
        trained = recording if _is_network(model) else {}
        rule = algorithm if _is_network(model) else None
        specs += _specs(model, sized, rule, recipe, trained, which, device_name(device), name)
    runs = run_specs(specs, workers=workers, store=store, progress=progress)
    k = len(which)
    return Comparison({name: tuple(runs[i * k : (i + 1) * k]) for i, name in enumerate(learners)})


def _seeds(seeds: Any) -> list[int]:
    given = plain_number(seeds)
    several = range(given) if isinstance(given, int) and not isinstance(given, bool) else given
    if not isinstance(several, Iterable) or isinstance(several, str | bytes | Mapping):
        raise InputError(f"seeds must be how many, such as 5, or which, such as [0, 1], got {shown(given)}")
    which = list(dict.fromkeys(plain_number(seed) for seed in several))
    for seed in which:
        require_whole("each of seeds", seed, None)
    require(len(which) > 0, f"seeds must give at least one seed, got {shown(seeds)}")
    return which


def _is_network(model: object) -> bool:
    import torch

    from beyondkernels.networks import Network

    return isinstance(model, Network | torch.nn.Module) or is_function(model)


def _specs(
    model: Any,
    sized: SizedProblem,
    algorithm: Algorithm | None,
    recipe: Recipe,
    recording: Mapping[str, Any],
    seeds: Iterable[int],
    device: str,
    name: str,
) -> list[RunSpec]:
    """The runs of one model, one for each seed."""
    learner, problem = learner_of(model, sized, algorithm, recipe, recording, name)
    from beyondkernels.data import GivenData
    from beyondkernels.measure import Scores

    where = _possible(learner, device)
    scored = (Scores(),) if isinstance(problem, GivenData) and sized.test else ()
    return [
        RunSpec(problem, learner, sized.samples, sized.test, seed, scored, sized.validation, where) for seed in seeds
    ]


def _possible(learner: Learner, device: str) -> str:
    """The device, or the processor for what computes nowhere else."""
    return device if learner.runs_on(device) else PROCESSOR
