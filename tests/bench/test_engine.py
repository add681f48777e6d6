"""The engine's benchmark: that both sides do the same work, and that a small one runs."""

import math
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest
import torch

from beyondkernels.bench import engine
from beyondkernels.bench.timing import children_time, in_turns, pinned, processor_seconds
from beyondkernels.networks import ThreeLayerResNet, popular_initialisation

KEYS = {"network", "width", "members", "backend", "ratio_plain", "ratio_jax", "sgemm_fraction", "two_workers"}


def test_small_rows(monkeypatch):
    monkeypatch.setattr(engine, "two_workers", lambda *_: 1.9)
    monkeypatch.setattr(engine, "compile_seconds", lambda: 0.5)
    monkeypatch.setattr(engine, "installed", lambda: False)
    monkeypatch.setattr(engine, "MEMBERS", 3)
    rows = list(engine.rows(epochs=1, widths=(4,)))
    assert [(row.network, row.backend) for row in rows] == [
        ("bottleneck", "compiled"), ("bottleneck", "eager"), ("full", "compiled"), ("full", "eager")
    ]  # fmt: skip
    for row in rows:
        assert row.as_json().keys() >= KEYS
        assert math.isfinite(row.ratio_plain)
        assert row.sgemm_fraction > 0
        assert row.ratio_jax is None
    assert [row.two_workers for row in rows] == [1.9, None, None, None]


def test_each_row_is_there_before_the_next_is_measured(monkeypatch):
    measured = []
    monkeypatch.setattr(engine, "two_workers", lambda *_: None)
    monkeypatch.setattr(engine, "installed", lambda: False)
    monkeypatch.setattr(engine, "sgemm_rate", lambda: 1e9)
    row = engine.Row("bottleneck", 4, 48, "eager", 1.0, None, 0.5, None, 1.0, None)
    monkeypatch.setattr(engine, "measure", lambda *given: measured.append(given[2]) or row)
    rows = engine.rows(widths=(4,))
    for count in range(1, 5):
        next(rows)
        assert len(measured) == count


@pytest.mark.parametrize(("width", "members"), [(20, 48), (200, 9), (1000, 1)])
def test_ensembles_are_those_of_runs(width, members, monkeypatch):
    """Not of a size that flatters: of what a sweep would train at once, and its state is looked at as often."""
    seen = []
    monkeypatch.setattr(engine, "engine", lambda *given: seen.append(given) or (lambda: None))
    monkeypatch.setattr(engine, "plain_loop", lambda *_: lambda: None)
    engine.measure("bottleneck", width, "eager", 800, 1e9)
    assert seen[0][2:] == (2000, members, 400)


def test_waiting_is_not_work():
    """Of this process and of those it starts."""
    work = "import time\nwhile time.process_time() < 0.3: pass\ntime.sleep(0.5)"
    assert processor_seconds(lambda: time.sleep(0.3)) < 0.1
    start = processor_seconds(lambda: subprocess.run([sys.executable, "-c", work], check=True), children_time)
    assert 0.2 < start < 0.75


def test_one_thread_for_all_that_is_started_inside():
    code = "import os; print(len(os.sched_getaffinity(0)))"
    before = os.sched_getaffinity(0)
    with pinned():
        answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert answer == "1\n"
    assert os.sched_getaffinity(0) == before


def test_the_plain_loop_trains_as_long_as_it_says(monkeypatch):
    steps = []
    original = torch.optim.SGD.step
    monkeypatch.setattr(torch.optim.SGD, "step", lambda self, *a: steps.append(1) or original(self, *a))
    network = ThreeLayerResNet(4, "bottleneck", parameterisation=popular_initialisation(4))
    engine.plain_loop(network, 13)()
    assert len(steps) == 13


@pytest.mark.parametrize("form", ["bottleneck", "full"])
def test_the_arithmetic_is_counted_as_autograd_does_it(form):
    """Every product of a step, seen by torch's own counter."""
    from torch.utils.flop_counter import FlopCounterMode

    network = ThreeLayerResNet(64, form, parameterisation=popular_initialisation(64))
    params, _ = network.init(engine.D, engine.K, engine._STREAM)
    leaves = {name: value.requires_grad_() for name, value in params.items()}
    data = engine.sample()
    with FlopCounterMode(display=False) as counter:
        out = network.apply(leaves, {}, data.x[: engine.BATCH])[0]
        ((out - data.y[: engine.BATCH]) ** 2).sum().backward()
    # torch pads inputs to multiples of 16 and counts that too
    assert 1.0 <= counter.get_total_flops() / engine.flops(network) <= 1.15


def test_time_is_spread_over_the_whole_grid(monkeypatch):
    """Ten steps of three members in one second, the plain loop's 400 of one in 40, JAX's one in 0.1: by hand."""
    monkeypatch.setattr(engine, "MEMBERS", 3)
    monkeypatch.setattr(engine, "compile_seconds", lambda: 15.0)
    monkeypatch.setattr(engine, "engine", lambda *_: "ours")
    monkeypatch.setattr(engine, "plain_loop", lambda *_: "plain")
    monkeypatch.setattr(engine, "processor_seconds", {"ours": 1.0, "plain": 40.0}.get)
    peer = SimpleNamespace(seconds=lambda: 0.1, compile_seconds=2.0)
    compiled, eager = (engine.measure("bottleneck", 4, one, 1, 1e9, peer) for one in ("compiled", "eager"))  # type: ignore
    assert eager.ratio_plain == pytest.approx(0.1 / (1 / 30))
    assert eager.ratio_jax == pytest.approx(0.1 / (1 / 30))
    assert eager.seconds == pytest.approx(1.0)
    assert compiled.ratio_plain == pytest.approx(0.1 / (1 / 30 + 15 / 30))
    assert compiled.seconds == pytest.approx(16.0)
    assert eager.jax_compile_seconds == 2.0


def test_turns():
    """The best of each, in turns."""
    calls = []
    numbers = iter([5.0, 1.0, 3.0, 2.0])

    def timed(name: str) -> float:
        calls.append(name)
        return next(numbers)

    assert in_turns(lambda: timed("a"), lambda: timed("b"), repeats=2) == [3.0, 1.0]
    assert calls == ["a", "b", "a", "b"]
