"""One network over a grid of settings: many runs at once."""

from __future__ import annotations

import dataclasses
import itertools
import math
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from beyondkernels.core.components import Component
from beyondkernels.core.contracts import Problem
from beyondkernels.core.errors import InputError, require, require_positive, require_whole, shown, unknown, warn
from beyondkernels.execution.progress import Shown
from beyondkernels.learning.batch import run_specs, said
from beyondkernels.learning.curves import sweep_pictures
from beyondkernels.learning.notebook_views import html_view
from beyondkernels.learning.run import Run
from beyondkernels.learning.user_input import network_of, require_order, rule_of, sized_problem, sorted_options
from beyondkernels.store.device import PROCESSOR, device_name
from beyondkernels.store.spec import RunSpec

if TYPE_CHECKING:
    import torch
    from pandas import DataFrame

    from beyondkernels.algorithms import Algorithm, Recipe
    from beyondkernels.networks import Network
    from beyondkernels.networks.module import ModuleFactory

Point = Mapping[str, Any]
"""One point of a grid: the value of every setting that varies."""

_POSITIVE = ("learning_rate", "first_rate", "width", "pairs", "steps", "batch", "n")
_OWN = ("n", "seed")
_PROBLEM = "problem"
_JOINT = "__"


def one_two_five(low: float, high: float) -> list[float]:
    """The numbers 1, 2 and 5 times powers of ten between two bounds, both included.

    >>> one_two_five(1e-2, 1)
    [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0]
    """
    for name, value in (("low", low), ("high", high)):
        require(isinstance(value, int | float), f"{name} must be a number, got {shown(value)}")
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
    axes = {name: _several(name, given) for name, given in values.items()}
    return [dict(zip(axes, point, strict=True)) for point in itertools.product(*axes.values())]


def _several(name: str, given: Any) -> list[Any]:
    """The values of one setting."""
    if not isinstance(given, Iterable) or isinstance(given, str | bytes | Mapping):
        example = f"range({given})" if name == "seed" and isinstance(given, int) and given > 1 else f"[{given!r}]"
        raise InputError(f"{name} must be several values, such as {example}, got {shown(given)}")
    several = [_plain(value) for value in given]
    require(len(several) > 0, f"{name} must take at least one value, got none")
    for i, value in enumerate(several):
        _require_sensible(name, value)
        require(value not in several[:i], f"{name} must take each value once, got {value} twice")
    return several


def _plain(value: Any) -> Any:
    """A number as Python has it, whichever library it comes from: the key of a run must not depend on that."""
    if not hasattr(value, "item") or getattr(value, "ndim", None) != 0:
        return value
    precision = str(value.dtype).removeprefix("torch.")
    if precision in ("float16", "float32"):  # the shortest decimal: 0.01 and not 0.009999999776482582
        import numpy as np

        return float(str(np.dtype(precision).type(value.item())))
    return value.item()


def _require_sensible(name: str, value: Any) -> None:
    if isinstance(value, float):
        require(math.isfinite(value), f"{name} must be finite, got {value}")
    if name in _POSITIVE and value is not None:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        require(number, f"{name} must be a number, got {shown(value)}")
        require_positive(name, value)


