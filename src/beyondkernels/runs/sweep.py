"""One network over a grid of settings: many runs at once."""

from __future__ import annotations

import dataclasses
import itertools
import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from beyondkernels.core.contracts import Problem
from beyondkernels.core.errors import InputError, require, unknown
from beyondkernels.runs.executor import LocalExecutor, SerialExecutor
from beyondkernels.runs.spec import RunSpec
from beyondkernels.runs.store import Store

if TYPE_CHECKING:
    from beyondkernels.algorithms import Algorithm
    from beyondkernels.networks import Network

Point = Mapping[str, Any]
"""One point of a grid: the value of every setting that varies."""

_POSITIVE = ("learning_rate", "width", "steps", "batch")
_OWN = ("seed",)


def one_two_five(low: float, high: float) -> list[float]:
    """The numbers 1, 2 and 5 times powers of ten between two bounds, both included.

    >>> one_two_five(1e-2, 1)
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
    """
    require(0 < low <= high < math.inf, f"low and high must be positive and in order, got {low} and {high}")
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    numbers = [float(f"{digit}e{power}") for power in powers for digit in (1, 2, 5)]
    return [number for number in numbers if low * (1 - 1e-12) <= number <= high * (1 + 1e-12)]


def grid(**values: Iterable[Any]) -> list[dict[str, Any]]:
    """All combinations of the given values, the last setting varying fastest.

    Arguments:
        values: for each setting the values it takes, each once.

    >>> grid(learning_rate=[0.1, 0.2], seed=range(2))[1]
    {'learning_rate': 0.1, 'seed': 1}
    """
    axes = {name: list(several) for name, several in values.items()}
    for name, several in axes.items():
        require(len(several) > 0, f"{name} must take at least one value, got none")
        twice = [value for i, value in enumerate(several) if value in several[:i]]
        require(not twice, f"{name} must take each value once, got {twice[0] if twice else ''} twice")
        if name in _POSITIVE:
            wrong = [value for value in several if not value > 0]
            require(not wrong, f"{name} must be positive, got {wrong[0] if wrong else ''}")
    return [dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())]


@dataclass(frozen=True)
class Sweep:
    """The runs of a grid.

    Arguments:
        rows: for each point its settings, ``status``, and the scalars of its run.
    """

    rows: tuple[dict[str, Any], ...]

    def best(self, name: str = "test_loss", smallest: bool = True) -> dict[str, Any]:
        """The row with the least (or largest) value of a scalar among those that finished.

        Arguments:
            name: the scalar; choosing by a test error is what the paper does, and should be said.
            smallest: whether less is better.
        """
        ended = [row for row in self.rows if name in row]
        if not ended:
            known = sorted({key for row in self.rows for key in row})
            raise InputError(f"no finished run has {name!r}; there are {', '.join(known)}")
        return (min if smallest else max)(ended, key=lambda row: row[name])


def fit_many(
    network: Network,
    problem: Problem,
    n: int,
    *,
    algorithm: Algorithm,
    grid: Sequence[Point],
    test: int = 10_000,
    backend: Literal["eager", "compiled"] = "eager",
    workers: int = 1,
    store: str | Path | None = None,
    **recording: Any,
) -> Sweep:
    """Train a network at every point of a grid, many at once.

    A setting of a point is a field of the algorithm (``learning_rate``), a field of the network (``width``, also inside
    it: ``parameterisation__weight_variance``), or ``seed``, of which everything random is a function: the sample too.
    Runs that diverge are rows with that status; the others go on.

    Arguments:
        network: the architecture.
        problem: where the samples come from.
        n: the size of the training samples.
        algorithm: the training rule.
        grid: the points, as :func:`grid` makes them.
        test: the size of the test samples.
        backend: ``eager``, or ``compiled`` for the networks and rules that have steps written by hand.
        workers: how many processes; with 1 everything happens in this one.
        store: where runs are kept, so that none is done twice; None keeps nothing.
        recording: further fields of :class:`TrainedNetwork`, such as ``record_at``.

    >>> import beyondkernels as bk
    >>> network = bk.networks.TwoLayer(pairs=4)
    >>> problem = bk.problems.DictionaryParity(dim=8, patterns=6, relevant=3)
    >>> rule = bk.algorithms.GradientDescent(steps=20, learning_rate=0.1, batch=10)
    >>> points = bk.grid(learning_rate=bk.one_two_five(0.01, 0.1), seed=range(2))
    >>> sweep = bk.fit_many(network, problem, n=100, algorithm=rule, grid=points, test=50)
    >>> len(sweep.rows), sorted(sweep.best("test_loss"))[:3]
    (8, ['learning_rate', 'seed', 'status'])
    """
    from beyondkernels.engine import TrainedNetwork

    points = [dict(point) for point in grid]
    require(len(points) > 0, "grid must hold at least one point, got none")
    specs = []
    for point in points:
        net, rule, seed = _applied(network, algorithm, point)
        learner = TrainedNetwork(net, rule, backend=backend, **recording)
        specs.append(RunSpec(problem, learner, n, test, seed))
    with tempfile.TemporaryDirectory() as folder:
        opened = Store.open(Path(folder) / "store" if store is None else store)
        todo = [spec for spec in specs if not opened.has(spec.key)]
        executor = SerialExecutor() if workers == 1 else LocalExecutor(workers)
        events = [event for event in executor.execute(todo, opened) if event.kind == "run"]
        crashed = {event.key: event.message for event in events if event.status == "crashed"}
        rows = [point | _row(spec, opened, crashed) for point, spec in zip(points, specs, strict=True)]
    return Sweep(tuple(rows))


def _row(spec: RunSpec, store: Store, crashed: Mapping[str | None, str]) -> dict[str, Any]:
    if spec.key in crashed:
        return {"status": "crashed", "reason": crashed[spec.key]}
    outcome = store.read(spec.key).outcome
    return {"status": outcome.status, **outcome.scalars}


def _applied(network: Network, algorithm: Algorithm, point: Point) -> tuple[Network, Algorithm, int]:
    """The network, algorithm and seed of one point."""
    seed = point.get("seed", 0)
    for name, value in point.items():
        if name in _OWN:
            continue
        if name in _fields(algorithm):
            algorithm = _replaced(algorithm, name, value, _fields(algorithm))
        else:
            network = _replaced(network, name, value, [*_OWN, *_fields(algorithm), *_fields(network)])
    return network, algorithm, seed


def _replaced(component: Any, name: str, value: Any, known: Sequence[str]) -> Any:
    """A component with one field changed, also a field of a field: ``outer__inner``."""
    first, _, rest = name.partition("__")
    if not dataclasses.is_dataclass(component) or first not in _fields(component):
        unknown("setting", name, known)
    if rest:
        inner = getattr(component, first)
        value = _replaced(inner, rest, value, [f"{first}__{field}" for field in _fields(inner)])
    return dataclasses.replace(component, **{first: value})  # pyright: ignore[reportArgumentType]


def _fields(component: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(component)] if dataclasses.is_dataclass(component) else []
