"""``bk bench engine``: a grid of small networks against a plain loop over them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import torch

from beyondkernels.algorithms import GradientDescent, Squared
from beyondkernels.bench.jax_peer import installed, jax_grid
from beyondkernels.bench.timing import alternating, one_core
from beyondkernels.core import Sample, Stream
from beyondkernels.engine import Member, train
from beyondkernels.networks import ThreeLayerResNet, popular_initialisation

D, K, N, BATCH, MEMBERS = 30, 15, 500, 50, 48
RATES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05)
_STREAM = Stream(0).child("bench")


@dataclass(frozen=True)
class Row:
    """One network, width and backend: the grid of 48 members, each with its own batch order, on one core.

    Arguments:
        network: the form of the three-layer ResNet.
        width: m.
        members: how many networks are trained.
        backend: ``eager`` or ``compiled``.
        ratio_plain: the plain loop's time by ours, compiling included.
        ratio_jax: the time of a jitted vmap and scan by ours; None where JAX is not installed.
        sgemm_fraction: the steps' multiplications and additions a second, by those of a large matrix product.
        two_workers: the time of one worker process by that of two; None where it was not measured.
        seconds: ours, for all members and epochs.
    """

    network: str
    width: int
    members: int
    backend: str
    ratio_plain: float
    ratio_jax: float | None
    sgemm_fraction: float
    two_workers: float | None
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """The row as plain data."""
        return asdict(self)


def rows(epochs: int = 800, widths: tuple[int, ...] = (20, 200, 1000)) -> Iterator[Row]:
    """The rows one after the other.

    Arguments:
        epochs: of the whole grid; the plain loop and the eager backend are timed on a part and scaled up.
        widths: m.
    """
    with one_core():
        speed = sgemm_rate()
        for width in widths:
            for form in ("bottleneck", "full"):
                for backend in ("compiled", "eager"):
                    yield measure(form, width, backend, epochs, speed)


def measure(
    form: Literal["bottleneck", "full"],
    width: int,
    backend: Literal["compiled", "eager"],
    epochs: int,
    speed: float,
) -> Row:
    """One comparison: seconds a step and member of both, on as many steps as take a second or two."""
    network = ThreeLayerResNet(width, form, parameterisation=popular_initialisation(width))
    steps = epochs * (N // BATCH)
    fast = backend == "compiled"
    # what is too long to be timed whole is timed in part: fewer steps, and fewer members where more gain nothing
    part = min(steps, (steps if width < 100 else 1000) if fast else (400 if width < 500 else 40))
    chunk = min(MEMBERS, MEMBERS if width < 100 else max(1, (1600 if fast else 6400) // width))
    plain_part = min(steps, 400 if width < 500 else 100)
    start = compile_seconds() if fast else 0.0
    ours, plain = alternating(engine(network, backend, part, chunk), plain_loop(network, plain_part), repeats=3)
    each = ours / (part * chunk) + start / (steps * MEMBERS)
    rate = flops(network) / each
    jax = jax_seconds(network, plain_part)
    workers = two_workers(width, steps) if backend == "compiled" and form == "bottleneck" else None
    return Row(
        form,
        width,
        MEMBERS,
        backend,
        plain / plain_part / each,
        None if jax is None else jax / each,
        rate / speed,
        workers,
        each * steps * MEMBERS,
    )


def sample() -> Sample:
    """Points of the hypercube and labels; what is learned does not matter to the clock."""
    x = (_STREAM.child("x").uniform(N, D) < 0.5).float() * 2 - 1
    return Sample(x, _STREAM.child("y").normal(N, K))


def engine(
    network: ThreeLayerResNet, backend: Literal["compiled", "eager"], steps: int, members: int
) -> Callable[[], None]:
    """Members of the grid, ready to be started and trained."""
    data = sample()

    def run() -> None:
        grid = [
            Member(network, _rule(steps, i), data, _STREAM.child("member", str(i)), backend) for i in range(members)
        ]
        for member in grid:
            member.start(D, K)
        with torch.no_grad():
            train(grid, [frozenset(range(0, steps, max(1, steps // 50)))] * members, lambda _: None)

    return run


def plain_loop(network: ThreeLayerResNet, steps: int) -> Callable[[], None]:
    """One network in plain PyTorch: what a careful user would write."""
    data, d, k, m = sample(), D, K, network.width

    class Plain(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Linear(d, m)
            self.second = torch.nn.Linear(k if network.form == "bottleneck" else m, m)
            self.readout = torch.nn.Linear(m, k, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.relu(self.first(x))
            if network.form == "full":
                return self.readout(h + torch.relu(self.second(h)))
            out = self.readout(h)
            return out + self.readout(torch.relu(self.second(out)))

    def run() -> None:
        model = Plain()
        optimiser = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=1e-3, fused=True)
        generator = torch.Generator().manual_seed(0)
        done = 0
        while done < steps:
            for rows in torch.randperm(N, generator=generator).split(BATCH)[: steps - done]:
                loss = (model(data.x[rows]) - data.y[rows]).square().sum(1).mean()
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                done += 1

    return run


def flops(network: ThreeLayerResNet) -> float:
    """Multiplications and additions of one step of one member, all parameters trained, products only."""
    m, b = network.width, BATCH
    first, readout = D * m * 2, m * K
    inner = K * m * 3 if network.form == "bottleneck" else m * m * 3
    uses = 6 if network.form == "bottleneck" else 3
    return 2.0 * b * (first + inner + readout * uses)


def sgemm_rate() -> float:
    """Multiplications and additions a second of a large single-precision product on one core."""
    a = torch.ones(1024, 1024)
    seconds, _ = alternating(lambda: a @ a, lambda: None, repeats=10)
    return 2 * 1024**3 / seconds


def compile_seconds() -> float:
    """How long the compiled step takes to build in an empty cache."""
    code = "from beyondkernels.engine.compiled import available; assert available() is None"
    with tempfile.TemporaryDirectory() as folder:
        times = []
        for _ in range(2):  # the second finds it built: the difference is the compiler
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], env=os.environ | {"BK_CACHE": folder}, check=True)
            times.append(time.perf_counter() - start)
    return max(times[0] - times[1], 0.0)


def two_workers(width: int, steps: int) -> float | None:
    """The time of one process training half of the members after the other half, by that of two side by side."""
    if (os.cpu_count() or 1) < 2:
        return None
    code = (
        "import torch; torch.set_num_threads(1); from beyondkernels.bench import engine as e;"
        f"run = e.engine(e.ThreeLayerResNet({width}, 'bottleneck', parameterisation=e.popular_initialisation({width})),"
        f"'compiled', {steps}, {max(2, MEMBERS // 2 if width < 100 else 4 if width < 500 else 2)}); run();"
        "print('ready', flush=True); input(); run()"
    )

    def seconds(processes: int, rounds: int) -> float:
        best = float("inf")
        for _ in range(rounds):
            workers = [
                subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                for _ in range(processes)
            ]
            for worker in workers:
                assert worker.stdout is not None
                worker.stdout.readline()
            start = time.perf_counter()
            for worker in workers:
                assert worker.stdin is not None
                worker.stdin.write("\n")
                worker.stdin.flush()
            for worker in workers:
                worker.wait()
            best = min(best, time.perf_counter() - start)
        return best

    return 2 * seconds(1, 2) / seconds(2, 2)


def jax_seconds(network: ThreeLayerResNet, steps: int) -> float | None:
    """Seconds a step and member of the grid in JAX, without compiling; None where JAX is not installed."""
    if not installed():
        return None
    data, members = sample(), max(2, min(MEMBERS, 6400 // network.width))
    orders = [_STREAM.child("jax", str(i)).permutations(N, range(-(-steps // (N // BATCH)))) for i in range(members)]
    rows = torch.stack(orders).reshape(members, -1, BATCH)[:, :steps].numpy()
    rates = np.array([_rule(steps, i).learning_rate for i in range(members)])
    run = jax_grid(network.form, network.width, data.x.numpy(), data.y.numpy(), rows, rates)
    run()
    seconds, _ = alternating(run, lambda: None, repeats=2)
    return seconds / (steps * members)


def _rule(steps: int, i: int) -> GradientDescent:
    return GradientDescent(
        steps=steps,
        learning_rate=RATES[i % len(RATES)] / 10,
        batch=BATCH,
        momentum=0.9,
        weight_decay=1e-3,
        objective=Squared(),
    )
