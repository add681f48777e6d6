"""Fingerprints tell the user's code and values apart, and are the same in every process."""

from __future__ import annotations

import functools
import logging
import os
import subprocess
import sys
import types
from typing import Any

import numpy as np
import pytest
import torch

from beyondkernels.core import describe
from beyondkernels.core.fingerprints import fingerprint

SOURCE = """
WIDTH = {width}
CONFIG = {{"depth": {depth}}}

class Base:
    def size(self):
        return {size}

class Net(Base):
    pass

def helper(x):
    return x + WIDTH

def make(in_dim, out_dim):
    # {comment}
    return [Net(), helper(in_dim), (lambda: CONFIG["depth"])()]
"""


def factory(**changes: Any) -> Any:
    module = types.ModuleType("mine")
    exec(SOURCE.format(**{"width": 4, "depth": 2, "size": 1, "comment": "so", **changes}), vars(module))
    return vars(module)["make"]


@pytest.mark.parametrize("change", [{"width": 5}, {"depth": 3}, {"size": 2}])
def test_what_a_function_names_counts(change: dict[str, int]) -> None:
    assert fingerprint(factory()) == fingerprint(factory(comment="otherwise"))
    assert fingerprint(factory(**change)) != fingerprint(factory())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        ("ab", b"ab"),
        ((1, 2), (12,)),
        (torch.zeros(3), torch.ones(3)),
        (np.zeros(3), np.zeros(3, dtype=np.float32)),
        (torch.relu, torch.tanh),
        (torch.float32, torch.float64),
        (functools.partial(max, 1), functools.partial(max, 2)),
        (types.SimpleNamespace(scale=1.0), types.SimpleNamespace(scale=2.0)),
        (lambda x, y=1: x, lambda x, y=2: x),
    ],
)
def test_different_values_have_different_fingerprints(one: Any, other: Any) -> None:
    assert fingerprint(one) == fingerprint(one)
    assert fingerprint(one) != fingerprint(other)


def test_what_a_logger_keeps_does_not_count() -> None:
    """It remembers which levels were asked for, and refers to every other logger."""
    logger = logging.getLogger("beyondkernels.test")
    before = fingerprint(logger)
    logger.debug("asked for")
    logging.getLogger("beyondkernels.test.another")
    assert fingerprint(logger) == before


def test_the_numbers_and_parts_of_a_module_of_a_library_count() -> None:
    """A function may name a pretrained model of a library."""
    one, other = (torch.nn.Sequential(torch.nn.Linear(2, 2)) for _ in range(2))
    other.load_state_dict(one.state_dict())
    assert fingerprint(one) == fingerprint(other)
    with torch.no_grad():
        next(other.parameters()).add_(1)
    assert fingerprint(one) != fingerprint(other)
    assert fingerprint(one) != fingerprint(torch.nn.Sequential())


def test_what_is_known_counts_with_its_name() -> None:
    a, b = torch.zeros(2), torch.ones(2)
    assert fingerprint([a], known=[("it", a)]) == fingerprint([b], known=[("it", b)]) != fingerprint([a])
    assert fingerprint([a], known=[("it", a)]) != fingerprint([a], known=[("other", a)])


def test_what_refers_to_itself_has_an_end() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert fingerprint(ring) == fingerprint(ring)


def test_all_processes_agree() -> None:
    """Sets have another order under another hash seed, and objects other addresses."""
    program = (
        "from beyondkernels.core.fingerprints import fingerprint\n"
        "def f(x): return x in {'a', 'b', 'c'}\n"
        "print(fingerprint(f, {'x', 'y', 'z'}, object()))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (1, 2)
    }
    assert len(found) == 1


def named(in_dim: int, out_dim: int) -> int:
    return in_dim + out_dim


def test_a_function_of_the_user_is_described_with_its_code_and_one_of_a_library_by_its_name() -> None:
    assert describe(named)["source"] == fingerprint(named)
    assert describe(torch.nn.functional.relu) == {"function": "torch.nn.functional:relu"}
