"""Training on another device than the processor, as far as a machine without one can show it."""

from dataclasses import replace
from typing import Any

import pytest
import torch

import beyondkernels as bk
import images
from beyondkernels.core import InputError, Stream
from beyondkernels.engine import TrainedNetwork
from beyondkernels.execution import perform
from beyondkernels.kernels import ConstantClassifier, KernelRidge, PolynomialKernel
from beyondkernels.networks import FromModule, FullyConnected, Linearised, Parameterisation, ThreeLayerResNet, TwoLayer
from beyondkernels.store import RunSpec
from refusals import refused
from two_devices import DEVICE, MixedError, TwoDevices

PROBLEM = bk.features.DictionaryParity(dim=8, patterns=6, relevant=3)
COMPOSITE = bk.resnet.CompositeParity(dim=12, outputs=4, alpha=0.3)
SQUARED = bk.algorithms.GradientDescent(6, 0.01, batch=10, momentum=0.9, loss=bk.algorithms.Squared())
BOTTLENECK = ThreeLayerResNet(8, "bottleneck", parameterisation=Parameterisation("standard"))

PROCESS = bk.features.theorem26(PROBLEM, TwoLayer(4), steps=5, batch=10, readout_rate=5.0)

CASES: dict[str, tuple[Any, Any]] = {
    "descent": (COMPOSITE, TrainedNetwork(FullyConnected(6), SQUARED, record_at=(0, 3), record_points=5)),
    "whole sample": (PROBLEM, TrainedNetwork(TwoLayer(4), bk.algorithms.GradientDescent(5, 0.1))),
    "linearised": (COMPOSITE, TrainedNetwork(Linearised(FullyConnected(6)), SQUARED)),
    "snapshots": (
        COMPOSITE,
        TrainedNetwork(BOTTLENECK, SQUARED, snapshot_at=(0, 6), snapshot_names=("W.weight", "V.weight", "A.weight")),
    ),
    "layer by layer": (
        COMPOSITE,
        TrainedNetwork(
            ThreeLayerResNet(8, parameterisation=Parameterisation("standard")),
            bk.algorithms.Layerwise(SQUARED, SQUARED),
        ),
    ),
    "one pass": (COMPOSITE, TrainedNetwork(BOTTLENECK, bk.algorithms.OnePass(40, 0.01, 0.02, end="average"))),
    "drawn noise": (PROBLEM, TrainedNetwork(TwoLayer(4), bk.algorithms.FeatureLearning(PROCESS, noise_kind="drawn"))),
    "module": (
        images.Stripes(),
        TrainedNetwork(FromModule(images.rows_and_columns, "convolution"), replace(SQUARED, steps=3)),
    ),
}


def spec(name: str, device: str = DEVICE, seed: int = 0) -> RunSpec:
    problem, learner = CASES[name]
    return RunSpec(problem, learner, 40, 20, seed, validation_samples=10, device=device)


def without_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    """On another device nothing is written down: a tape is for the processor."""
    monkeypatch.setattr("beyondkernels.engine.ensemble._WORTH", 10**9)


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_created_elsewhere_while_a_network_trains(name, monkeypatch):
    without_replay(monkeypatch)
    here = perform([spec(name, "cpu"), spec(name, "cpu", seed=1)])
    with TwoDevices() as mode:
        there = perform([spec(name), spec(name, seed=1)])
        x = spec(name).problem.sample(3, Stream(5)).x
        assert there[0].predictor is not None
        out = there[0].predictor(x)
        assert not mode.is_there(out)  # it comes back to where the points are
    assert mode.operations > 100
    for one, other in zip(here, there, strict=True):
        assert one.scalars == other.scalars
        assert one.arrays.keys() == other.arrays.keys()


def test_the_check_can_fail(monkeypatch):
    without_replay(monkeypatch)
    with TwoDevices() as mode:
        far, near = torch.zeros(2, device=DEVICE), torch.zeros(2)
        assert (mode.is_there(far), mode.is_there(near), mode.is_there(far + 1)) == (True, False, True)
        assert (str(far.device), str(near.device), str(torch.ones_like(far).device)) == (DEVICE, "cpu", DEVICE)
        assert mode.is_there(near.to(far.device))
        assert not mode.is_there(far.cpu())
        for wrong in (lambda: far + near, lambda: torch.cat([near, far]), lambda: far[torch.tensor([0])], far.numpy):
            with pytest.raises(MixedError):
                wrong()
    monkeypatch.setattr("beyondkernels.engine.member.on_device", lambda tensors, _: tensors)
    with TwoDevices(), pytest.raises(MixedError):
        perform([spec("descent")])


def test_the_device_is_part_of_the_key_unless_it_is_the_processor():
    assert spec("descent", "cpu").key == RunSpec(*CASES["descent"], 40, 20, 0, validation_samples=10).key
    assert len({spec("descent", device).key for device in ("cpu", "cuda", "cuda:1")}) == 3


def test_a_device_has_a_name():
    refused("^device must be a device's name, such as 'cpu' or 'cuda:0', got 'CUDA 0'", spec, "descent", "CUDA 0")


def test_what_computes_on_the_processor_alone_says_so_or_stays_there():
    with pytest.raises(
        InputError, match=r"^device must be 'cpu' for this KernelRidge, which computes there, got 'cuda'$"
    ):
        RunSpec(PROBLEM, KernelRidge(PolynomialKernel(2)), 40, 20, 0, device="cuda")
    compiled = TrainedNetwork(
        FullyConnected(6, parameterisation=Parameterisation("standard")), SQUARED, backend="compiled"
    )
    refused(r"^device must be 'cpu' for this TrainedNetwork", RunSpec, COMPOSITE, compiled, 40, 20, 0, device="cuda")
    run = bk.fit(ConstantClassifier(), PROBLEM, n=20, test=10, device="cuda")
    assert run.spec.device == "cpu"
    comparison = bk.compare(
        PROBLEM, 20, learners={"a": TrainedNetwork(TwoLayer(4), CASES["whole sample"][1].algorithm),
                               "b": PolynomialKernel(2)}, seeds=1, test=10, device=DEVICE,
    )  # fmt: skip
    assert [runs[0].spec.device for runs in comparison.runs.values()] == [DEVICE, DEVICE]
    sweep = bk.fit_many(
        FullyConnected(6), COMPOSITE, 20, algorithm=SQUARED, grid=bk.grid(seed=range(2)), test=10, device=DEVICE
    )
    assert [run.spec.device for run in sweep.runs] == [DEVICE, DEVICE]