@dataclass(frozen=True, repr=False)
class Sweep:
    """The runs of a grid.

    Arguments:
        rows: for each point its settings, ``status``, and the scalars of its run.
        runs: for each point its run.
    """

    rows: tuple[dict[str, Any], ...]
    runs: tuple[Run, ...] = ()

    def best(self, name: str = "test_loss", smallest: bool | None = None) -> dict[str, Any]:
        """The row with the best value of a scalar among those that finished.

        Arguments:
            name: the scalar; choosing by a test error is what the paper does, and should be said.
            smallest: whether less is better; None goes by the name: accuracies and R² are better the larger they are,
                all else is better the smaller it is.
        """
        from beyondkernels.core.scores import larger_is_better

        smallest = not larger_is_better(name) if smallest is None else smallest
        finished = [row for row in self.rows if row["status"] == "finished"]
        known = sorted({key for row in finished for key in row})
        numbers = [row for row in finished if isinstance(row.get(name), int | float) and not math.isnan(row[name])]
        if not numbers:
            diverged, crashed = (sum(row["status"] == how for row in self.rows) for how in ("diverged", "crashed"))
            others = f"of {len(self.rows)} runs {diverged} diverged and {crashed} crashed"
            require(len(finished) > 0, f"no run finished: {others}")
            require(name in known, f"no finished run has {name!r}; there are {', '.join(known)}; {others}")
            raise InputError(f"{name!r} is not a number in any finished run; {others}")
        return (min if smallest else max)(numbers, key=lambda row: row[name])

    def to_frame(self) -> DataFrame:
        """A table with a row for each point: its settings, status and scalars."""
        import pandas as pd

        return pd.DataFrame([*self.rows])

    def __repr__(self) -> str:
        counts = {how: sum(row["status"] == how for row in self.rows) for how in ("finished", "diverged", "crashed")}
        found = ", ".join(f"{count} {how}" for how, count in counts.items() if count)
        return f"<Sweep of {len(self.rows)} runs: {found}>"

    def _repr_html_(self) -> str:
        facts = repr(self).removeprefix("<Sweep of ").removesuffix(">")
        scalars = {name for run in self.runs for name in run.outcome.scalars} | {"status", "reason"}
        settings = dict.fromkeys(name for row in self.rows for name in row if name not in scalars)
        return html_view("Sweep", facts, self.rows, sweep_pictures(self.rows, settings))


def fit_many(
    network: Network | torch.nn.Module | ModuleFactory,
    problem: Problem | Any,
    n: int | None = None,
    *,
    algorithm: Algorithm | None = None,
    grid: Sequence[Point],
    test: Any = None,
    validation: float = 0,
    backend: Literal["eager", "compiled"] = "eager",
    workers: int = 1,
    store: str | Path | None = None,
    memory: int = 2**33,
    device: str | torch.device = PROCESSOR,
    progress: Shown = True,
    **options: Any,
) -> Sweep:
    """Train a network at every point of a grid, many at once.

    A setting of a point is a field of the algorithm (``learning_rate``), or of :class:`Recipe` where there is none
    (``rate``, ``weight_decay``), a field of the network (``width``, also inside
    it: ``parameterisation__weight_variance`` for initial scales), a field of the problem (``problem__alpha``), ``n``,
    or ``seed``, of which everything random is a function: the sample too. All points are looked at before the first
    is trained. Runs that diverge or crash are rows with that status; the others go on.

    Arguments:
        network: the architecture, a module, or a named function of (in_dim, out_dim) that makes one.
        problem: where the samples come from: a problem, or data as :func:`fit` takes it.
        n: the size of the training samples, where a point does not say.
        algorithm: the training rule; without one :class:`Recipe` says how to train.
        grid: the points, as :func:`grid` makes them.
        test: the size of the test samples, or as :func:`fit` takes it for data.
        validation: the size of the validation samples, or for data a fraction of the training points, by which to
            choose: ``best("validation_loss")``.
        backend: ``eager``, or ``compiled`` for the networks and rules that have steps written by hand.
        workers: how many processes; with 1 everything happens in this one.
        store: where runs are kept, so that none is done twice and one that was ended goes on; None keeps nothing.
        memory: bytes that each process may take beside the samples; decides whether there is an answer, never which.
        device: where the networks train; the compiled backend is for the processor.
        progress: whether to show how far it is, or what to tell the fraction that is done.
        options: further fields of :class:`TrainedNetwork`, such as ``record_at``, of :class:`Recipe` where there is no
            algorithm, and how to read data.

    >>> import beyondkernels as bk
    >>> network = bk.networks.TwoLayer(pairs=4)
    >>> problem = bk.features.DictionaryParity(dim=8, patterns=6, relevant=3)
    >>> rule = bk.algorithms.GradientDescent(steps=20, learning_rate=0.1, batch=10)
    >>> points = bk.grid(learning_rate=bk.one_two_five(0.01, 0.1), seed=range(2))
    >>> sweep = bk.fit_many(network, problem, n=100, algorithm=rule, grid=points, test=50)
    >>> len(sweep.rows), sorted(sweep.best("test_loss"))[:3]
    (8, ['learning_rate', 'seed', 'status'])

    Training sets of several sizes, from harder and harder problems:

    >>> points = bk.grid(n=[50, 100], problem__patterns=[4, 6])
    >>> [(row["n"], row["problem__patterns"]) for row in bk.fit_many(network, problem, 100, algorithm=rule, grid=points,
    ...                                                              test=50).rows]
    [(50, 4), (50, 6), (100, 4), (100, 6)]
    """
    from beyondkernels.algorithms import Algorithm
    from beyondkernels.engine import TrainedNetwork
    from beyondkernels.networks.from_copy import ModelWarning

    require_order(network, problem, n, "bk.fit_many(network, (X, y), grid=…)")
    from beyondkernels.learning.model_checks import require_batch

    _require_instance("algorithm", algorithm, (Algorithm, types.NoneType))
    for name in options:
        require(name not in ("seed", "seeds"), "seeds go into the grid: bk.grid(seed=range(5))")
    reading, recipe, recording = sorted_options(options, algorithm)
    points = _points(grid)
    sized = sized_problem(problem, n, test, validation, reading)
    model, labelled = network_of(network, sized.problem)
    specs = []
    for point in points:
        given = _applied(_Given(model, recipe if algorithm is None else algorithm, labelled, sized.samples), point)
        rule = given.algorithm
        if not isinstance(rule, Algorithm):
            rule = rule_of(rule, given.network, labelled, given.n)
        require_batch(given.network, rule, labelled, given.n, "network")
        learner = TrainedNetwork(given.network, rule, **({"backend": backend, "memory": memory} | recording))
        fresh = {"validation_samples": sized.validation, "device": device_name(device)}
        specs.append(RunSpec(given.problem, learner, given.n, sized.test, given.seed, **fresh))
    _require_different(points, specs)
    runs = run_specs(specs, store=store, workers=workers, progress=progress, forgiving=True, predictors=False)
    lost = [run for run in runs if run.status == "crashed"]
    if lost:
        first = said(lost[0].reason, lost[0].frames)
        warn(f"{len(lost)} of {len(runs)} runs crashed; the first: {first}", ModelWarning)
    return Sweep(tuple({**point, **run.as_row()} for point, run in zip(points, runs, strict=True)), tuple(runs))


