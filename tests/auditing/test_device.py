"""An audit on another device than the processor, as far as a machine without one can show it."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import beyondkernels as bk
from beyondkernels.core import Learner
from two_devices import DEVICE, TwoDevices

torch.set_num_threads(1)
IMAGES = bk.core.Stream(0).normal(30, 1, 5, 5)
LABELS = (IMAGES[:, 0, 0, 0] * IMAGES[:, 0, 1, 1] > 0).long()


def audited(device: str) -> Any:
    layers = nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Dropout(0.2), nn.Flatten(), nn.Linear(27, 2)
    options: dict[str, Any] = {"seeds": 1, "steps": 3, "batch": 8, "points": 6, "snapshots": 3, "progress": False}
    never_there = (
        "linear",
        "Laplace kernel",
        "Gaussian kernel",
        "RBF support vector machine",
        "feature machine",
        "tangent kernel",
    )
    return bk.audit(nn.Sequential(*layers), (IMAGES, LABELS), device=device, without=never_there, **options)


def test_all_numbers_are_those_of_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels and whatever is measured stay on the processor, while networks train on the device."""
    monkeypatch.setattr("beyondkernels.engine.ensemble._WORTH", 10**9)  # a tape is for the processor
    monkeypatch.setattr(Learner, "runs_on", lambda _self, device: device == "cpu")  # the other one is "cpu:0"
    here = audited("cpu")
    with TwoDevices() as mode:
        there = audited(DEVICE)
    assert mode.operations > 1000
    assert not there.result.missing
    assert here.sentence == there.sentence
    for name in ("ladder", "frozen", "correction", "when", "layers"):
        one, other = (getattr(found, name).drop(columns="seconds", errors="ignore") for found in (here, there))
        assert len(one) > 1
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    assert here.directions.keys() == there.directions.keys() and len(here.directions) == 8
    for name, array in here.directions.items():
        np.testing.assert_array_equal(array, there.directions[name])
