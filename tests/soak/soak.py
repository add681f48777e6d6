"""Kills a small experiment again and again at random moments, resumes it, and compares it with an undisturbed one.

``python tests/soak/soak.py --kills 1000 [--runs 12] [--seed 0] [--folder DIR]`` prints counts and ends with 1 if
anything is wrong. After each kill: no process is left, the store verifies, nothing that was stored is gone, nothing
differs from the undisturbed experiment. After each experiment: it equals the undisturbed one, and every flipped byte
is found.

With ``--broken`` the store publishes runs file by file, as it must not; then it ends with 1 if nothing is found wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from beyondkernels.store import Store

DRIVE = Path(__file__).with_name("drive.py")
BROKEN = "BK_SOAK_BROKEN"
VICTIMS = ("parent", "group", "worker")
FLIPS = 8


@dataclass
class Soak:
    """One call of this program.

    Arguments:
        folder: where everything is kept; new or empty.
        kills: how many.
        random: decides when, and which worker.
        runs: how many an experiment has.
        broken: whether runs are published as they must not be, so that the first thing wrong is enough.
    """

    folder: Path
    kills: int
    random: random.Random
    runs: int = 12
    broken: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Kill until enough is killed."""
        began = time.monotonic()
        if self.start(self.folder / "undisturbed", broken=False).wait() != 0:
            raise SystemExit((self.folder / "undisturbed" / "log").read_text())
        self.duration = time.monotonic() - began
        self.expected = results(Store.open(self.folder / "undisturbed" / "store"))
        self.answer = (self.folder / "undisturbed" / "result.json").read_bytes()
        while self.killed < self.kills and not (self.broken and self.wrong):
            self.experiment(self.folder / f"experiment{self.counts['experiments']}")
            print(f"{self.killed} of {self.kills} kills, {len(self.wrong)} things wrong", file=sys.stderr, flush=True)

    @property
    def killed(self) -> int:
        return sum(self.counts[f"killed: {victim}"] for victim in VICTIMS)

    def start(self, place: Path, broken: bool) -> subprocess.Popen[bytes]:
        place.mkdir(exist_ok=True)
        log = (place / "log").open("ab")
        command = [sys.executable, str(DRIVE), str(place / "store"), str(place / "result.json"), str(self.runs)]
        with log:
            surroundings = {**os.environ, BROKEN: "yes"} if broken else None
            return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True, env=surroundings)

    def experiment(self, place: Path) -> None:
        """One experiment, killed until it comes to its end by itself."""
        times = 0
        before: dict[tuple[str, str], bytes] = {}
        while True:
            began = time.monotonic()
            process = self.start(place, self.broken)
            disturbed = self.killed < self.kills and self.disturb(process, place / "store")
            times += disturbed
            code = process.wait(timeout=600)
            if not disturbed:  # it was over before its time: the machine has become quicker, or little was left
                self.duration = (self.duration + time.monotonic() - began) / 2
            if (left := still_running(process.pid)) and not gone(left):
                self.complain("processes left behind", f"{place.name}: {left}")
            before = self.look(place, before)
            if code == 0:
                break
            if code != -signal.SIGKILL:
                self.complain("failed by itself", f"{place.name}: exit code {code}, see its log")
                break
        self.counts["experiments"] += 1
        self.counts["experiments resumed"] += times > 0
        if before == self.expected and (place / "result.json").read_bytes() == self.answer:
            self.counts["experiments equal to the undisturbed one"] += 1
        else:
            self.complain("experiments that differ", place.name)
        self.flip(place)

    def disturb(self, process: subprocess.Popen[bytes], store: Path) -> bool:
        """Kill the parent, all of them or a worker, in turn, after a random while; whether any was left to kill.

        Every other time it waits until a run is being written, a few milliseconds that are seldom hit by chance.
        """
        time.sleep(self.random.uniform(0.0, self.duration))
        victim = VICTIMS[self.killed % len(VICTIMS)]
        if self.random.random() < 0.5 and seen_writing(store):
            self.counts["aimed at a run being written"] += 1
            time.sleep(self.random.uniform(0.0, 0.005))
        workers = children(process.pid)
        if process.poll() is not None or (victim == "worker" and not workers):
            return False
        try:
            if victim == "group":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                os.kill(self.random.choice(workers) if victim == "worker" else process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        self.counts[f"killed: {victim}"] += 1
        return True

    def look(self, place: Path, before: dict[tuple[str, str], bytes]) -> dict[tuple[str, str], bytes]:
        """What is stored now; complains about what is damaged, gone or different."""
        if not (place / "store" / "store.json").exists():
            return before
        store = Store.open(place / "store")
        if findings := store.verify():
            self.complain("damaged after a kill", f"{place.name}: {findings}")
        after = results(store)
        if not before.items() <= after.items():
            self.complain("stored and gone", place.name)
        if not after.items() <= self.expected.items():
            self.complain("different from the undisturbed", place.name)
        self.counts["checkpoints seen"] += len(store.checkpoints.keys())
        for draft in (store.path / "tmp").rglob("*"):
            os.utime(draft, (0, 0))
        Store.open(store.path)  # which sweeps what is old
        if left := list((store.path / "tmp").iterdir()):
            self.complain("drafts left behind", f"{place.name}: {left}")
        return after

    def flip(self, place: Path) -> None:
        """Flip bytes of the store, one at a time; each must be found."""
        store = Store.open(place / "store")
        files = sorted(path for folder in ("runs", "requests") for path in (store.path / folder).rglob("*.*"))
        for _ in range(FLIPS):
            path = self.random.choice(files)
            content = path.read_bytes()
            flipped = bytearray(content)
            flipped[self.random.randrange(len(content))] ^= 1 << self.random.randrange(8)
            path.write_bytes(flipped)
            self.counts["bytes flipped"] += 1
            if len(store.verify()) == 1:
                self.counts["bytes flipped and found"] += 1
            else:
                self.complain("flipped bytes not found", str(path.relative_to(store.path)))
            path.write_bytes(content)

    def complain(self, what: str, details: str) -> None:
        self.counts[f"WRONG: {what}"] += 1
        self.wrong.append(f"{what}: {details}")


def results(store: Store) -> dict[tuple[str, str], bytes]:
    """What the runs left, without when and where they were made."""
    return {
        (path.parent.name, path.name): path.read_bytes()
        for path in store.path.glob("runs/*/*/*")
        if path.name in ("spec.json", "result.json", "arrays.npz")
    }


def seen_writing(store: Path, seconds: float = 0.5) -> bool:
    """Whether some run comes to be written within some seconds; at once when its last file is there."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(FileNotFoundError):  # drafts come and go
            if any((draft / "done.json").exists() for draft in (store / "tmp").iterdir()):
                return True
    return False


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def still_running(session: int) -> list[int]:
    """The processes of a session that have not ended."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                state, _, _, its_session = (entry / "stat").read_text().rsplit(")", 1)[1].split()[:4]
            except OSError:
                continue
            if int(its_session) == session and state not in "ZX":
                found.append(int(entry.name))
    return found


def gone(processes: list[int], seconds: float = 10.0) -> bool:
    """Whether processes end within some seconds."""
    end = time.monotonic() + seconds
    while any(Path(f"/proc/{pid}").exists() for pid in processes):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description="Kill a small experiment at random moments and see what it costs.")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=12, help="of one experiment")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, default=None, help="keep everything here")
    parser.add_argument("--broken", action="store_true", help="publish runs as they must not be, and find it out")
    options = parser.parse_args()
    for ending in (signal.SIGINT, signal.SIGTERM):  # either way the counts so far are printed
        signal.signal(ending, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        soak = Soak(folder, options.kills, random.Random(options.seed), options.runs, options.broken)
        began = time.monotonic()
        try:
            soak.run()
        except KeyboardInterrupt:
            print("interrupted; so far:")
        for name, count in sorted(soak.counts.items()):
            print(f"{count:6d}  {name}")
        for sentence in soak.wrong:
            print(f"WRONG: {sentence}")
        print(f"{soak.killed} kills in {time.monotonic() - began:.0f} s, {len(soak.wrong)} things wrong")
    return 0 if bool(soak.wrong) == options.broken else 1


if __name__ == "__main__":
    sys.exit(main())
