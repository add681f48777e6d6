"""Trains networks again and again in processes that are killed while they do, and then to their ends.

Called with the path of a store, backends in one word, and how many states each process may save; prints a line for each
backend: at which steps they died.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import torch

from beyondkernels.algorithms import GradientDescent, Squared
from beyondkernels.core import load_file
from beyondkernels.engine import TrainedNetwork
from beyondkernels.execution import SerialExecutor, perform
from beyondkernels.networks import FullyConnected, Parameterisation
from beyondkernels.papers.resnet.problems import CompositeParity
from beyondkernels.store import RunSpec, Store

growing = sys.modules.get("beyondkernels_user.growing") or load_file(Path(__file__).parents[1] / "growing.py")


def spec(backend: str, steps: int = 400) -> RunSpec:
    """A run on a backend, or one whose parameters change their shapes (``growing``)."""
    if backend == "growing":
        plain = GradientDescent(steps // 2, 0.005, 10, momentum=0.9, loss=Squared())
        looks = tuple(range(0, steps // 2, 5))  # it ends before its last step, so there are more occasions to save
        learner = TrainedNetwork(growing.Factored(12), growing.Growing(plain, enough=3.8), looks)
        return RunSpec(CompositeParity(dim=8, outputs=4), learner, 60, 30, 100)
    network = FullyConnected(width=12, depth=3, parameterisation=Parameterisation("standard", bias_variance=0.1))
    rule = GradientDescent(steps, 0.02, 10, momentum=0.9, weight_decay=0.001, loss=Squared(), drops=(150,))
    learner = TrainedNetwork(network, rule, record_at=(7, steps // 4, steps), backend=backend)  # pyright: ignore[reportArgumentType]
    return RunSpec(CompositeParity(dim=8, outputs=4), learner, 60, 30, 100)


def train(store: Store, backend: str) -> None:
    for event in SerialExecutor(save_every=0.0).execute([spec(backend)], store):
        assert event.status in (None, "finished"), event


def main(path: str, backends: str, *saves: str) -> None:
    torch.set_num_threads(1)
    store = Store.open(path)
    for backend in backends.split(","):
        perform([spec(backend, 8)])  # what is loaded late is loaded once, for all children
        print(*train_and_die(store, backend, saves), flush=True)


def train_and_die(store: Store, backend: str, saves: tuple[str, ...]) -> list[int]:
    state = store.path / "checkpoints" / f"{spec(backend).key}.state"
    died_at = []
    for most in map(int, saves):
        child = os.fork()
        if child == 0:
            train(store, backend)
            os._exit(0)
        seen = {_identity(state)}
        while len(seen) <= most and os.waitpid(child, os.WNOHANG) == (0, 0):
            seen.add(_identity(state))
            time.sleep(0.0005)
        os.kill(child, signal.SIGKILL)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
        died_at.append(json.loads(state.read_bytes().partition(b"\n")[0])["facts"]["counts"]["step"])
    train(store, backend)
    return died_at


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns


if __name__ == "__main__":
    main(*sys.argv[1:])
