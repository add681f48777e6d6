"""A network with an algorithm, as a learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch

from beyondkernels.algorithms import Algorithm
from beyondkernels.core import Case, Learner, Outcome, Progress, Sample, digest, require, require_positive, unknown
from beyondkernels.engine import compiled
from beyondkernels.engine.member import Backend, Member
from beyondkernels.engine.train import train
from beyondkernels.networks import Network

_EVALUATION_BLOCK = 2000
_ENSEMBLE_NUMBERS = 200_000  # activations and inputs of one step of all members together: what stays in the cache
_COMPILED_MEMBERS = 16  # each trains alone: company only spares the sample from being drawn again


@dataclass(frozen=True)
class TrainedNetwork(Learner):
    """Trains a network by an algorithm, and records how it goes.

    Arguments:
        network: the architecture.
        algorithm: the training rule.
        record_at: steps after which loss and accuracy are recorded as series; the end is in the scalars.
        record_points: how many points of each sample the record looks at; the end looks at all.
        snapshot_at: steps (0 is the start) at which parameters are kept, as arrays ``snapshot/<step>/<name>``.
        snapshot_names: which parameters.
        backend: ``eager``, or ``compiled`` for the networks and rules that have steps written by hand.
    """

    network: Network
    algorithm: Algorithm
    record_at: tuple[int, ...] = ()
    record_points: int = 4000
    snapshot_at: tuple[int, ...] = ()
    snapshot_names: tuple[str, ...] = ()
    backend: Backend = "eager"

    def __post_init__(self) -> None:
        require_positive("record_points", self.record_points)
        require(self.backend in ("eager", "compiled"), f"backend must be 'eager' or 'compiled', got {self.backend!r}")
        if self.backend == "compiled":
            why = compiled.refusal(self.network, self.algorithm)
            require(why is None, f"backend must be 'eager' here; the compiled one does not fit: {why}")

    def fit(self, case: Case, progress: Progress) -> Outcome:
        """Train on one case."""
        return self.fit_together([self], [case], progress)[0]

    @classmethod
    def fit_together(cls, learners: Sequence[Learner], cases: Sequence[Case], progress: Progress) -> list[Outcome]:
        """Train many: those of one shape and program as one ensemble."""
        trained = [cast(TrainedNetwork, learner) for learner in learners]
        recorders = [_Recorder(learner, case) for learner, case in zip(trained, cases, strict=True)]
        by_member = {id(recorder.member): recorder for recorder in recorders}
        total = sum(recorder.work() for recorder in recorders)

        def look(member: Member) -> None:
            by_member[id(member)].look()
            progress(sum(recorder.work_done() for recorder in recorders) / total)

        with torch.no_grad():
            train([recorder.member for recorder in recorders], [recorder.stops() for recorder in recorders], look)
            return [recorder.outcome() for recorder in recorders]

    def ensemble_key(self) -> str:
        """Equal for learners that may train as one ensemble: the network decides, the engine groups the rest."""
        return digest(self.network)

    def members_at_once(self, samples: int, in_dim: int) -> int:
        """As many as fit the cache: large networks gain nothing from company."""
        if self.network.batching == "sequential":
            return 1
        if self.backend == "compiled":
            return _COMPILED_MEMBERS
        largest = max((stage.batch or samples) for stage in self.algorithm.stages())
        return max(1, min(64, _ENSEMBLE_NUMBERS // (min(largest, 1000) * (self.network.footprint + in_dim))))


class _Recorder:
    """Follows one member and turns its course into an outcome."""

    def __init__(self, learner: TrainedNetwork, case: Case) -> None:
        self.learner, self.case = learner, case
        self.member = Member(learner.network, learner.algorithm, case.train, case.stream, learner.backend)
        self.member.start(case.problem.in_dim, case.problem.out_dim)
        lost = [name for name in learner.snapshot_names if name not in self.member.params]
        if lost:
            unknown("parameter in snapshot_names", lost[0], self.member.params)
        self.series: dict[str, list[float]] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self.stages = learner.algorithm.stages()
        self.last = sum(stage.steps for stage in self.stages)
        self._snapshot()

    def stops(self) -> frozenset[int]:
        """The steps at which there is something to record, and some more for the progress display."""
        ticks = range(0, self.last, max(1, self.last // 50))
        return frozenset([*self.learner.record_at, *self.learner.snapshot_at, *ticks])

    def look(self) -> None:
        """Record what this step asks for."""
        self._snapshot()
        if self.member.step in self.learner.record_at:
            self._append(self.member.step, self._report(self.learner.record_points))

    def outcome(self) -> Outcome:
        """The end, on all points of both samples."""
        status = "diverged" if self.member.diverged else "finished"
        end = {} if self.member.diverged else self._report(None) | self._summary()
        series = {name: np.array(values) for name, values in self.series.items()}
        return Outcome(status, {"steps": float(self.member.step), **end}, series, self.arrays)

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
        return self.work() if self.member.diverged else done

    def _append(self, step: int, report: dict[str, float]) -> None:
        for name, value in {"step": float(step), **report}.items():
            self.series.setdefault(name, []).append(value)

    def _snapshot(self) -> None:
        if self.member.step in self.learner.snapshot_at:
            for name in self.learner.snapshot_names:
                self.arrays[f"snapshot/{self.member.step}/{name}"] = self.member.params[name].numpy().copy()

    def _report(self, points: int | None) -> dict[str, float]:
        report = {}
        for which, sample in (("train", self.case.train), ("test", self.case.test)):
            part = sample if points is None else Sample(sample.x[:points], sample.y[:points])
            out = predict(self.member, part.x)
            report |= {
                f"{which}_{name}": value for name, value in self.member.algorithm.loss.report(out, part.y).items()
            }
        return report


def predict(member: Member, x: torch.Tensor) -> torch.Tensor:
    """A member's predictions, block by block, each member on its own so that company changes nothing."""
    blocks = [
        member.network.apply(member.params, member.buffers, rows, train=False)[0] for rows in x.split(_EVALUATION_BLOCK)
    ]
    return torch.cat(blocks)