def _points(grid: Any) -> list[dict[str, Any]]:
    """The points of a grid.

    Arguments:
        grid: as it was given.
    """
    from beyondkernels.algorithms.torch_words import without_aliases

    listed = isinstance(grid, Iterable) and not isinstance(grid, str | bytes | Mapping)
    points: list[Any] = list(grid) if listed else []
    require(
        listed and all(isinstance(point, Mapping) for point in points),
        f"grid must be a list of points, as bk.grid(learning_rate=[0.1, 0.2]) makes it, got {shown(grid)}",
    )
    require(len(points) > 0, "grid must hold at least one point, got none")
    return [without_aliases({str(name): _plain(value) for name, value in point.items()}) for point in points]


def _require_different(points: Sequence[Point], specs: Sequence[RunSpec]) -> None:
    """A point that stands there twice is a slip: the mean over such a grid would count it twice."""
    seen: dict[str, Point] = {}
    for point, spec in zip(points, specs, strict=True):
        before = seen.setdefault(spec.key, point)
        if before is not point:
            again = "twice" if before == point else f"and {before}, which are one run"
            raise InputError(f"grid must hold each point once, got {point} {again}")


@dataclass(frozen=True)
class _Given:
    """What ``fit_many`` is given, in whose fields a point of the grid writes its values."""

    network: Network
    algorithm: Algorithm | Recipe
    problem: Problem
    n: int
    seed: int = 0


