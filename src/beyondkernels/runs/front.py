"""The Python front door: fit one learner, compare several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from beyondkernels.core.contracts import Learner, Problem
from beyondkernels.core.errors import require, require_whole
from beyondkernels.runs.comparison import Comparison
from beyondkernels.runs.device import PROCESSOR, require_device_name
from beyondkernels.runs.progress import Shown
from beyondkernels.runs.road import run_all
from beyondkernels.runs.run import Run
from beyondkernels.runs.spec import RunSpec

if TYPE_CHECKING:
    from beyondkernels.algorithms import Algorithm
    from beyondkernels.kernels import Kernel
    from beyondkernels.networks import Network


def fit(
    learner: Learner | Network | Kernel,
    problem: Problem,
    n: int,
    *,
    algorithm: Algorithm | None = None,
    seed: int = 0,
    test: int = 10_000,
    validation: int = 0,
    store: str | Path | None = None,
    device: str = PROCESSOR,
    progress: Shown = True,
    **recording: Any,
) -> Run:
    """Draw a sample, learn from it, and test on fresh points.

    Arguments:
        learner: a learner, a network that ``algorithm`` trains, or a kernel for :class:`KernelRidge`.
        problem: where the samples come from.
        n: the size of the training sample.
        algorithm: the training rule of a network.
        seed: everything random is a function of it.
        test: the size of the test sample.
        validation: the size of the validation sample, by which to choose among learners.
        store: where the run is kept, and read from if it is there; None keeps nothing.
        device: where a network trains; what computes on the processor alone stays there.
        progress: whether to show how far it is, or what to tell the fraction that is done.
        recording: further fields of :class:`TrainedNetwork`, such as ``snapshot_at``.

    >>> import beyondkernels as bk
    >>> problem = bk.problems.DictionaryParity(dim=8, patterns=6, relevant=3)
    >>> rule = bk.algorithms.GradientDescent(steps=20, learning_rate=0.1)
    >>> run = bk.fit(bk.networks.TwoLayer(pairs=4), problem, n=100, algorithm=rule)
    >>> run.status, run.steps
    ('finished', 20.0)
    """
    from beyondkernels.engine import TrainedNetwork
    from beyondkernels.networks import Network

    require_whole("n", n)
    require_whole("test", test)
    learner = _learner(learner) if not isinstance(learner, Network) else learner
    if isinstance(learner, Network):
        require(
            algorithm is not None, "a network needs an algorithm that trains it: fit(network, problem, n, algorithm=…)"
        )
        assert algorithm is not None
        learner = TrainedNetwork(learner, algorithm, **recording)
    else:
        given = [name for name in ("algorithm", *recording) if name != "algorithm" or algorithm is not None]
        require(
            not given, f"{type(learner).__name__} knows how to learn; {', '.join(given)} can be given with a network"
        )
    spec = RunSpec(problem, learner, n, test, seed, validation_samples=validation, device=_possible(learner, device))
    (run,) = run_all([spec], store=store, progress=progress)
    return run


def compare(
    problem: Problem,
    n: int,
    *,
    learners: Mapping[str, Learner | Kernel],
    seeds: int | Iterable[int] = 5,
    test: int = 10_000,
    validation: int = 0,
    workers: int = 1,
    store: str | Path | None = None,
    device: str = PROCESSOR,
    progress: Shown = True,
) -> Comparison:
    """Give several learners the same samples, seed by seed; the spread is the standard deviation over seeds.

    Networks of one kind train together, whatever their seeds.

    Arguments:
        problem: where the samples come from.
        n: the size of the training samples.
        learners: learners by name; a kernel stands for ridge regression with it.
        seeds: how many, or which.
        test: the size of the test samples.
        validation: the size of the validation samples.
        workers: worker processes; 1 trains in this one.
        store: where runs are kept, and read from if they are there; None keeps nothing.
        device: where networks train; what computes on the processor alone stays there.
        progress: whether to show how far it is, or what to tell the fraction that is done.

    >>> import beyondkernels as bk
    >>> network = bk.engine.TrainedNetwork(bk.networks.FullyConnected(8), bk.algorithms.GradientDescent(
    ...     steps=20, learning_rate=0.1, objective=bk.algorithms.Squared()))
    >>> learners = {"network": network, "kernel": bk.kernels.PolynomialKernel(2)}
    >>> compare(bk.problems.Monomial(6), 50, learners=learners, seeds=2, test=50).to_frame().learner.tolist()
    ['network', 'network', 'kernel', 'kernel']
    """
    which = list(dict.fromkeys(range(seeds) if isinstance(seeds, int) else seeds))
    require(len(which) > 0, f"seeds must give at least one seed, got {seeds}")
    require(isinstance(learners, Mapping) and len(learners) > 0, "learners must hold at least one learner by name")
    ready = {name: _learner(learner, name) for name, learner in learners.items()}
    specs = [
        RunSpec(problem, learner, n, test, seed, validation_samples=validation, device=_possible(learner, device))
        for learner in ready.values()
        for seed in which
    ]
    runs = run_all(specs, workers=workers, store=store, progress=progress)
    k = len(which)
    return Comparison({name: tuple(runs[i * k : (i + 1) * k]) for i, name in enumerate(ready)})


def _learner(given: object, name: str = "learner") -> Learner:
    """A learner; a kernel stands for ridge regression with it."""
    from beyondkernels.kernels import Kernel, KernelRidge

    if isinstance(given, Kernel):
        return KernelRidge(given)
    require(
        isinstance(given, Learner),
        f"{name} must be a learner or a kernel, got a {type(given).__name__}; a network becomes one with "
        "TrainedNetwork(network, algorithm)",
    )
    assert isinstance(given, Learner)
    return given


def _possible(learner: Learner, device: str) -> str:
    """The device, or the processor for what computes nowhere else."""
    require_device_name(device)
    return device if learner.runs_on(device) else PROCESSOR
