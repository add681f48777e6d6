"""Stages that use each point once: order, number of points, and a run of Algorithm 1 through the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch

from beyondkernels.algorithms import Batch, OnePass
from beyondkernels.core import Sample, Stream
from beyondkernels.engine import Member, train
from beyondkernels.networks import theorem_network
from fitting import Sized
from refusals import refused
from stepping import started

IGNORE = lambda _: None  # noqa: E731


@dataclass(frozen=True)
class Noise(Sized):
    """Labels that have nothing to do with inputs."""

    in_dim = 5
    out_dim = 2

    def sample(self, n: int, stream: Stream) -> Sample:
        return Sample(stream.child("x").normal(n, 5), stream.child("y").normal(n, 2))


SAMPLE, TEST = Noise().sample(12, Stream(0)), Noise().sample(30, Stream(1))
NETWORK = theorem_network(6, 0.7, 1.3)


def member(rule: OnePass, seed: int = 2) -> Member:
    return started(NETWORK, rule, SAMPLE, Stream(seed))


def test_points_come_in_their_order_and_once():
    one = member(OnePass(12, 0.1, 0.1))
    ahead: Any = one.rows(3, 4)
    assert ahead.tolist() == [[3], [4], [5], [6]]
    for t in range(12):
        rows: Any = one.rows(0, 1)
        assert rows.tolist() == [[t]]
        train([one], [frozenset()], IGNORE, until=t + 1)
    assert not one.active


def test_a_sample_that_is_too_small():
    refused(r"^a stage that uses each point once needs 13 points for its 13 steps, got", member, OnePass(13, 0.1, 0.1))


def test_the_engine_takes_the_steps_of_the_algorithm():
    rule = OnePass(12, 0.1, 0.03, end="average")
    one = member(rule)
    params, state, stage = one.params, one.optimiser, rule.stages()[0]
    for t in range(12):
        hyper = {name: torch.tensor(value) for name, value in rule.hyper(stage, t + 1).items()}
        params, _, state, _ = rule.step(
            stage, NETWORK, params, {}, state, Batch(SAMPLE.x[t : t + 1], SAMPLE.y[t : t + 1]), {}, hyper
        )
        train([one], [frozenset()], IGNORE, until=t + 1)
    for name, value in (params | {n: state[n] for n in state if n in params}).items():
        torch.testing.assert_close(one.params[name], value, rtol=1e-6, atol=1e-7)
    assert rule.summary(one.step, one.optimiser) == pytest.approx(rule.summary(12, state), rel=1e-6)
