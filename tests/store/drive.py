"""A process that executes toy runs and may be killed: ``drive.py STORE COUNT SECONDS NUMBERS [FIRST SEED]``.

It prints its events.
"""

import signal
import sys
from pathlib import Path

from beyondkernels.core import load_file
from beyondkernels.execution import LocalExecutor
from beyondkernels.store import RunSpec, Store

TOYS = Path(__file__).with_name("toys.py")


def specs(toys, count: int, seconds: float, numbers: int, first: int = 0) -> list[RunSpec]:
    learner = toys.Mean(seconds=seconds, numbers=numbers, at_once=2)
    return [RunSpec(toys.Line(), learner, 20, 10, seed) for seed in range(first, first + count)]


def main(path: str, count: str, seconds: str, numbers: str, first: str = "0") -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background processes ignore it otherwise
    wanted = specs(load_file(TOYS), int(count), float(seconds), int(numbers), int(first))
    store = Store.open(path)
    for event in LocalExecutor(2, [TOYS]).execute([spec for spec in wanted if not store.has(spec.key)], store):
        print(event.kind, event.key, event.status, event.message, flush=True)
    print("complete", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
