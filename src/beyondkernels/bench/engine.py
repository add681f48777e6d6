"""``bk bench engine``: a grid of small networks against a plain loop over them.

Where the time goes: a plain loop spends most of its time on calling operations that are over before the next is called.
The eager backend trains many members by one call. Its products are small and filled up with zeros (15 to 16, 30 to 32,
200 to 208), without which a member's bits would depend on its company. The compiled backend passes once through a
member's numbers while they are in the cache. ``sgemm_fraction`` says how near each is to the speed of large products.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import torch

from beyondkernels.algorithms import GradientDescent, Squared
from beyondkernels.bench.jax_peer import BATCH, MEMBERS, D, K, N, Peer, installed
from beyondkernels.bench.timing import children_time, in_turns, pinned, processor_seconds
from beyondkernels.core import Sample, Stream
from beyondkernels.core.threads import one_thread
from beyondkernels.engine import Member, TrainedNetwork, train
from beyondkernels.engine.learner import LEAST_TICKS
from beyondkernels.networks import ThreeLayerResNet, popular_initialisation

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
        ratio_plain: the plain loop's processor time divided by ours, which includes compiling or recording a step.
        ratio_jax: JAX's processor time divided by ours. JAX is jitted and scanned over steps; of vmapped members and
            members one after the other the faster is taken, without the time to compile. None where JAX is missing.
        sgemm_fraction: the steps' multiplications and additions a second, divided by those of a large matrix product.
        two_workers: the time of one worker process divided by that of two; None where it was not measured.
        seconds: our processor time, for all members and epochs.
        jax_compile_seconds: what JAX needs to compile, once.
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
    jax_compile_seconds: float | None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def rows(epochs: int = 800, widths: tuple[int, ...] = (20, 200, 1000)) -> Iterator[Row]:
    """Each row when it has been measured.

    Arguments:
        epochs: of the whole grid, of which a part is timed.
        widths: m.
    """
    for width in widths:
        for form in ("bottleneck", "full"):
            with one_thread(), pinned():
                speed = sgemm_rate()
                peer = Peer(form, width, _peer_steps(width)) if installed() else None
            try:
                for backend in ("compiled", "eager"):
                    with one_thread(), pinned():
                        row = measure(form, width, backend, epochs, speed, peer)
                    both = backend == "compiled" and form == "bottleneck"
                    yield replace(row, two_workers=two_workers(width, epochs) if both else None)
            finally:
                if peer is not None:
                    peer.close()


def measure(
    form: Literal["bottleneck", "full"],
    width: int,
    backend: Literal["compiled", "eager"],
    epochs: int,
    speed: float,
    peer: Peer | None = None,
) -> Row:
    """One comparison: processor seconds for a step of a member, measured in turns, the best of each.

    Members train in ensembles of the size that runs have. One ensemble is timed, over fewer steps than the whole grid
    takes; the cost of its start counts in full. The compiler is needed once: its time counts by the ensemble's share.
    """
    network = ThreeLayerResNet(width, form, parameterisation=popular_initialisation(width))
    whole = epochs * (N // BATCH)
    steps = min(whole, 2000 if form == "bottleneck" or width < 100 else 500 if width < 500 else 200)
    members = min(MEMBERS, ensemble_size(network, backend, whole))
    if backend == "compiled":  # its members train one after the other: the time of a few is that of all
        members = min(members, max(1, 1600 // width))
    plain_steps = _peer_steps(width)
    ours, plain = engine(network, backend, steps, members, whole // LEAST_TICKS), plain_loop(network, plain_steps)
    others = [peer.seconds] if peer is not None else []
    times = in_turns(
        lambda: processor_seconds(ours) / (steps * members),
        lambda: processor_seconds(plain) / plain_steps,
        *others,
        repeats=3,
    )
    start = compile_seconds() if backend == "compiled" else 0.0
    each = times[0] + start / (whole * MEMBERS)
    return Row(
        form,
        width,
        MEMBERS,
        backend,
        times[1] / each,
        None if peer is None else times[2] / each,
        flops(network) / each / speed,
        None,
        each * whole * MEMBERS,
        None if peer is None else peer.compile_seconds,
    )


def ensemble_size(network: ThreeLayerResNet, backend: Literal["compiled", "eager"], steps: int) -> int:
    """How many members a run of many trains at once."""
    return TrainedNetwork(network, _rule(steps, 0), backend=backend).members_at_once(N, D, K)


def _peer_steps(width: int) -> int:
    return 400 if width < 500 else 100


def sample() -> Sample:
    """Points of the hypercube with random labels: what is learned does not change the time."""
    x = (_STREAM.child("x").uniform(N, D) < 0.5).float() * 2 - 1
    return Sample(x, _STREAM.child("y").normal(N, K))


def engine(
    network: ThreeLayerResNet, backend: Literal["compiled", "eager"], steps: int, members: int, stop_every: int
) -> Callable[[], None]:
    """Members of the grid, ready to be started and trained, with stops to look at them as runs have."""
    data = sample()

    def run() -> None:
        grid = [
            Member(network, _rule(steps, i), data, _STREAM.child("member", str(i)), backend) for i in range(members)
        ]
        for member in grid:
            member.start(D, K)
        with torch.no_grad():
            train(grid, [frozenset(range(0, steps, max(1, stop_every)))] * members, lambda _: None)

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
    return 2 * 1024**3 / in_turns(lambda: processor_seconds(lambda: a @ a), repeats=20)[0]


def compile_seconds() -> float:
    """How long the compiled step takes to build in an empty cache."""
    code = "from beyondkernels.engine.compiled import available; assert available() is None"
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"BK_CACHE": folder}
        times = [  # the second finds it built: the difference is the compiler
            processor_seconds(
                lambda: subprocess.run([sys.executable, "-c", code], env=environment, check=True), children_time
            )
            for _ in range(2)
        ]
    return max(times[0] - times[1], 0.0)


def two_workers(width: int, epochs: int) -> float | None:
    """The time of one process that trains two halves of the members in turn, divided by that of two side by side."""
    if (os.cpu_count() or 1) < 2:
        return None
    steps = epochs * (N // BATCH)
    members = MEMBERS // 2 if width < 100 else 4 if width < 500 else 2
    code = (
        "import torch; torch.set_num_threads(1); from beyondkernels.bench import engine as e;"
        f"run = e.engine(e.ThreeLayerResNet({width}, 'bottleneck', parameterisation=e.popular_initialisation({width})),"
        f"'compiled', {steps}, {members}, {steps // LEAST_TICKS}); run();"
        "print('ready', flush=True); input(); run()"
    )

    def together(processes: int, rounds: int) -> float:
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

    return 2 * together(1, 2) / together(2, 2)


def _rule(steps: int, i: int) -> GradientDescent:
    return GradientDescent(
        steps=steps,
        learning_rate=RATES[i % len(RATES)] / 10,
        batch=BATCH,
        momentum=0.9,
        weight_decay=1e-3,
        loss=Squared(),
    )
