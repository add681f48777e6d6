"""Writes one run again and again, killed at its first system call that changes the disk, its second, and so on.

Called with the path of a store; prints how many calls a write needs, once it survives.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from beyondkernels.core import Outcome
from beyondkernels.store import Store, key_of

CALLS = [(os, name) for name in ("write", "fsync", "mkdir", "rename", "open")]
DESCRIPTION = {"class": "a run", "revision": 1, "fields": {}}


def fail_at(count: int, fail: Callable[[], None], setting: Callable[..., None] = setattr) -> list[int]:
    """Let the disk fail from the given call on, counting from zero; gives a list of one number, the calls so far."""
    calls = [0]

    def failing(real, name):
        def call(*arguments, **options):
            if name == "open" and not arguments[1] & os.O_CREAT:  # reading is always possible
                return real(*arguments, **options)
            if calls[0] >= count:
                fail()
            calls[0] += 1
            return real(*arguments, **options)

        return call

    for owner, name in CALLS:
        setting(owner, name, failing(getattr(owner, name), name))
    return calls


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def write(store: Store) -> None:
    store.write(key_of(DESCRIPTION), DESCRIPTION, Outcome("finished", {"x": 1.0}, {}, {"a": np.arange(9)}), {})


def main(path: str) -> None:
    store = Store.open(path)
    count = 0
    while not store.has(key_of(DESCRIPTION)):
        child = os.fork()
        if child == 0:
            fail_at(count, die)
            write(store)
            os._exit(0)
        os.waitpid(child, 0)
        assert store.verify() == []
        count += 1
    assert store.verify() == []
    assert store.read(key_of(DESCRIPTION)).outcome.arrays["a"].tolist() == list(range(9))
    print(count, len(list(Path(path, "tmp").iterdir())))


if __name__ == "__main__":
    main(sys.argv[1])
