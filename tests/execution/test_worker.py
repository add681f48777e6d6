"""The worker process by itself, spoken to by hand."""

import json
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from beyondkernels.store import RunSpec
from processes import is_running, wait_until

TOYS = Path(__file__).parents[1] / "store" / "toys.py"
COMMAND = [sys.executable, "-P", "-m", "beyondkernels.execution.worker"]


@pytest.fixture
def start(store):
    message = {"path": sys.path, "load": [str(TOYS)], "admit": [], "owner": "parent", "store": str(store.path)}
    message |= {"provenance": {}, "save_every": 60.0}
    return json.dumps(message).encode() + b"\n"


def chunk(*specs):
    return json.dumps({"chunk": [[spec.key, spec.description] for spec in specs]}).encode() + b"\n"


def hear(stream):
    return json.loads(stream.readline())


def test_worker_speaks_lines_and_ends_with_its_input(toys, store, start):
    quick, slow = (RunSpec(toys.Line(), toys.Mean(seconds=seconds), 20, 10, 0) for seconds in (0.0, 30.0))
    with subprocess.Popen([*COMMAND, str(os.getpid())], stdin=-1, stdout=-1, stderr=-1, bufsize=0) as worker:
        assert worker.stdin is not None
        worker.stdin.write(start + chunk(quick))
        assert hear(worker.stdout) == {"kind": "ready"}
        kinds = []
        while (message := hear(worker.stdout))["kind"] != "done":
            kinds.append((message["event"]["kind"], message["event"]["key"], message["event"]["status"]))
        assert kinds[-1] == ("run", quick.key, "finished")
        worker.send_signal(signal.SIGINT)  # the parent's business
        worker.stdin.write(chunk(slow))
        assert hear(worker.stdout)["event"]["kind"] == "progress"
        worker.stdin.close()  # in the middle of its work
        assert worker.wait(20) == 0
    assert store.keys() == [quick.key]


def test_worker_of_a_process_that_is_gone_ends_at_once(start):
    answer = subprocess.run([*COMMAND, str(2**22 + 1)], input=start, capture_output=True, timeout=10, check=False)
    assert (answer.returncode, answer.stdout, answer.stderr) == (1, b"", b"")


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's help is Linux's")
def test_kernel_ends_a_worker_whose_input_stays_open(start):
    # this test holds the worker's input, a shell is its parent and is killed
    script = 'exec 3<&0; "$0" "$@" $$ <&3 3<&- & echo $!; wait'
    with subprocess.Popen(["/bin/sh", "-c", script, *COMMAND], stdin=-1, stdout=-1, bufsize=0) as shell:
        assert shell.stdin is not None
        pid = hear(shell.stdout)
        shell.stdin.write(start)
        assert hear(shell.stdout) == {"kind": "ready"}
        assert is_running(pid)
        shell.kill()
        wait_until(lambda: not is_running(pid), 20)
        shell.stdin.close()


def test_key_that_differs_in_the_worker_is_not_stored(toys, store, start):
    spec = RunSpec(toys.Line(), toys.Mean(), 20, 10, 0)
    wrong = json.dumps({"chunk": [["0" * 32, spec.description]]}).encode() + b"\n"
    with subprocess.Popen([*COMMAND, str(os.getpid())], stdin=-1, stdout=-1, bufsize=0) as worker:
        assert worker.stdin is not None
        worker.stdin.write(start + wrong)
        assert hear(worker.stdout) == {"kind": "ready"}
        event = hear(worker.stdout)["event"]
        assert (event["key"], event["status"]) == ("0" * 32, "crashed")
        assert "another key in the worker" in event["message"]
        worker.stdin.close()
    assert store.keys() == []


_PAGES_FOR_TWENTY = """
import resource, sys, numpy
from beyondkernels.execution.worker import keep_freed_memory
if sys.argv[1] == "kept":
    keep_freed_memory()
def pages():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
numpy.ones(2**21), numpy.ones(2**21)  # 32 MiB in all
before = pages()
for _ in range(20):
    numpy.ones(2**21), numpy.ones(2**21)
print(pages() - before)
"""


@pytest.mark.skipif("glibc" not in platform.libc_ver()[0], reason="the C library's help is glibc's")
def test_large_tensors_take_the_memory_of_those_before():
    kept, given_back = (
        int(subprocess.run([sys.executable, "-c", _PAGES_FOR_TWENTY, way], capture_output=True, check=True).stdout)
        for way in ("kept", "given back")
    )
    assert kept < given_back / 10