def _applied(given: _Given, point: Point) -> _Given:
    """What is trained at one point."""
    changes: dict[str, dict[str, Any]] = {}
    for name, value in point.items():
        _require_sensible(name, value)
        first, _, rest = name.partition(_JOINT)
        if name in _OWN:
            require_whole(name, value, 1 if name == "n" else None)
            given = dataclasses.replace(given, **{name: value})
        elif first == _PROBLEM and rest:
            changes.setdefault("problem", {})[rest] = value
        else:
            changes.setdefault("algorithm" if first in _fields(given.algorithm) else "network", {})[name] = value
    for field, values in changes.items():
        prefix = _PROBLEM + _JOINT if field == "problem" else ""
        given = dataclasses.replace(given, **{field: _replaced(getattr(given, field), values, prefix, given)})
    return given


def _replaced(component: Any, values: Mapping[str, Any], prefix: str, given: _Given) -> Any:
    """A component with some fields changed, also fields of a field: ``outer__inner``.

    All of them change at once: a component checks its fields together, and half of a change may be no valid one.

    Arguments:
        component: what is changed.
        values: the new ones, by where they are in it.
        prefix: what stands before these names in the point.
        given: offers the names that are known.
    """
    hints = typing.get_type_hints(type(component))
    fields: dict[str, Any] = {}
    inner: dict[str, dict[str, Any]] = {}
    for path, value in values.items():
        first, _, rest = path.partition(_JOINT)
        if first not in _fields(component):
            _unknown_setting(prefix + path, _known(given))
        if rest:
            inner.setdefault(first, {})[rest] = value
        else:
            _require_kind(prefix + path, value, hints[first], getattr(component, first))
            fields[first] = value
    for first, below in inner.items():
        fields[first] = _replaced(fields.get(first, getattr(component, first)), below, prefix + first + _JOINT, given)
    return dataclasses.replace(component, **fields)


def _require_kind(name: str, value: Any, hint: Any, present: Any) -> None:
    """Ask for what the field is made for, a number or a component: a wrong one would be found out in the middle.

    Arguments:
        name: the setting as it stands in the point.
        value: the new one.
        hint: what the field is declared as.
        present: what it holds.
    """
    if value is None and hint in (int | None, float | None):
        return
    if hint in (int, int | None):
        require_whole(name, value, None)
    if hint in (float, float | None):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        require(number, f"{name} must be a number, got {shown(value)}")
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if all(isinstance(kind, type) for kind in kinds) and any(issubclass(kind, Component) for kind in kinds):
        _require_instance(name, value, kinds, f", such as {present!r}")


def _require_instance(name: str, value: Any, kinds: tuple[type, ...], example: str = "") -> None:
    wanted = " or ".join("None" if kind is types.NoneType else kind.__name__ for kind in kinds)
    article = "an" if wanted[0] in "AEIOU" else "a"
    require(isinstance(value, kinds), f"{name} must be {article} {wanted}{example}, got {shown(value)}")


def _known(given: _Given) -> list[str]:
    """The settings a point may have, also inside of others."""
    from beyondkernels.data import GivenData
    from beyondkernels.networks import FromCopy, FromModule

    names = [*_OWN]
    for prefix, component in (("", given.algorithm), ("", given.network), (_PROBLEM + _JOINT, given.problem)):
        if isinstance(component, FromCopy | FromModule | GivenData):
            continue  # what a user gave as it is has no settings, only fields of our own
        for field in _fields(component):
            inner = _fields(getattr(component, field))
            names += [f"{prefix}{field}", *(f"{prefix}{field}{_JOINT}{each}" for each in inner)]
    return names


def _unknown_setting(name: str, known: Sequence[str]) -> typing.NoReturn:
    """Raise an :class:`InputError` that offers our name for a setting of another library, or the nearest one.

    Arguments:
        name: as it stands in the point.
        known: the settings there are.
    """
    from beyondkernels.algorithms.torch_words import ARGUMENTS

    if (ours := ARGUMENTS.get(name)) in known:
        raise InputError(f"unknown setting {name!r}; here it is called {ours}")
    unknown("setting", name, known)


def _fields(component: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(component)] if dataclasses.is_dataclass(component) else []
