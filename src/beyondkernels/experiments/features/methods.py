"""The methods of Table 1: what is trained, by which schedule, on which data."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import beyondkernels as bk
from beyondkernels.runs import RunSpec

if TYPE_CHECKING:
    from beyondkernels.core import Learner
    from beyondkernels.experiments.features.table1 import Table1Settings
    from beyondkernels.problems import DictionaryProblem
    from beyondkernels.theory import ProcessSettings

Kind = Literal["network", "tangent", "constant", "linear"]


@dataclass(frozen=True)
class Method:
    """One row of the table.

    Arguments:
        name: as printed.
        kind: what learns.
        freeze_hidden_after: the step after which only the readout is trained; None trains all to the end.
        own_schedule: whether the readout has the Network's own rate for t > 2, or Theorem 26's single rate; the tangent
            method has neither, see the setting ``tangent_rate``.
        structured: whether the data have their input structure.
    """

    name: str
    kind: Kind = "network"
    freeze_hidden_after: int | None = None
    own_schedule: bool = True
    structured: bool = True


METHODS = (
    Method("Network"),
    Method("NTK", "tangent"),
    Method("RF", freeze_hidden_after=0, own_schedule=False),
    Method("One Step", freeze_hidden_after=1),
    Method("Two Step", freeze_hidden_after=2),
    Method("Network w/o structure", structured=False),
    Method("NTK w/o structure", "tangent", structured=False),
    Method("RF w/o structure", freeze_hidden_after=0, own_schedule=False, structured=False),
    Method("Network, one rate", own_schedule=False),
    Method("Constant", "constant"),
    Method("Linear", "linear"),
)
"""The paper's rows in its order, the other methods without structure, Theorem 26 taken literally, and baselines."""


@functools.cache
def problem_of(settings: Table1Settings, seed: int, structured: bool = True) -> DictionaryProblem:
    """The data of a seed: each seed has a dictionary and a relevant set of its own."""
    problem = bk.problems.DictionaryParity(
        dim=settings.dim,
        patterns=settings.patterns,
        relevant=settings.relevant,
        background=settings.background,
        instance=seed,
    )
    return problem if structured else problem.without_structure()


@functools.cache
def process_of(settings: Table1Settings, seed: int, own_schedule: bool = True) -> ProcessSettings:
    """Theorem 26's numbers for the structured data: without structure γ is zero and the theorem says nothing."""
    network = bk.networks.TwoLayer(pairs=settings.pairs)
    return bk.theory.theorem26(
        problem_of(settings, seed),
        network,
        steps=settings.steps,
        batch=settings.batch,
        readout_rate=settings.readout_rate if own_schedule else None,
    )


def spec_of(method: Method, settings: Table1Settings, seed: int) -> RunSpec:
    """The run of a method with a seed."""
    aligned = method.kind == "network" and settings.steps >= 2
    return RunSpec(
        problem=problem_of(settings, seed, method.structured),
        learner=_learner(method, settings, seed),
        samples=settings.samples,
        test_samples=settings.test_samples,
        seed=seed,
        measurements=_measurements(method) if aligned else (),
    )


def record_steps(steps: int) -> tuple[int, ...]:
    """1, 2, 3, 5, 10, … up to the end: even on a logarithmic axis, and every twelfth part of the whole."""
    early = [s for s in (1, 2, 3, 5, 10, 20, 35) if s < steps]
    late = [round(steps * part / 12) for part in range(1, 13)]
    return tuple(sorted({s for s in (*early, *late) if s > 0}))


def _learner(method: Method, settings: Table1Settings, seed: int) -> Learner:
    if method.kind == "constant":
        return bk.kernels.ConstantClassifier()
    if method.kind == "linear":
        return bk.kernels.FixedFeatureClassifier(bk.kernels.InputFeatures())
    process = process_of(settings, seed, method.own_schedule)
    if method.kind == "tangent":
        network = bk.networks.TwoLayer(pairs=settings.pairs, initialisation=process.initial)
        descent = bk.algorithms.GradientDescent(settings.steps, settings.tangent_rate, settings.batch)
        return bk.engine.TrainedNetwork(
            bk.networks.Linearised(network), descent, record_at=record_steps(settings.steps)
        )
    network = bk.networks.TwoLayer(pairs=settings.pairs)
    algorithm = bk.algorithms.FeatureLearning(process, freeze_hidden_after=method.freeze_hidden_after)
    early = (0, 1, 2) if method.name.startswith("Network") else ()
    return bk.engine.TrainedNetwork(
        network,
        algorithm,
        record_at=record_steps(settings.steps),
        snapshot_at=tuple(dict.fromkeys((*early, settings.steps))),
        snapshot_names=("hidden.weight",),
    )


def _measurements(method: Method) -> tuple:
    alignment = bk.measure.Alignment()
    return (alignment, bk.measure.Directions()) if method.name == "Network" else (alignment,)
