"""``bk run`` ended at the wrong moment: no worker stays, nothing is lost, the same command goes on from there."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beyondkernels.core import load_file
from beyondkernels.execution import SerialExecutor
from beyondkernels.lab import run
from beyondkernels.store import Store
from processes import children, wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for workers in /proc")

SERIAL = SerialExecutor()


@contextlib.contextmanager
def start(*words: str, **surroundings: str) -> Iterator[subprocess.Popen[str]]:
    """``bk run`` in a process, a session and a process group of its own, ended with the block whatever happens."""
    command = [sys.executable, "-m", "beyondkernels", "run", *words]
    pipe = subprocess.PIPE
    around = {**os.environ, **surroundings}
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True, env=around) as process:
        try:
            yield process
        finally:
            process.kill()  # nothing if it has ended; otherwise the way out of the block would wait for ever


def orphans(parent: int) -> list[int]:
    """The processes that were started as workers of a process, whoever has adopted them since."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")  # empty if the process has ended
        except OSError:
            continue
        if b"beyondkernels.execution.worker" in words and str(parent).encode() in words:
            found.append(int(folder.name))
    return found


def stored(store: Path) -> int:
    return len(list(store.glob("runs/*/*/done.json")))


def rows(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))["results"][0]["rows"]


def kill_parent(words: tuple[str, ...], store: Path, workers: int, after: int) -> None:
    """Kill ``bk run`` when it has its workers and so many runs are stored."""
    with start(*words, "--workers", str(workers), USER_WAITS="yes") as parent:  # it would not end by itself
        wait_until(
            lambda: parent.poll() is not None or (len(children(parent.pid)) == workers and stored(store) >= after)
        )
        wait_until(lambda: len(orphans(parent.pid)) == workers, 20)
        parent.kill()
        parent.communicate()
    assert parent.returncode == -signal.SIGKILL
    wait_until(lambda: not orphans(parent.pid), 20)


def test_killed_at_any_moment(tmp_path: Path, user: Path) -> None:
    settings, plain = {"behaviour": "wait on a word", "guesses": "0,1,2,3,4,5"}, load_file(user).Plain()
    undisturbed = run(plain, "smoke", settings=settings, store=tmp_path / "quiet", executor=SERIAL)
    assert len(undisturbed.rows) == 12

    store, file = tmp_path / "store", tmp_path / "out.json"
    sets = (word for name, value in settings.items() for word in ("--set", f"{name}={value}"))
    words = (f"{user}:Plain", "--scale", "smoke", *sets, "--store", str(store), "--json", str(file))
    for workers, after in ((2, 0), (1, 1)):
        kill_parent(words, store, workers, after)
        assert Store.open(store).verify() == []
        assert not file.exists()
    before = stored(store)
    assert 1 <= before < 12

    with start(*words, "--workers", "2") as parent:
        out, err = parent.communicate(timeout=300)
    assert parent.returncode == 0, err
    assert "user/plain · smoke scale · 2 seeds" in out
    assert err.splitlines()[0] == f"user/plain: {12 - before} runs to do, {before} stored already"
    assert rows(file) == undisturbed.as_json()["rows"]
    assert Store.open(store).verify() == []
    assert stored(store) == 12
    assert orphans(parent.pid) == []


def test_interrupted(tmp_path: Path, user: Path) -> None:
    words = (f"{user}:Plain", "--scale", "smoke", "--workers", "2", "--store", str(tmp_path / "store"))
    with start(*words, "--set", "behaviour=wait", "--json", str(tmp_path / "out.json")) as parent:
        wait_until(lambda: stored(tmp_path / "store") >= 1)  # the rest waits for ever
        os.killpg(parent.pid, signal.SIGINT)  # as a terminal does it
        out, err = parent.communicate(timeout=60)
    assert parent.returncode == 130
    assert out == ""
    assert err.splitlines()[-1] == "bk: interrupted; finished runs are kept, the same command goes on from there"
    assert "Traceback" not in err
    assert orphans(parent.pid) == []
    assert not (tmp_path / "out.json").exists()
    assert Store.open(tmp_path / "store").verify() == []
    assert list((tmp_path / "store" / "tmp").iterdir()) == []
    kept = run(load_file(user).Plain(), "smoke", seeds=1, settings={"behaviour": "wait"},
               store=tmp_path / "store", executor=SERIAL)  # fmt: skip
    assert len(kept.rows) == 2


def test_interrupted_while_it_starts() -> None:
    program = "from beyondkernels.cli import main; main()"
    command = [sys.executable, "-c", program, "list"]
    began = time.monotonic()
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    usual = time.monotonic() - began
    ends, moments = [], 8
    for moment in range(moments):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            time.sleep(usual * moment / moments)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        ends.append(process.returncode)
        assert process.returncode in (0, 130, 1, -signal.SIGINT)
        # before main() has begun the traceback is Python's own, and no file of ours but the first two is in it
        places = re.findall(r"beyondkernels/([\w/]+\.py)", err)
        assert set(places) <= {"__init__.py", "cli/__init__.py"}, err
        assert "in main" not in err
    assert 130 in ends
