"""The same grid in JAX, jitted and scanned over steps: a peer to be measured against, in a process of its own.

``python -m beyondkernels.bench.jax_peer FORM WIDTH STEPS`` builds the ways JAX could go, keeps the fastest, says which
(a line of JSON), and from then on runs it once for every line it is sent, answering with the processor seconds it took,
those of all threads together.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from beyondkernels.bench.timing import processor_seconds

D, K, N, BATCH, MEMBERS = 30, 15, 500, 50, 48
_ONE_THREAD = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false", "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}


def installed() -> bool:
    """Whether JAX can be imported; it is never a dependency."""
    return importlib.util.find_spec("jax") is not None


@dataclass(frozen=True)
class Way:
    """How JAX trains members: some of them vmapped, or one after the other."""

    vmapped: bool
    members: int

    def __str__(self) -> str:
        return f"vmap over {self.members}" if self.vmapped else "one after the other"


def ways(width: int) -> tuple[Way, ...]:
    """The ways that are tried: all members at once, as many as our ensembles have, and one after the other."""
    some = max(2, min(MEMBERS // 3, 2000 // width))
    return Way(True, MEMBERS if width < 500 else 8), Way(True, some), Way(False, 4)


class Peer:
    """JAX in a process of its own, on the cores (one, if the bench is pinned) that this process may use.

    Arguments:
        form: ``full`` or ``bottleneck``.
        width: m.
        steps: how many a run takes.
    """

    def __init__(self, form: str, width: int, steps: int) -> None:
        command = [sys.executable, "-m", "beyondkernels.bench.jax_peer", form, str(width), str(steps)]
        self._process = subprocess.Popen(
            command, env=os.environ | _ONE_THREAD, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        said = json.loads(self._line())
        self.way, self.compile_seconds = said["way"], said["compile_seconds"]
        self._each = steps * said["members"]

    def seconds(self) -> float:
        """Seconds a step and member of one run."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._line()) / self._each

    def close(self) -> None:
        self._process.communicate()

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the JAX process ended with {self._process.wait()}")
        return line


def grid(form: str, width: int, steps: int, way: Way) -> tuple[Callable[[], Any], float]:
    """Members of the grid as one compiled program, ready to run, and how long compiling it took."""
    jax: Any = importlib.import_module("jax")
    jnp: Any = importlib.import_module("jax.numpy")
    generator = np.random.default_rng(0)
    points = jnp.asarray((generator.random((N, D)) < 0.5).astype(np.float32) * 2 - 1)
    labels = jnp.asarray(generator.normal(size=(N, K)).astype(np.float32))

    def loss(params: Any, rows: Any) -> Any:
        h = jax.nn.relu(points[rows] @ params["W"] + params["b"])
        if form == "full":
            out = (h + jax.nn.relu(h @ params["U"] + params["c"])) @ params["A"]
        else:
            first = h @ params["A"]
            out = first + jax.nn.relu(first @ params["U"] + params["c"]) @ params["A"]
        return ((out - labels[rows]) ** 2).sum(1).mean()

    def member(params: Any, order: Any, rate: Any) -> Any:
        def step(state: Any, rows: Any) -> Any:
            params, velocity = state
            value, gradient = jax.value_and_grad(loss)(params, rows)
            velocity = jax.tree.map(lambda v, g, p: 0.9 * v + g + 1e-3 * p, velocity, gradient, params)
            return (jax.tree.map(lambda p, v: p - rate * v, params, velocity), velocity), value

        return jax.lax.scan(step, (params, jax.tree.map(jnp.zeros_like, params)), order)

    members, inner = way.members, K if form == "bottleneck" else width
    shapes = {"W": (D, width), "b": (width,), "U": (inner, width), "c": (width,), "A": (width, K)}
    epochs = -(-steps // (N // BATCH))
    orders = [np.concatenate([generator.permutation(N) for _ in range(epochs)]) for _ in range(members)]
    arguments = (
        {
            name: jnp.asarray(generator.normal(0, width**-0.5, (members, *shape)).astype(np.float32))
            for name, shape in shapes.items()
        },
        jnp.asarray(np.stack(orders).reshape(members, -1, BATCH)[:, :steps]),
        jnp.asarray(np.geomspace(1e-4, 5e-3, members).astype(np.float32)),
    )
    one_by_one = jax.jit(lambda *state: jax.lax.map(lambda each: member(*each), state))
    start = time.process_time()
    program = (jax.jit(jax.vmap(member)) if way.vmapped else one_by_one).lower(*arguments).compile()
    seconds = time.process_time() - start
    return lambda: jax.block_until_ready(program(*arguments)), seconds


def main(form: str, width: int, steps: int) -> None:
    """Keep the fastest way, then run it when asked."""
    tried = []
    for way in ways(width):
        run, compiling = grid(form, width, steps, way)
        run()  # the first run also sets memory up
        tried.append((min(processor_seconds(run) for _ in range(2)) / way.members, way, run, compiling))
    _, way, run, compiling = min(tried, key=lambda each: each[0])
    print(json.dumps({"way": str(way), "members": way.members, "compile_seconds": compiling}), flush=True)
    for _ in sys.stdin:
        print(processor_seconds(run), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
