"""Standard output that breaks, is full or is closed: the run goes on, its files are written, its exit code is right."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from beyondkernels.store import Store

BK = (sys.executable, "-m", "beyondkernels")
ENDS = ((10, 0), (-1, 1))
"""Bounds of the claim, and how the command ends: it holds, it fails. The second finds the runs of the first."""


def words_of(user: Path, bound: int) -> list[str]:
    return [
        *BK, "run", f"{user}:Plain", "--scale", "smoke", "--workers", "1", "--store", "store", "--json", "out.json",
        "--check", "--set", f"bound={bound}",
    ]  # fmt: skip


def check(process: Any, folder: Path, code: int, ended: int | None = None) -> None:
    assert process.returncode == (code if ended is None else ended), process.stderr
    (result,) = json.loads((folder / "out.json").read_text())["results"]
    assert [claim["holds"] for claim in result["claims"]] == [code == 0]
    assert len(Store.open(folder / "store", read_only=True).keys()) == 4
    (folder / "out.json").unlink()


@pytest.mark.parametrize("both", [False, True])
def test_a_reader_who_leaves(user: Path, tmp_path: Path, both: bool) -> None:
    for bound, code in ENDS:
        read, write = os.pipe()
        os.close(read)  # as head does once it has its line
        with os.fdopen(write, "wb") as broken:
            process = subprocess.run(
                words_of(user, bound), cwd=tmp_path, stdout=broken, stderr=broken if both else subprocess.PIPE,
                check=False, timeout=120,
            )  # fmt: skip
        check(process, tmp_path, code)
        assert both or b"Traceback" not in process.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_output(user: Path, tmp_path: Path) -> None:
    for bound, code in ENDS:
        with Path("/dev/full").open("wb") as full:
            process = subprocess.run(
                words_of(user, bound), cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False, timeout=120
            )
        check(process, tmp_path, code, code or 2)
        last = process.stderr.decode().splitlines()[-1]
        assert last == "bk: standard output cannot be written: no space left on device"


@pytest.mark.parametrize("closed", [(2,), (0, 1, 2)])
def test_a_closed_output(user: Path, tmp_path: Path, closed: tuple[int, ...]) -> None:
    for bound, code in ENDS[:1]:
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


def test_json_on_standard_output(user: Path, tmp_path: Path) -> None:
    words = [word for word in words_of(user, 10) if word not in ("--json", "out.json")]
    process = subprocess.run([*words, "--json", "-"], cwd=tmp_path, capture_output=True, check=True, timeout=120)
    (result,) = json.loads(process.stdout)["results"]  # and nothing beside it
    assert [claim["holds"] for claim in result["claims"]] == [True]
    assert b"Its one claim holds" in process.stderr
    assert not (tmp_path / "-").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_json_that_does_not_arrive_is_no_success(user: Path, tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        process = subprocess.run(
            [*words_of(user, 10), "--json", "-"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False,
            timeout=120,
        )  # fmt: skip
    assert process.returncode == 2
    last = process.stderr.decode().splitlines()[-1]
    assert last == "bk: standard output cannot be written: no space left on device; the JSON document is lost"
    assert len(Store.open(tmp_path / "store", read_only=True).keys()) == 4


def test_tab_completion() -> None:
    def complete(*words: str) -> list[str]:
        asked = {"_BK_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
        program = "import sys; sys.argv[0] = 'bk'; from beyondkernels.cli import main; main()"
        answer = subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, **asked}, capture_output=True, text=True, check=False,
            timeout=120,
        )  # fmt: skip
        assert "Traceback" not in answer.stderr
        return answer.stdout.split()

    assert complete("bk", "run", "resnet/fig2") == ["resnet/fig2a", "resnet/fig2b"]
    assert complete("bk", "show", "features/table1-") == ["features/table1-strong"]
    assert complete("bk", "run", "--scale", "l") == ["laptop"]
    assert complete("bk", "de") == ["demo"]
