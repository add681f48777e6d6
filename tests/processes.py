"""Processes that tests start: which of them run, whose they are, and what they leave in a store."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from beyondkernels.store import Store


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(parent: int) -> list[int]:
    """The workers of a process, none if it has ended."""
    try:
        return [int(child) for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def wait_until(condition: Callable[[], Any], seconds: float = 100.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "this should have happened long ago"
        time.sleep(0.01)


def results(store: Store) -> dict[tuple[str, str], bytes]:
    """What does not differ from one call to the next of the stored runs, by key and file."""
    return {
        (path.parent.name, path.name): path.read_bytes()
        for path in store.path.glob("runs/*/*/*")
        if path.name in ("spec.json", "result.json", "arrays.npz")
    }
