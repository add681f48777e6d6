"""Standard output that breaks, is full or is closed: the run goes on, its files are written, its exit code is right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from beyondkernels.runs import Store

BK = (sys.executable, "-m", "beyondkernels")
ENDS = {"holds": (10, 0), "fails": (-1, 1)}


def words_of(user: Path, bound: int) -> list[str]:
    return [
        *BK, "run", f"{user}:Plain", "--scale", "smoke", "--workers", "1", "--store", "store", "--json", "out.json",
        "--check", "--set", f"bound={bound}",
    ]  # fmt: skip


def check(process: Any, folder: Path, code: int) -> None:
    assert process.returncode == code, process.stderr
    (result,) = json.loads((folder / "out.json").read_text())["results"]
    assert [claim["holds"] for claim in result["claims"]] == [code == 0]
    assert len(Store.open(folder / "store", read_only=True).keys()) == 4


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("both", [False, True])
def test_a_reader_who_leaves(user: Path, tmp_path: Path, end: str, both: bool) -> None:
    bound, code = ENDS[end]
    read, write = os.pipe()
    os.close(read)  # as head does once it has its line
    with os.fdopen(write, "wb") as broken:
        process = subprocess.run(
            words_of(user, bound), cwd=tmp_path, stdout=broken, stderr=broken if both else subprocess.PIPE, check=False,
            timeout=120,
        )  # fmt: skip
    check(process, tmp_path, code)
    assert both or b"Traceback" not in process.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("end", ENDS)
def test_a_full_output(user: Path, tmp_path: Path, end: str) -> None:
    bound, code = ENDS[end]
    with Path("/dev/full").open("wb") as full:
        process = subprocess.run(
            words_of(user, bound), cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False, timeout=120
        )
    check(process, tmp_path, code)
    last = process.stderr.decode().splitlines()[-1]
    assert last == "bk: standard output cannot be written: no space left on device"


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("closed", [(1,), (2,), (0, 1, 2)])
def test_a_closed_output(user: Path, tmp_path: Path, end: str, closed: tuple[int, ...]) -> None:
    bound, code = ENDS[end]
    process = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {" ".join(f"{n}>&-" for n in closed)}', "sh", *words_of(user, bound)],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=120,
    )
    check(process, tmp_path, code)
    assert Store.open(tmp_path / "store").verify() == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_command_that_only_prints_has_failed_when_that_is_lost() -> None:
    for words in (("list", "--json"), ("show", "features/table1")):
        with Path("/dev/full").open("wb") as full:
            process = subprocess.run([*BK, *words], stdout=full, stderr=subprocess.PIPE, check=False, timeout=120)
        sentence = b"bk: standard output cannot be written: no space left on device; the answer is lost\n"
        assert (process.returncode, process.stderr) == (2, sentence)
