"""A worker process: ``python -m beyondkernels.execution.worker PARENT`` with JSON lines on standard input and output.

It is told once where the store is and which files to load, then chunk after chunk. It writes each run to the store
itself and answers with events. It ends at once when its input ends, and so never outlives the process that started it.
"""

from __future__ import annotations

import ctypes
import json
import os
import queue
import signal
import sys
import threading
from dataclasses import asdict, replace
from typing import Any, NoReturn

from beyondkernels.core.components import admit, build, load_file
from beyondkernels.core.errors import InputError, StoreError
from beyondkernels.execution.chunk_worker import crashed, work
from beyondkernels.execution.events import Event
from beyondkernels.store.spec import RunSpec
from beyondkernels.store.store import Store

_PR_SET_PDEATHSIG = 1
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def main() -> NoReturn:
    """Work until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt reaches the whole terminal: the parent decides
    _end_with_parent(int(sys.argv[1]))
    keep_freed_memory()
    # Before anything of a user's is loaded, because importing a file may print already.
    inlet, outlet = _take_protocol()
    messages: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    # A thread of its own, so that the end of the input is noticed in the middle of a training.
    threading.Thread(target=_listen, args=(inlet, messages), daemon=True).start()
    guard = threading.Lock()

    def say(message: dict[str, Any]) -> None:
        line = memoryview(json.dumps(message).encode() + b"\n")
        try:
            with guard:  # a learner may report progress from any thread
                while line:
                    line = line[os.write(outlet, line) :]
        except OSError:
            os._exit(1)

    try:
        _serve(messages, say)
    except StoreError as error:
        say({"kind": "error", "error": "store", "message": str(error)})
    except InputError as error:
        say({"kind": "error", "error": "input", "message": str(error)})
    threading.Event().wait()  # the parent ends us when it has read this
    raise AssertionError


def _serve(messages: queue.SimpleQueue[dict[str, Any]], say: Any) -> NoReturn:
    start = messages.get()
    # In place, because other modules may hold this very list.
    sys.path[:] = start["path"]
    for file in start["load"]:
        load_file(file)
    for name in start["admit"]:  # the parent has these classes and functions from somewhere else and asks for them
        admit(name)
    # The parent chose the owner's name, so it can sweep the drafts of a worker that was killed.
    store = replace(Store.open(start["store"], create=False), owner=start["owner"])
    say({"kind": "ready"})

    def tell(event: Event) -> None:
        say({"kind": "event", "event": asdict(replace(event, error=None))})

    threads_set = False
    while True:
        chunk = messages.get()["chunk"]
        specs = [spec for key, description in chunk if (spec := _build(key, description, tell)) is not None]
        if specs and not threads_set:
            _use_one_thread()
            threads_set = True
        work(specs, store, start["provenance"], tell, start["save_every"])
        say({"kind": "done"})


def _build(key: str, description: dict[str, Any], tell: Any) -> RunSpec | None:
    try:
        spec: RunSpec = build(description).witnessed(description.get("witness"))
        # Code that was edited since the parent started would store numbers under a key that belongs to others.
        if spec.key != key:
            raise InputError("it has another key in the worker than in the process that asked for it")
    except Exception as error:  # a component that cannot be found or made here
        event = crashed(key, error, 0.0)
        tell(replace(event, message=f"a worker cannot build it: {event.message}"))
        return None
    return spec


def _use_one_thread() -> None:
    import torch  # after the first chunk is built: a worker that fails before need not wait for it

    torch.set_num_threads(1)
    # Workers already fill all processors; and with one thread sums have one order, so the bits do not depend on the
    # load.
    torch.set_num_interop_threads(1)


def keep_freed_memory() -> None:
    """Let the C library keep what tensors free for those that come next.

    Otherwise the system takes every large one back and clears another for the next: for networks of 100,000 neurons
    that took half of the time.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, 2**25)  # as far as the library would go by itself
        mallopt(_M_TRIM_THRESHOLD, 2**29)


def _take_protocol() -> tuple[int, int]:
    """Keep standard input and output for the protocol, and send whatever a learner prints to standard error."""
    # Copies under other numbers. What a learner, or a library in C, writes to number 1 then cannot break the protocol.
    inlet, outlet = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return inlet, outlet


def _listen(inlet: int, messages: queue.SimpleQueue[dict[str, Any]]) -> None:
    code = 1
    try:
        with os.fdopen(inlet, "rb") as lines:
            for line in lines:
                messages.put(json.loads(line))
        code = 0
    finally:
        os._exit(code)  # the parent closed the pipe or is gone: whatever is half done is not wanted


def _end_with_parent(parent: int) -> None:
    if sys.platform == "linux":  # a computation that never lets the listening thread in must end as well
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # it ended before the signal above was asked for
        os._exit(1)


if __name__ == "__main__":
    main()
