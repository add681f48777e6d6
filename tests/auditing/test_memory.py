"""The memory of an audit: kernels get what the settings allow, and workers share it."""

import dataclasses
from typing import Any

import pytest
import torch
from torch import nn

import beyondkernels as bk
from beyondkernels.auditing import Audit
from beyondkernels.auditing.entry import executing
from beyondkernels.auditing.ladder import MACHINE, ladder, workers_that_fit
from beyondkernels.auditing.settings import AuditSettings
from beyondkernels.core import InputError

X = bk.core.Stream(0).child("points").normal(40, 4)
Y = X[:, :1] * X[:, 1:2]


def dense(in_dim: int, out_dim: int) -> nn.Module:
    return nn.Sequential(nn.Linear(in_dim, 3), nn.ReLU(), nn.Linear(3, out_dim))


def sized(samples: int) -> Any:
    """What an audit of so many points would see, without the points."""
    return dataclasses.replace(Audit(dense, (X, Y), steps=20).subject, samples=samples)


@pytest.mark.parametrize(
    ("samples", "memory", "workers"), [(2000, 16.0, 4), (20_000, 16.0, 1), (10_000, 16.0, 4), (10_000, 9.0, 2)]
)
def test_as_many_workers_as_fit(samples: int, memory: float, workers: int) -> None:
    """Exact kernels take 40 bytes for each pair of points: 4 gigabytes for 10,000."""
    assert workers_that_fit(4, sized(samples), AuditSettings(memory=memory)) == workers


def test_the_iterative_solver_has_the_memory_alone() -> None:
    settings = AuditSettings(exact_points=500)
    assert workers_that_fit(4, sized(501), settings) == 1
    assert workers_that_fit(4, sized(501), dataclasses.replace(settings, parts=("where",))) == 4  # no kernels


def test_every_kernel_is_given_its_share() -> None:
    for workers, share in ((1, 16e9), (2, 8e9)):
        made: list[Any] = [
            rung.make() for rung in ladder(sized(8000), AuditSettings(), workers) if rung.make is not None
        ]
        found = {type(learner).__name__: learner.memory for learner in made if hasattr(learner, "memory")}
        kernels = {"TunedKernel", "FrozenKernel", "RecursiveFeatureMachine"}
        assert {name: found[name] for name in kernels} == dict.fromkeys(kernels, share)


def test_a_feature_machine_that_does_not_fit_is_left_out_and_the_others_are_not() -> None:
    """It takes six matrices, the others take five."""
    rungs = {rung.name: rung for rung in ladder(sized(20_000), AuditSettings())}
    assert rungs["feature machine"].why == "it would take 19.2 of 16 gigabytes"
    assert [name for name, rung in rungs.items() if rung.make is None] == [MACHINE, "feature machine"]


def test_a_support_vector_machine_is_for_classes_and_ten_thousand_points() -> None:
    def why(samples: int, memory: float = 16.0, **known: bool) -> str:
        subject, settings = (
            dataclasses.replace(sized(samples), **known),
            AuditSettings(memory=memory, exact_points=9000),
        )
        return next(rung.why for rung in ladder(subject, settings) if rung.name == MACHINE)

    assert why(500) == "the labels are numbers"
    assert why(10_000, classes=True) == ""
    assert why(10_001, classes=True) == "10001 points are more than 10000"
    assert why(10_000, memory=3.0, classes=True) == "it would take 4 of 3 gigabytes"


def test_too_little_memory_is_refused_before_anything_is_trained() -> None:
    sentence = (
        r"memory must be at least 4.1e-05 gigabytes .* of 32 points, got 1e-05; exact_points=31 takes the iterative"
    )
    with pytest.raises(InputError, match=sentence):
        bk.audit(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1)), (X, Y), memory=1e-5, steps=1)


def test_workers_of_a_command_share_the_memory() -> None:
    audit = Audit(dense, (X, Y), steps=1)
    torch.set_num_threads(1)
    with executing(audit, AuditSettings(memory=1.0), 2):
        (ridge,) = (rung.make for rung in audit.rungs(AuditSettings(memory=1.0)) if rung.name == "linear")
        assert ridge is not None
        assert getattr(ridge(), "memory", 0) == 5e8
