"""A trained network along its run, and points of the run to look at it with."""

from __future__ import annotations

import torch

from beyondkernels.core import Ended, InputError, Sample, Tensors, require
from beyondkernels.engine import Predictor, TrainedNetwork
from beyondkernels.engine.learner import EVERYTHING
from beyondkernels.measure.snapshots import states


def trained_network(run: Ended) -> TrainedNetwork:
    """The learner of a run, if it trained a network and kept what an audit reads."""
    learner = run.learner
    if not isinstance(learner, TrainedNetwork):
        raise InputError(f"learner must be a TrainedNetwork for an audit, got {type(learner).__name__}")
    require(
        EVERYTHING in learner.snapshot_names,
        f"snapshot_names must be ('all',) for an audit, got {learner.snapshot_names}",
    )
    return learner


def moments(run: Ended) -> dict[int, Predictor]:
    """The network at each snapshot of a run and at its end, by step, on the processor.

    The first step must be 0. A training that stopped early has no snapshot of its last step; its predictor takes that
    place.

    Arguments:
        run: of a :class:`~beyondkernels.engine.TrainedNetwork` with ``snapshot_names=("all",)``.
    """
    network = trained_network(run).network
    seen = {step: Predictor(network, *state) for step, state in states(run.outcome).items()}
    # Training may end before its last step, so the end is what the run says and not what was planned.
    end = int(run.outcome.scalars.get("steps", max(seen, default=0)))
    if end not in seen and isinstance(run.outcome.predictor, Predictor):
        last = run.outcome.predictor
        seen[end] = Predictor(last.network, _here(last.params), _here(last.buffers))
    require(0 in seen, f"snapshot_at must hold step 0, the start, for an audit, got {tuple(seen)}")
    require(end in seen, f"snapshot_at must hold step {end}, the end, for an audit, got {tuple(seen)}")
    return seen


def chosen(run: Ended, part: str, count: int) -> Sample:
    """Some points of a run's sample, drawn by the run's stream, on the processor; all of them if there are fewer.

    Points of a finite set may be sorted by class, so the first ones would not do.

    Arguments:
        run: the run.
        part: ``train`` or ``test``.
        count: how many at most.
    """
    sample = run.case.train if part == "train" else run.case.test
    require(len(sample) > 0, f"{part} must hold at least one point for an audit, got none")
    order = run.case.stream.child("audit", part).permutation(len(sample))[:count].sort().values
    order = order.to(sample.x.device)
    return Sample(sample.x[order], sample.y[order]).to("cpu")


def _here(tensors: Tensors) -> Tensors:
    """On the processor, and in a precision that snapshots have: they hold bfloat16 as float32."""
    found = {name: value.detach().cpu() for name, value in tensors.items()}
    return {name: value.float() if value.dtype == torch.bfloat16 else value for name, value in found.items()}
