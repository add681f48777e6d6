"""How long the rest takes: kinds told apart, nothing said too early, no event dearer for many runs."""

import time

from beyondkernels.execution import Event
from beyondkernels.execution.costs import Costs, Round
from beyondkernels.execution.estimate import TimeEstimate


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def begun(names: str, known: Costs | None = None) -> tuple[TimeEstimate, Clock]:
    """Runs whose kind is their first letter."""
    clock = Clock()
    estimate = TimeEstimate(clock)
    keys = names.split()
    estimate.begin(Round(dict(zip(keys, keys, strict=True)), 0, {key: key[0] for key in keys}, known or Costs()))
    return estimate, clock


def test_a_cheap_beginning_promises_nothing() -> None:
    estimate, clock = begun("a1 a2 b1 b2 b3 b4")
    estimate.happened(Event("progress", chunk=("a1", "a2")))
    clock.now = 4.0
    estimate.happened(Event("run", "a1", "finished", 1.0, 2.0))
    estimate.happened(Event("run", "a2", "finished", 1.0, 2.0))
    assert estimate.done == 2
    assert estimate.remaining() is None  # nobody has seen a b; at the rate so far it would be 8 s
    estimate.happened(Event("progress", chunk=("b1",)))
    clock.now = 14.0
    estimate.happened(Event("progress", chunk=("b1",), fraction=0.1))
    # b1 takes 100 s, of which 10 are over, and so do three others
    assert estimate.remaining() == 90.0 + 300.0


def test_many_kinds_tell_about_the_others() -> None:
    estimate, clock = begun("a1 b1 c1 d1 e1 f1 g1 h1 i1 j1 k1 l1")
    for i, key in enumerate(("a1", "b1", "c1")):
        assert estimate.remaining() is None
        estimate.happened(Event("progress", chunk=(key,)))
        clock.now = 10.0 * (i + 1)
        estimate.happened(Event("run", key, "finished", 1.0, 10.0))
    assert estimate.remaining() == 90.0


def test_earlier_calls_tell_what_kinds_take() -> None:
    known = Costs()
    known.add("a", 2.0)
    known.add("b", 50.0)
    estimate, clock = begun("a1 a2 b1 b2", known)
    assert estimate.remaining() is None  # too early
    clock.now = 3.0
    assert estimate.remaining() == 104.0
    estimate.happened(Event("progress", chunk=("b1",)))
    estimate.happened(Event("progress", chunk=("b2",)))
    clock.now = 13.0
    assert estimate.remaining() == 42.0  # two workers: 40 + 40 + 4 seconds of work
    estimate.happened(Event("run", "b1", "finished", 1.0, 10.0))  # this machine is faster
    assert estimate.remaining() == 2.0


def test_the_last_chunk_is_not_shared() -> None:
    estimate, clock = begun("a1 a2")
    estimate.happened(Event("progress", chunk=("a1",)))
    estimate.happened(Event("progress", chunk=("a2",)))
    clock.now = 10.0
    estimate.happened(Event("run", "a1", "finished", 1.0, 10.0))
    estimate.happened(Event("progress", chunk=("a2",), fraction=0.2))
    assert estimate.remaining() == 40.0


def test_a_second_attempt_does_not_run_backwards() -> None:
    estimate, clock = begun("a1 a2 a3 a4")
    estimate.happened(Event("progress", chunk=("a1", "a2"), fraction=0.5))
    assert estimate.done == 1.0
    estimate.happened(Event("progress", chunk=("a1", "a2"), fraction=0.25))
    assert estimate.done == 1.0
    # their worker was killed: each is tried again alone
    estimate.happened(Event("progress", chunk=("a1",)))
    estimate.happened(Event("progress", chunk=("a2",)))
    assert estimate.done == 0.0
    clock.now = 5.0
    estimate.happened(Event("run", "a1", "crashed", 1.0, 5.0, "killed"))
    estimate.happened(Event("run", "a1", "crashed", 1.0, 5.0, "killed"))  # said twice, counted once
    assert estimate.done == 1.0
    assert estimate.remaining() is None  # a crash tells nothing about how long a run takes


def test_an_event_costs_the_same_among_many_runs() -> None:
    def seconds(runs: int) -> float:
        estimate, _ = begun(" ".join(f"a{i}" for i in range(runs)))
        start = time.perf_counter()
        for i in range(2000):
            estimate.happened(Event("progress", chunk=(f"a{i}",), fraction=0.5))
            estimate.happened(Event("run", f"a{i}", "finished", 1.0, 1.0))
            _ = estimate.done, estimate.remaining()
        return time.perf_counter() - start

    few, many = min(seconds(2000) for _ in range(3)), min(seconds(40_000) for _ in range(3))
    assert many < 5 * few
