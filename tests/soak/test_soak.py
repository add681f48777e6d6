"""A few kills only; ``make soak`` does a thousand."""

import subprocess
import sys
from pathlib import Path

SOAK = Path(__file__).with_name("soak.py")


def test_a_few_kills(tmp_path: Path) -> None:
    command = [sys.executable, str(SOAK), "--kills", "3", "--runs", "4", "--folder", str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    counts = {
        name: int(number)
        for number, _, name in (line.strip().partition("  ") for line in answer.stdout.splitlines()[:-1])
    }
    assert [counts[f"killed: {victim}"] for victim in ("parent", "group", "worker")] == [1, 1, 1]
    assert counts["experiments"] == counts["experiments equal to the undisturbed one"] >= 1
    assert counts["bytes flipped"] == counts["bytes flipped and found"] >= 8
    assert "0 things wrong" in answer.stdout.splitlines()[-1]
