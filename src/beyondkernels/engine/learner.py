"""A network with an algorithm, as a learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, cast

import numpy as np
import torch

from beyondkernels.algorithms import Algorithm
from beyondkernels.core import (
    Case,
    Learner,
    Outcome,
    Problem,
    Progress,
    Sample,
    Shape,
    Stream,
    Tensors,
    digest,
    require,
    shape_of,
    size_of,
    unknown,
)
from beyondkernels.core.constraints import positive
from beyondkernels.engine import compiled
from beyondkernels.engine.budget import Sizes, initial_names, members_within, require_memory
from beyondkernels.engine.member import Backend, Member, require_points
from beyondkernels.engine.predictor import Predictor
from beyondkernels.engine.state import restore, saved_state
from beyondkernels.engine.train import train
from beyondkernels.networks import Network
from beyondkernels.networks.base import WITNESS_POINTS, acts

_ENSEMBLE_NUMBERS = 200_000  # activations and inputs of one step of all members, so that they fit into the cache
_COMPILED_MEMBERS = 16  # each trains alone; a group only saves drawing the sample again
_TICK = 1e11  # operations of one member between two stops: some seconds, after which its state can be saved
LEAST_TICKS, _MOST_TICKS = 20, 1000

EVERYTHING = "all"
"""What ``snapshot_names`` holds when all parameters and buffers are to be kept."""

BUFFERS = "buffers/"
"""How the name of a buffer begins in a snapshot, so that it cannot be taken for a parameter."""


@dataclass(frozen=True)
class TrainedNetwork(Learner):
    """Trains a network by an algorithm and records its progress.

    Arguments:
        network: the architecture.
        algorithm: the training rule.
        record_at: steps (0 is the start) at which loss and accuracy are recorded as series, and with them what the
            algorithm adds of its own; the end is in the scalars.
        record_points: how many points of each sample are used for the record; the end uses all.
        snapshot_at: steps (0 is the start) at which parameters are kept, as arrays ``snapshot/<step>/<name>``.
        snapshot_names: which parameters; there is no snapshot of one while it does not exist. A name
            ``buffers/<name>`` asks for a buffer, and ``all`` for every parameter and buffer that exists at the step.
        backend: ``eager`` for PyTorch's operations, or ``compiled`` for the networks and algorithms that have compiled
            steps.
        memory: how many bytes may be used besides the samples. A network that needs more is refused before it is drawn.
    """

    network: Network
    algorithm: Algorithm
    record_at: tuple[int, ...] = ()
    record_points: Annotated[int, positive] = 4000
    snapshot_at: tuple[int, ...] = ()
    snapshot_names: tuple[str, ...] = ()
    backend: Backend = "eager"
    memory: Annotated[int, positive] = field(default=2**33, metadata={"identity": False})

    def __post_init__(self) -> None:
        self._require_steps()
        if self.backend == "compiled":
            why = compiled.refusal(self.network, self.algorithm)
            require(why is None, f"backend must be 'eager' here; the compiled one does not fit: {why}")

    def check(self, problem: Problem, samples: int, test_samples: int) -> None:
        require_points(self.algorithm, samples)
        shape = shape_of(problem.in_shape)
        if self.snapshot_names:
            self.require_names(*initial_names(self.network, self.algorithm, shape, problem.out_dim))
        require_memory(self, Sizes(samples, test_samples, shape, problem.out_dim))

    def prepare(self) -> None:
        """Compile the step of the compiled backend, unless the cache holds it; say what this machine lacks for it."""
        if self.backend == "compiled":
            compiled.prepare(self.network, self.algorithm)

    def fit(self, case: Case, progress: Progress) -> Outcome:
        return self.fit_together([self], [case], progress)[0]

    @classmethod
    def fit_together(cls, learners: Sequence[Learner], cases: Sequence[Case], progress: Progress) -> list[Outcome]:
        trained = [cast(TrainedNetwork, learner) for learner in learners]
        recorders = [_Recorder(learner, case) for learner, case in zip(trained, cases, strict=True)]
        # By identity: members change while they train, so they have no hash.
        by_member = {id(recorder.member): recorder for recorder in recorders}
        total = sum(recorder.work() for recorder in recorders)

        def look(member: Member) -> None:
            by_member[id(member)].look()
            progress(sum(recorder.work_done() for recorder in recorders) / total)

        with torch.no_grad():
            train([recorder.member for recorder in recorders], [recorder.stops() for recorder in recorders], look)
            return [recorder.outcome() for recorder in recorders]

    def witness(self, problem: Problem, samples: int) -> Tensors:
        """What network and algorithm do on a few points: outputs, gradients, and where the first step leads.

        Arguments:
            problem: where the points come from.
            samples: how many there are.
        """
        stages = self.algorithm.stages()
        # A rule that uses each point once asks for as many points as it has steps, also for one step.
        least = max((stage.steps if stage.order == "once" else 1) * (stage.batch or WITNESS_POINTS) for stage in stages)
        sample, shape = problem.take("train", min(samples, max(WITNESS_POINTS, least)), 0), shape_of(problem.in_shape)
        member = Member(self.network, self.algorithm, sample, Stream(0), self.backend)
        member.start(shape, problem.out_dim)
        loss = self.algorithm.loss
        found = acts(self.network, member.params, member.buffers, sample.x, lambda out: loss.each(out, sample.y).mean())
        with torch.no_grad():
            train([member], [frozenset()], lambda _: None, until=1)
        state = {"parameters": member.params, "buffers after the step": member.buffers}
        return found | {f"{kind}/{name}": value for kind, part in state.items() for name, value in part.items()}

    def runs_on(self, device: str) -> bool:
        return self.backend == "eager" or super().runs_on(device)

    def ensemble_key(self) -> str:
        """Equal for learners that may train as one ensemble: those whose networks have one program."""
        return digest(self.network.program())

    def members_at_once(self, samples: int, in_dim: Shape, out_dim: int = 1) -> int:
        if self.network.batching == "sequential":
            return 1
        # The stage with the largest batches, because chunks are cut once, for all stages.
        largest = max((stage.batch or samples) for stage in self.algorithm.stages())
        # Larger batches are worked off in blocks of 1000 points, so only a block has to fit into the cache.
        at_once = min(64, _ENSEMBLE_NUMBERS // (min(largest, 1000) * (self.network.footprint + size_of(in_dim))))
        wanted = _COMPILED_MEMBERS if self.backend == "compiled" else max(1, at_once)
        return members_within(self, Sizes(samples, samples, in_dim, out_dim), wanted)

    def _require_steps(self) -> None:
        last = sum(stage.steps for stage in self.algorithm.stages())
        for name in ("record_at", "snapshot_at"):
            wrong = [step for step in getattr(self, name) if not 0 <= step <= last]
            require(not wrong, f"{name} must lie in [0, {last}], the steps of the training, got {(*wrong, '')[0]}")

    def require_names(self, params: Tensors, buffers: Tensors) -> None:
        """Ask that the network has all parameters and buffers in ``snapshot_names``."""
        known = [*_kept(params, buffers), *self.algorithm.later_parameters(self.network)]
        for name in self.snapshot_names:
            if name not in (*known, EVERYTHING):
                unknown("parameter in snapshot_names", name, known)


class _Recorder:
    """Records one member while it trains and makes its outcome."""

    def __init__(self, learner: TrainedNetwork, case: Case) -> None:
        require(
            learner.runs_on(str(case.train.x.device)),
            f"backend must be 'eager' on the device {case.train.x.device}, got {learner.backend!r}",
        )
        self.learner, self.case = learner, case
        self.member = Member(learner.network, learner.algorithm, case.train, case.stream, learner.backend)
        self.member.start(shape_of(case.problem.in_shape), case.problem.out_dim)
        learner.require_names(self.member.params, self.member.buffers)
        self.series: dict[str, list[float]] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self.stages = learner.algorithm.stages()
        self.last = sum(stage.steps for stage in self.stages)
        # A resumed run has its record of the start in the saved state.
        if not self._resumed():
            with torch.no_grad():
                self._record()

    def stops(self) -> frozenset[int]:
        """The steps at which to record, and some more at which to show progress and to save the state."""
        points = max(stage.batch or len(self.case.train) for stage in self.stages)
        numbers = sum(value.numel() for value in self.member.params.values())
        # A step costs about six operations for each weight and point: two forward, four back.
        between = min(self.last // LEAST_TICKS, int(_TICK / (6 * points * max(1, numbers))))
        # At least twenty, so that short runs show progress; at most a thousand, because each stop looks at every
        # member.
        ticks = range(0, self.last, max(1, between, self.last // _MOST_TICKS))
        return frozenset([*self.learner.record_at, *self.learner.snapshot_at, *ticks])

    def look(self) -> None:
        """Record what is due at this step, and save the state if that is due."""
        self._record()
        checkpoint = self.case.checkpoint
        if checkpoint is not None and checkpoint.due():
            series = {f"series/{name}": np.array(values) for name, values in self.series.items()}
            arrays = {f"arrays/{name}": array for name, array in self.arrays.items()}
            checkpoint.save(saved_state(self.member, series | arrays))

    def _resumed(self) -> bool:
        """Restore the saved state, if there is one, and return whether there was."""
        saved = self.case.checkpoint.load() if self.case.checkpoint is not None else None
        record = None if saved is None else restore(self.member, saved)
        for full_name, array in (record or {}).items():
            kind, _, name = full_name.partition("/")
            if kind == "series":
                self.series[name] = array.tolist()
            else:
                self.arrays[name] = array
        return record is not None

    def outcome(self) -> Outcome:
        """The end, on all points of all samples."""
        status = "diverged" if self.member.diverged else "finished"
        # A diverged network has no numbers worth keeping: its status says all there is.
        end = {} if self.member.diverged else self._report(None) | self._summary()
        series = {name: np.array(values) for name, values in self.series.items()}
        predictor = None if self.member.diverged else self._predictor()
        return Outcome(status, {"steps": float(self.member.step), **end}, series, self.arrays, predictor)

    def _predictor(self) -> Predictor:
        return Predictor(self.member.network, self.member.params, self.member.buffers)

    def _summary(self) -> dict[str, float]:
        return self.member.algorithm.summary(self.member.step, self.member.optimiser)

    def work(self) -> int:
        """Points seen over the whole training."""
        return sum(stage.steps * (stage.batch or len(self.case.train)) for stage in self.stages)

    def work_done(self) -> int:
        """Points seen so far."""
        done, left = 0, self.member.step
        for stage in self.stages:
            taken = min(left, stage.steps)
            done, left = done + taken * (stage.batch or len(self.case.train)), left - taken
        return done if self.member.active else self.work()  # training may end before its last step

    def _append(self, step: int, report: dict[str, float], own: dict[str, float]) -> None:
        for name, value in {"step": float(step), **report}.items():
            self.series.setdefault(name, []).append(value)
        for name, value in {"step": float(step), **own}.items() if own else ():
            self.series.setdefault(f"rule/{name}", []).append(value)

    def _record(self) -> None:
        if self.member.step in self.learner.record_at:
            # A member that has ended has no stage, which the rule's own numbers are about.
            own = self.member.algorithm.recorded(self.member.view()) if self.member.active else {}
            self._append(self.member.step, self._report(self.learner.record_points), own)
        if self.member.step in self.learner.snapshot_at:
            names = self.learner.snapshot_names
            for name, value in _kept(self.member.params, self.member.buffers).items():
                if name in names or EVERYTHING in names:
                    self.arrays[f"snapshot/{self.member.step}/{name}"] = _array(value)

    def _report(self, points: int | None) -> dict[str, float]:
        report, predictor, loss = {}, self._predictor(), self.member.algorithm.loss
        for which, sample in ({"train": self.case.train} | self.case.fresh).items():
            part = sample if points is None else Sample(sample.x[:points], sample.y[:points])
            found = loss.report(predictor(part.x), part.y)
            # A share of right signs would be a wrong number for a regression, so it is left out rather than shown.
            if not (self.case.has_classes or loss.margins):  # −1 and +1 may be numbers to predict
                found.pop("accuracy", None)
            report |= {f"{which}_{name}": value for name, value in found.items()}
        return report


def _array(value: torch.Tensor) -> np.ndarray:
    """A copy as numpy has it, which knows no bfloat16: every such number is one of float32."""
    return (value.float() if value.dtype == torch.bfloat16 else value).cpu().numpy().copy()


def _kept(params: Tensors, buffers: Tensors) -> Tensors:
    """What a snapshot can hold, by its name there."""
    return params | {BUFFERS + name: value for name, value in buffers.items()}
