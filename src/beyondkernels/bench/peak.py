"""``python -m beyondkernels.bench.peak module:function``: the peak memory of what the function returns, in bytes."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import torch

_RESET_PEAK = "5"
"""What Linux takes to begin a process's peak memory anew."""


def main() -> None:
    """Prepare, then measure: what preparing took does not count."""
    torch.set_num_threads(1)
    module, _, name = sys.argv[1].partition(":")
    work = getattr(importlib.import_module(module), name)()
    Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
    before = _peak()
    work()
    print(_peak() - before)


def _peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    main()
